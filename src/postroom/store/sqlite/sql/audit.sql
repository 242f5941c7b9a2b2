-- The invariants of a room. A statement's name is the fact it checks; each row it gives is a sentence about a violation.

-- fragment: delivery
'the delivery of message ' || d.seq || ' to ' || d.recipient

-- fragment: first
(SELECT coalesce(min(seq), 0) FROM event)

-- name: every delivery has its message
SELECT {delivery} || ' has no message' FROM delivery d LEFT JOIN message m ON m.seq = d.seq AND m.tenant = d.tenant
WHERE d.tenant = ?1 AND m.seq IS NULL LIMIT 20;

-- name: every delivery has its recipient
SELECT {delivery} || ' is for nobody in the room' FROM delivery d LEFT JOIN agent a ON a.tenant = d.tenant AND a.id = d.recipient
WHERE d.tenant = ?1 AND a.id IS NULL LIMIT 20;

-- name: every message has its deliveries, and no others
SELECT 'message ' || m.seq || ' (' || m.id || ') has no delivery to ' || r.value FROM message m, json_each(m.recipients) r
WHERE m.tenant = ?1 AND EXISTS (SELECT 1 FROM agent a WHERE a.tenant = m.tenant AND a.id = r.value)
  AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.tenant = m.tenant AND d.recipient = r.value AND d.place {anywhere} AND d.seq = m.seq)
UNION ALL
SELECT {delivery} || ' is not one of its message''s' FROM delivery d JOIN message m ON m.seq = d.seq
WHERE d.tenant = ?1 AND NOT instr(m.recipients, '"' || d.recipient || '"')
UNION ALL
SELECT 'message ' || seq || ' (' || id || ') is for nobody' FROM message WHERE tenant = ?1 AND json_array_length(recipients) = 0
LIMIT 20;

-- name: every delivery is in its mailbox once
SELECT {delivery} || ' is there ' || count(*) || ' times' FROM delivery d WHERE d.tenant = ?1
GROUP BY d.recipient, d.seq HAVING count(*) > 1 LIMIT 20;

-- name: every delivery lies where its state says
SELECT {delivery} || ' is ' || d.state || ', and lies at ' || d.place FROM delivery d
WHERE d.tenant = ?1 AND d.place <> CASE d.state
    WHEN 'stored' THEN CASE WHEN d.reason IS 'taken' THEN CASE WHEN d.claimer IS NULL THEN {kept} ELSE {taken} END
                            WHEN d.place = {held} THEN {held} ELSE d.priority * 2 + (d.place & 1) END
    WHEN 'offered' THEN {offered} WHEN 'dead' THEN {dead} ELSE {done} END LIMIT 20;

-- name: every delivery has its message's priority
SELECT {delivery} || ' has another priority than its message' FROM delivery d JOIN message m ON m.seq = d.seq
WHERE d.tenant = ?1 AND d.priority <> m.priority LIMIT 20;

-- name: every delivery stands where its latest event left it
SELECT {delivery} || ' is ' || d.state || ', but its latest event (' || coalesce(d.last, 'none') || ') is '
       || coalesce(e.type || ' of message ' || e.message || ' for ' || coalesce(e.agent_id, e.human_id), 'not there')
FROM delivery d LEFT JOIN event e ON e.seq = d.last
WHERE d.tenant = ?1 AND CASE
    WHEN d.last IS NULL THEN d.state <> 'stored'
    WHEN e.seq IS NULL THEN d.last >= {first}
    ELSE e.status <> d.state OR e.message IS NOT d.seq OR coalesce(e.agent_id, e.human_id) IS NOT d.recipient END LIMIT 20;

-- name: every history is one chain
SELECT 'event ' || e.seq || ' follows event ' || e.prev || ', which is no earlier event of the same delivery'
FROM event e LEFT JOIN event p ON p.seq = e.prev
WHERE e.tenant_id = ?1 AND e.prev >= {first} AND (p.seq IS NULL OR p.seq >= e.seq OR p.message IS NOT e.message
    OR coalesce(p.agent_id, p.human_id) IS NOT coalesce(e.agent_id, e.human_id)) LIMIT 20;

-- name: every attempt is counted
SELECT {delivery} || ' counts ' || d.attempts || ' attempts, and its history has ' || coalesce(o.n, 0)
FROM delivery d LEFT JOIN (
    SELECT message, coalesce(agent_id, human_id) AS party, count(*) AS n FROM event
    WHERE tenant_id = ?1 AND type = 'delivery.offered' GROUP BY 1, 2) o ON o.message = d.seq AND o.party = d.recipient
WHERE d.tenant = ?1 AND d.seq >= {first} AND d.attempts <> coalesce(o.n, 0) LIMIT 20;

