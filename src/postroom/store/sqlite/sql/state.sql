-- Whole rows, for what looks at a room as a whole: its digest and its snapshots. `*`, so that no column is forgotten.

-- name: project_rows
SELECT * FROM project WHERE tenant = ?1 AND name > ?2 ORDER BY name LIMIT 500;

-- name: agent_rows
SELECT * FROM agent WHERE tenant = ?1 AND id > ?2 ORDER BY id LIMIT 500;

-- name: session_rows
SELECT * FROM session WHERE tenant = ?1 AND id > ?2 ORDER BY id LIMIT 500;

-- name: message_rows
SELECT * FROM message WHERE +tenant = ?1 AND seq > ?2 ORDER BY seq LIMIT 100;

-- name: delivery_rows
SELECT * FROM delivery WHERE tenant = ?1 AND (recipient, place, seq) > (?2, ?3, ?4) ORDER BY recipient, place, seq LIMIT 500;

-- name: delivery_renew
-- Where the migration to version 4 puts it.
UPDATE delivery SET place = CASE WHEN claimer IS NULL THEN {kept} ELSE {taken} END
WHERE tenant = ?1 AND place = {held} AND reason = 'taken';

-- name: lease_rows
SELECT * FROM lease WHERE tenant = ?1 AND agent > ?2 ORDER BY agent LIMIT 500;

-- name: subscription_rows
SELECT * FROM subscription WHERE tenant = ?1 AND (project, topic, agent) > (?2, ?3, ?4) ORDER BY project, topic, agent LIMIT 500;

-- name: decision_rows
SELECT * FROM decision WHERE tenant = ?1 AND gate > ?2 ORDER BY gate LIMIT 500;

-- name: refusal_rows
SELECT * FROM refusal WHERE tenant = ?1 AND scope > ?2 ORDER BY scope LIMIT 500;

-- name: event_rows
SELECT * FROM event WHERE +tenant_id = ?1 AND seq > ?2 ORDER BY seq LIMIT 500;

-- name: log_first
SELECT min(seq) FROM event WHERE tenant_id = ?1;

-- name: log_tails
-- The latest event of each agent (NULL: of nobody) up to a seq. Messages older than the first event lost theirs to `prune`.
SELECT party, max(seq) FROM (
    SELECT agent_id AS party, max(seq) AS seq FROM event WHERE tenant_id = ?1 AND seq <= ?2 GROUP BY 1
    UNION ALL
    SELECT CASE WHEN sender GLOB 'a*' THEN sender END, max(seq) FROM message
    WHERE tenant = ?1 AND seq <= ?2 AND seq >= (SELECT min(seq) FROM event) GROUP BY 1)
GROUP BY 1;

-- name: log_cut
-- The first event to keep when all before a moment may go, but no more than so many at once.
SELECT min((SELECT coalesce((SELECT seq FROM event WHERE tenant_id = ?1 AND timestamp >= ?2 ORDER BY seq LIMIT 1), ?4)),
           (SELECT coalesce((SELECT seq FROM event WHERE tenant_id = ?1 ORDER BY seq LIMIT 1 OFFSET ?3), ?4)));

-- name: messages_attached
SELECT seq, id, attachments FROM message INDEXED BY message_attached
WHERE attachments IS NOT NULL AND seq > ?1 AND (?2 IS NULL OR +tenant = ?2) ORDER BY seq LIMIT 500;

-- name: message_with
SELECT 1 FROM message INDEXED BY message_attached
WHERE attachments IS NOT NULL AND +tenant = ?1 AND instr(attachments, ?2)
  AND EXISTS (SELECT 1 FROM json_each(attachments) a WHERE json_extract(a.value, '$.sha256') = ?2) LIMIT 1;

-- What a restore does, in this order; `kept` is the other room.

-- name: project_clear
DELETE FROM main.project;

-- name: project_copy
INSERT INTO main.project SELECT * FROM kept.project;

-- name: agent_clear
DELETE FROM main.agent;

-- name: agent_copy
INSERT INTO main.agent SELECT * FROM kept.agent;

-- name: session_clear
DELETE FROM main.session;

-- name: session_copy
INSERT INTO main.session SELECT * FROM kept.session;

-- name: message_clear
DELETE FROM main.message;

-- name: message_copy
INSERT INTO main.message SELECT * FROM kept.message;

-- name: delivery_clear
DELETE FROM main.delivery;

-- name: delivery_copy
INSERT INTO main.delivery SELECT * FROM kept.delivery;

-- name: lease_clear
DELETE FROM main.lease;

-- name: lease_copy
INSERT INTO main.lease SELECT * FROM kept.lease;

-- name: subscription_clear
DELETE FROM main.subscription;

-- name: subscription_copy
INSERT INTO main.subscription SELECT * FROM kept.subscription;

-- name: decision_clear
DELETE FROM main.decision;

-- name: decision_copy
INSERT INTO main.decision SELECT * FROM kept.decision;

-- name: refusal_clear
DELETE FROM main.refusal;

-- name: refusal_copy
INSERT INTO main.refusal SELECT * FROM kept.refusal;

-- name: event_clear
DELETE FROM main.event;

-- name: event_copy
INSERT INTO main.event SELECT * FROM kept.event;

-- name: transcript_clear
DELETE FROM main.transcript;

-- name: transcript_copy
-- It says what the events tell already, so it goes with them.
INSERT INTO main.transcript SELECT * FROM kept.transcript;

-- name: follower_clear
DELETE FROM main.follower;

-- name: watched_clear
DELETE FROM main.watched;

-- name: watch_copy
-- What the request watch must know is in the state itself. Nobody waits for an answer to what was imported as history.
INSERT OR IGNORE INTO main.watched (tenant, recipient, seq) SELECT d.tenant, d.recipient, d.seq
FROM main.delivery d CROSS JOIN main.message m ON m.seq = d.seq
WHERE d.place = {done} AND d.evidence IS NOT 'imported' AND (d.state IN ('seen', 'acked') AND m.type = 'request' OR d.state = 'seen' AND m.address GLOB 'one:*')
  AND NOT EXISTS (SELECT 1 FROM main.message a
                  WHERE a.tenant = m.tenant AND a.correlation = coalesce(m.correlation, m.id) AND a.correlation IS NOT NULL
                    AND a.seq > m.seq AND instr(m.recipients, '"' || a.sender || '"'));

-- name: sent_clear
DELETE FROM main.sent;

-- name: names_clear
-- Nobody may go on using the names they remember.
UPDATE meta SET directory = directory + 1;
