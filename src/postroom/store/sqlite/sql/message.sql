-- fragment: message
m.seq, m.id, m.tenant, m.project, m.sender, m.sender_name, m.sender_session, m.sender_runtime, m.sender_role, m.verified,
m.address, m.type, m.class, m.priority, m.subject, m.body, m.payload, m.metadata, m.thread, m.reply_to, m.correlation,
m.attachments, m.requires_ack, m.not_before, m.expires_at, m.key, m.created_at, m.redacted

-- name: message_insert
INSERT INTO message (seq, id, tenant, project, sender, sender_name, sender_session, sender_runtime, sender_role, verified, address,
    type, class, priority, subject, body, payload, metadata, thread, reply_to, correlation, attachments, requires_ack,
    not_before, expires_at, key, created_at, redacted)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: message_by_handle
SELECT {message} FROM message m WHERE m.tenant = ?1 AND substr(m.id, -8) = ?2;

-- name: message_by_seq
SELECT {message} FROM message m WHERE m.seq = ?1;

-- name: message_by_key
SELECT {message} FROM message m WHERE m.tenant = ?1 AND m.sender = ?2 AND m.key = ?3 AND m.key IS NOT NULL;

-- name: messages_in_thread
SELECT {message} FROM message m
WHERE m.tenant = ?1 AND m.thread = ?2 AND m.thread <> m.id AND m.seq > ?3 ORDER BY m.seq LIMIT ?4;

-- name: messages_from
SELECT {message} FROM message m WHERE m.tenant = ?1 AND m.sender = ?2 AND m.seq < ?3 ORDER BY m.seq DESC LIMIT ?4;

-- name: message_redact
UPDATE message SET subject = '', body = '', payload = NULL, metadata = NULL, attachments = NULL, redacted = ?3
WHERE tenant = ?1 AND seq = ?2;

-- name: messages_prunable
-- Messages all of whose deliveries ended before the cut, or were seen before it where nobody asked for more.
SELECT m.seq FROM message m
WHERE m.tenant = ?1 AND m.created_at < ?2 AND m.seq > ?3
  AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.tenant = m.tenant AND d.seq = m.seq
                  AND NOT (d.state IN ('acked', 'bounced', 'expired', 'withdrawn') AND d.ended_at < ?2)
                  AND NOT (d.state = 'seen' AND m.requires_ack = 0 AND d.seen_at < ?2))
ORDER BY m.seq LIMIT ?4;

-- name: message_delete
DELETE FROM message WHERE tenant = ?1 AND seq = ?2;

-- name: deliveries_delete
DELETE FROM delivery WHERE tenant = ?1 AND seq = ?2;

-- name: messages_in_project
-- What belongs to a project: what its agents wrote, and what was for nobody else.
SELECT m.seq FROM message m
WHERE m.tenant = ?1 AND m.seq > ?3
  AND (m.project = ?2
       OR NOT EXISTS (SELECT 1 FROM delivery d JOIN agent a ON a.tenant = d.tenant AND a.id = d.recipient
                      WHERE d.tenant = m.tenant AND d.seq = m.seq AND a.project <> ?2))
ORDER BY m.seq LIMIT ?4;
