-- name: begin
-- What every write transaction needs to know first: is this process too old, what comes next, is anything due.
SELECT min_writer, (SELECT max(seq) FROM event), (SELECT min(due_at) FROM delivery WHERE tenant = ?1 AND due_at IS NOT NULL)
FROM meta;

-- name: event_insert
INSERT INTO event (seq, id, tenant_id, conversation_id, agent_id, human_id, channel_id, type, role, timestamp,
                   message, payload, status)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: events_after
SELECT e.seq, e.id, e.tenant_id, e.conversation_id, e.agent_id, e.human_id, e.channel_id, e.type, e.role, e.timestamp,
       e.payload, e.message, (SELECT m.id FROM message m WHERE m.seq = e.message), e.status
FROM event e WHERE e.tenant_id = ?1 AND e.seq > ?2 ORDER BY e.seq LIMIT ?3;

-- name: events_before
SELECT e.seq, e.id, e.tenant_id, e.conversation_id, e.agent_id, e.human_id, e.channel_id, e.type, e.role, e.timestamp,
       e.payload, e.message, (SELECT m.id FROM message m WHERE m.seq = e.message), e.status
FROM event e
WHERE e.tenant_id = ?1 AND e.seq < ?2 AND (?4 IS NULL OR e.agent_id = ?4 OR e.human_id = ?4)
ORDER BY e.seq DESC LIMIT ?3;

-- name: event_id
SELECT id FROM event WHERE tenant_id = ?1 AND seq = ?2;

-- name: event_last
SELECT max(seq) FROM event WHERE tenant_id = ?1;

-- name: event_first
SELECT min(seq) FROM event WHERE tenant_id = ?1;

-- name: events_prune
DELETE FROM event WHERE tenant_id = ?1 AND timestamp < ?2 AND seq < ?3;

-- name: follower_get
SELECT position FROM follower WHERE tenant = ?1 AND name = ?2;

-- name: follower_set
INSERT INTO follower (tenant, name, position) VALUES (?1, ?2, ?3)
ON CONFLICT (tenant, name) DO UPDATE SET position = excluded.position;