-- name: every unproven attempt is counted
-- A person's retry forgives what was counted before it.
SELECT {delivery} || ' counts ' || d.unproven || ' unproven attempts, and its history has ' || coalesce(u.n, 0)
FROM delivery d LEFT JOIN (
    SELECT e.message, coalesce(e.agent_id, e.human_id) AS party, count(*) AS n FROM event e
    LEFT JOIN (SELECT message, coalesce(agent_id, human_id) AS party, max(seq) AS seq FROM event
               WHERE tenant_id = ?1 AND type = 'delivery.retried' GROUP BY 1, 2) r
        ON r.message = e.message AND r.party = coalesce(e.agent_id, e.human_id)
    WHERE e.tenant_id = ?1 AND e.type = 'delivery.returned' AND json_extract(e.payload, '$.outcome') = 'unproven'
      AND e.seq > coalesce(r.seq, 0)
    GROUP BY 1, 2) u ON u.message = d.seq AND u.party = d.recipient
WHERE d.tenant = ?1 AND d.seq >= {first} AND d.unproven <> coalesce(u.n, 0) LIMIT 20;

-- name: what is offered is under one claim
SELECT {delivery} || ' is offered without a whole claim' FROM delivery d
WHERE d.tenant = ?1 AND d.state = 'offered' AND (d.attempts < 1 OR d.claimer IS NULL OR d.nonce IS NULL OR d.context IS NULL
    OR d.route IS NULL OR d.offered_at IS NULL) LIMIT 20;

-- name: a claim lapses by the clock until it is handed over, and never after
SELECT {delivery} || ' is offered, ' || CASE WHEN d.handed_at IS NULL THEN 'not handed over, and never lapses'
    ELSE 'handed over, and yet lapses' END FROM delivery d
WHERE d.tenant = ?1 AND d.state = 'offered' AND (d.handed_at IS NULL) <> (d.due_at IS NOT NULL) LIMIT 20;

-- name: what is seen or acked has its evidence
SELECT {delivery} || ' is ' || d.state || ' without evidence or time' FROM delivery d
WHERE d.tenant = ?1 AND d.state IN ('seen', 'acked') AND (d.evidence IS NULL OR d.seen_at IS NULL
    OR (d.state = 'acked' AND d.acked_at IS NULL)) LIMIT 20;

-- name: what was never shown has no evidence
SELECT {delivery} || ' is ' || d.state || ' and carries evidence' FROM delivery d
WHERE d.tenant = ?1 AND d.state NOT IN ('seen', 'acked', 'bounced') AND (d.evidence IS NOT NULL OR d.seen_at IS NOT NULL
    OR d.acked_at IS NOT NULL) LIMIT 20;

-- name: what has ended says when, and nothing else does
SELECT {delivery} || ' is ' || d.state || CASE WHEN d.ended_at IS NULL THEN ' and does not say since when' ELSE ' and has an end' END
FROM delivery d WHERE d.tenant = ?1
  AND (d.state IN ('acked', 'bounced', 'expired', 'withdrawn', 'dead')) <> (d.ended_at IS NOT NULL) LIMIT 20;

-- name: what is held is held until a time, or while its recipient is muted or paused
SELECT {delivery} || ' is held, but for no time' FROM delivery d
WHERE d.tenant = ?1 AND d.place = {held} AND d.due_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM agent a WHERE a.tenant = ?1 AND a.id = d.recipient AND CASE d.reason
                  WHEN 'muted' THEN json_extract(a.manners, '$.muted') = 0
                  WHEN 'paused' THEN json_extract(a.manners, '$.paused') END) LIMIT 20;

-- name: what is for one of several is held for the others
SELECT {delivery} || CASE WHEN d.reason IS 'taken' THEN ' is held, though nobody has it' ELSE ' can be taken, though another has it' END
FROM delivery d JOIN message m ON m.seq = d.seq
WHERE d.tenant = ?1 AND d.state = 'stored' AND (m.address GLOB 'one:*' OR d.reason IS 'taken')
  AND (d.reason IS 'taken') <> EXISTS (
      SELECT 1 FROM json_each(m.recipients) r CROSS JOIN delivery o
      WHERE o.tenant = d.tenant AND o.recipient = r.value AND o.place IN ({offered}, {done}) AND o.seq = d.seq AND o.state IN ('offered', 'seen')) LIMIT 20;

-- name: the clock acts only on what is open
SELECT {delivery} || ' is ' || d.state || ' and due at ' || d.due_at FROM delivery d
WHERE d.tenant = ?1 AND d.due_at IS NOT NULL AND d.state NOT IN ('stored', 'offered') LIMIT 20;

-- name: what waits in the queue is due when its message expires
-- Or before that, when it is pushed again after connections that ended without an acknowledgement.
SELECT {delivery} || ' is due at ' || d.due_at || ', which is not when its message expires' FROM delivery d
JOIN message m ON m.seq = d.seq
WHERE d.tenant = ?1 AND d.place {waiting} AND d.due_at IS NOT NULL AND d.due_at IS NOT m.expires_at
  AND (d.reason IS NOT 'unacknowledged' OR d.due_at > m.expires_at) LIMIT 20;

