-- fragment: event
e.seq, e.id, e.tenant_id, e.conversation_id, e.agent_id, e.human_id, e.channel_id, e.type, e.role, e.timestamp,
e.payload, e.message, (SELECT m.id FROM message m WHERE m.seq = e.message), e.status

-- fragment: sent
m.seq, m.id, m.tenant, m.thread, CASE WHEN m.sender GLOB 'a*' THEN m.sender END,
CASE WHEN m.sender GLOB 'h*' THEN m.sender END, NULL, 'message.sent',
CASE WHEN m.sender GLOB 'a*' THEN 'agent' WHEN m.sender GLOB 'h*' THEN 'human' ELSE 'system' END,
m.created_at, NULL, m.seq, m.id, 'stored'

-- fragment: beginning
min_writer, directory,
max(coalesce((SELECT max(seq) FROM event), 0), coalesce((SELECT max(seq) FROM message), 0)) + 1

-- name: begin
-- What every write transaction needs to know first: is this process too old, do names still mean the same, what comes next.
SELECT {beginning} FROM meta;

-- name: begin_sending
-- The same, and the mailbox that is written to if nothing waits there.
SELECT {beginning},
       CASE WHEN NOT EXISTS (SELECT 1 FROM delivery WHERE tenant = ?1 AND recipient = ?2 AND place {waiting}) THEN ?2 END
FROM meta;

-- name: directory_changed
UPDATE meta SET directory = directory + 1;

-- name: event_insert
INSERT INTO event (seq, id, tenant_id, conversation_id, agent_id, human_id, channel_id, type, role, timestamp,
                   message, payload, status)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: delivery_event_insert
INSERT INTO event (seq, id, tenant_id, conversation_id, agent_id, human_id, channel_id, type, role, timestamp,
                   message, payload, status, prev)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: events_after
-- Messages are their own records, so the log is two tables merged in order. `+` keeps each on its primary key.
SELECT {event} FROM event e WHERE +e.tenant_id = ?1 AND e.seq > ?2
UNION ALL
SELECT {sent} FROM message m WHERE +m.tenant = ?1 AND m.seq > ?2
ORDER BY 1 LIMIT ?3;

-- name: events_before
SELECT {event} FROM event e
WHERE +e.tenant_id = ?1 AND e.seq < ?2 AND (?4 IS NULL OR e.agent_id = ?4 OR e.human_id = ?4)
UNION ALL
SELECT {sent} FROM message m
WHERE +m.tenant = ?1 AND m.seq < ?2 AND (?4 IS NULL OR +m.sender = ?4 OR instr(m.recipients, '"' || ?4 || '"'))
ORDER BY 1 DESC LIMIT ?3;

-- name: events_of_delivery
-- The history of one delivery, oldest first, along its chain.
WITH RECURSIVE chain (seq) AS (
    SELECT last FROM delivery WHERE tenant = ?1 AND recipient = ?3 AND place {anywhere} AND seq = ?2
    UNION ALL
    SELECT e.prev FROM chain c JOIN event e ON e.seq = c.seq WHERE e.prev IS NOT NULL LIMIT 5000)
SELECT {event} FROM chain c CROSS JOIN event e ON e.seq = c.seq ORDER BY e.seq;

-- name: event_id
SELECT id FROM event WHERE +tenant_id = ?1 AND seq = ?2
UNION ALL
SELECT id FROM message WHERE +tenant = ?1 AND seq = ?2;

-- name: event_last
SELECT max(coalesce((SELECT seq FROM event WHERE +tenant_id = ?1 ORDER BY seq DESC LIMIT 1), 0),
           coalesce((SELECT seq FROM message WHERE +tenant = ?1 ORDER BY seq DESC LIMIT 1), 0));

-- name: events_prune
DELETE FROM event WHERE tenant_id = ?1 AND seq < ?2;

-- name: follower_get
SELECT position FROM follower WHERE tenant = ?1 AND name = ?2;

-- name: follower_lag
-- How many events it is behind, and when the first of them was.
WITH f (position) AS (SELECT coalesce((SELECT position FROM follower WHERE tenant = ?1 AND name = ?2), 0))
SELECT max(coalesce((SELECT seq FROM event WHERE +tenant_id = ?1 ORDER BY seq DESC LIMIT 1), 0),
           coalesce((SELECT seq FROM message WHERE +tenant = ?1 ORDER BY seq DESC LIMIT 1), 0)) - f.position,
       (SELECT timestamp FROM event WHERE +tenant_id = ?1 AND seq > f.position ORDER BY seq LIMIT 1),
       (SELECT created_at FROM message WHERE +tenant = ?1 AND seq > f.position ORDER BY seq LIMIT 1)
FROM f;

-- name: followers
SELECT name, position FROM follower WHERE tenant = ?1 AND name GLOB ?2 || '*' ORDER BY position DESC, name;

-- name: follower_delete
DELETE FROM follower WHERE tenant = ?1 AND name = ?2;

-- name: follower_set
INSERT INTO follower (tenant, name, position) VALUES (?1, ?2, ?3)
ON CONFLICT (tenant, name) DO UPDATE SET position = excluded.position;