-- name: only what was never offered counts as fresh
SELECT {delivery} || ' counts as fresh after ' || d.attempts || ' attempts' FROM delivery d
WHERE d.tenant = ?1 AND d.place {waiting} AND d.place % 2 = 1 AND d.attempts > 0 LIMIT 20;

-- name: every message's id ends in its number
-- Scattered as in postroom.model.ids: times 2654435761, which is 40503 * 65536 + 31153, in halves so that nothing overflows.
SELECT 'message ' || seq || ' has the id ' || id FROM message
WHERE tenant = ?1 AND substr(id, -8) <> printf('%08x', (seq % 4294967296 * 40503 % 65536 * 65536 + seq % 4294967296 * 31153) % 4294967296) LIMIT 20;

-- name: the index of who wrote what is right as far as it goes
SELECT 'the index of who wrote what lacks message ' || m.seq FROM message m
WHERE m.tenant = ?1 AND m.seq <= coalesce((SELECT position FROM follower WHERE tenant = ?1 AND name = 'sent'), 0)
  AND NOT EXISTS (SELECT 1 FROM sent s WHERE s.tenant = m.tenant AND s.sender = m.sender AND s.seq = m.seq)
UNION ALL
SELECT 'the index of who wrote what names message ' || s.seq || ' of ' || s.sender || ', which is not there' FROM sent s
LEFT JOIN message m ON m.seq = s.seq AND m.tenant = s.tenant AND m.sender = s.sender
WHERE s.tenant = ?1 AND m.seq IS NULL LIMIT 20;

-- name: a redacted message has no content
SELECT 'message ' || seq || ' is redacted and still has content' FROM message
WHERE tenant = ?1 AND redacted IS NOT NULL
  AND (subject <> '' OR body <> '' OR payload IS NOT NULL OR metadata IS NOT NULL OR attachments IS NOT NULL) LIMIT 20;

-- name: the log has no gap
-- A message that was removed took its record with it; the event that removed it says so. A restore begins beyond all
-- numbers that the room had before it.
SELECT 'nothing is recorded between ' || before || ' and ' || seq FROM (
    SELECT seq, lag(seq) OVER (ORDER BY seq) AS before FROM (
        SELECT seq FROM event
        UNION SELECT seq FROM message WHERE seq >= {first}
        UNION SELECT j.value FROM event e, json_each(e.payload, '$.messages') j
              WHERE e.type IN ('room.pruned', 'project.deleted') AND j.value >= {first})) gap
WHERE seq - before > 1 AND ?1 IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM event r WHERE r.seq = gap.seq AND r.type = 'room.restored' AND json_extract(r.payload, '$.after') = gap.before)
LIMIT 20;

-- name: the log begins at the beginning, or where it was pruned
SELECT 'the log begins at ' || {first} || ', and no event says that it was pruned'
WHERE {first} > 1 AND ?1 IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM event WHERE type = 'room.pruned' AND json_extract(payload, '$.cut') IS NOT NULL);

-- name: no number is used twice
SELECT 'both an event and a message have the number ' || e.seq FROM event e JOIN message m ON m.seq = e.seq
WHERE e.tenant_id = ?1 LIMIT 20;

-- name: whoever follows a topic is here
SELECT 'topic:' || s.topic || ' is followed by ' || s.agent || ', whom nobody knows' FROM subscription s
LEFT JOIN agent a ON a.tenant = s.tenant AND a.id = s.agent WHERE s.tenant = ?1 AND a.id IS NULL LIMIT 20;

-- name: every decision is about a gate, and was told
SELECT 'the decision about message ' || x.gate || ' makes no sense' FROM decision x
LEFT JOIN message g ON g.seq = x.gate LEFT JOIN message a ON a.seq = x.answer
WHERE x.tenant = ?1 AND (g.type IS NOT 'decision_gate' OR x.answer <= x.gate OR (a.seq IS NOT NULL AND a.reply_to IS NOT g.id)) LIMIT 20;

-- name: every lease is one agent's, and has a holder with a context or none
SELECT 'the lease on the mailbox of ' || l.agent || ' makes no sense' FROM lease l
LEFT JOIN agent a ON a.tenant = l.tenant AND a.id = l.agent
WHERE l.tenant = ?1 AND (l.fence < 1 OR (l.holder IS NULL) <> (l.context IS NULL) OR (a.id IS NULL AND l.holder IS NOT NULL)) LIMIT 20;

-- name: no follower is ahead of the log
SELECT 'the follower ' || name || ' stands at ' || position || ', beyond the end of the log' FROM follower
WHERE tenant = ?1 AND position > max((SELECT coalesce(max(seq), 0) FROM event), (SELECT coalesce(max(seq), 0) FROM message)) LIMIT 20;
