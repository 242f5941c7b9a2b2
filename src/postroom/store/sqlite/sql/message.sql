-- fragment: message
-- In the order of `Message`, and so are the inserts below: both are cut by position.
-- What most messages do not have comes as one column, NULL for them: the driver describes each column at each call.
m.seq, m.id, m.tenant, m.project, m.sender, m.sender_name, m.sender_role, m.verified, m.address, m.type, m.class, m.subject,
m.body, m.thread, m.created_at, m.priority, m.requires_ack,
CASE WHEN coalesce(m.sender_session, m.sender_runtime, m.payload, m.metadata, m.reply_to, m.correlation, m.attachments,
                   m.not_before, m.expires_at, m.key, m.redacted) IS NOT NULL
     THEN json_array(m.sender_session, m.sender_runtime, m.payload, m.metadata, m.reply_to, m.correlation, m.attachments,
                     m.not_before, m.expires_at, m.key, m.redacted) END

-- fragment: said_at
-- When it began to count: a letter of the room that was held, from its moment on.
CASE WHEN m.sender = 'postroom' THEN coalesce(m.not_before, m.created_at) ELSE m.created_at END

-- fragment: unsaid
-- A letter of the room that waits for its moment, or whose moment will not come.
(m.sender = 'postroom' AND m.not_before IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM json_each(m.recipients) w CROSS JOIN delivery x
    WHERE x.tenant = m.tenant AND x.recipient = w.value AND x.place {unheld} AND x.seq = m.seq
      AND x.state <> 'withdrawn'))

-- name: message_insert_plain
-- Without the fields that most messages do not have: a value bound is a value paid for.
INSERT INTO message (seq, id, tenant, project, sender, sender_name, sender_role, verified, address, type, class,
    subject, body, thread, created_at, priority, requires_ack, recipients)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: message_insert
INSERT INTO message (seq, id, tenant, project, sender, sender_name, sender_role, verified, address, type, class,
    subject, body, thread, created_at, priority, requires_ack, recipients,
    sender_session, sender_runtime, payload, metadata, reply_to, correlation, attachments, not_before, expires_at, key, redacted)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: message_by_seq
SELECT {message} FROM message m WHERE m.seq = ?1;

-- name: message_by_key
SELECT {message} FROM message m WHERE m.tenant = ?1 AND m.sender = ?2 AND m.key = ?3 AND m.key IS NOT NULL;

-- name: messages_correlated
-- What somebody sent with a correlation, newest first.
SELECT {message} FROM message m
WHERE m.tenant = ?1 AND m.correlation = ?2 AND m.correlation IS NOT NULL AND m.sender = ?3
ORDER BY m.seq DESC LIMIT 50;

-- name: messages_in_thread
SELECT {message} FROM message m
WHERE m.tenant = ?1 AND m.thread = ?2 AND m.thread <> m.id AND m.seq > ?3 ORDER BY m.seq LIMIT ?4;

-- name: messages_from
-- The index `sent`, and the messages that nobody has entered there yet.
SELECT {message} FROM message m WHERE m.seq IN (
    SELECT seq FROM sent WHERE tenant = ?1 AND sender = ?2 AND seq < ?3 ORDER BY seq DESC LIMIT ?4)
UNION ALL
SELECT {message} FROM message m WHERE m.seq > ?5 AND m.seq < ?3 AND +m.tenant = ?1 AND m.sender = ?2
ORDER BY 1 DESC LIMIT ?4;

-- name: sent_fill
INSERT INTO sent (tenant, sender, seq) SELECT tenant, sender, seq FROM message
WHERE seq > ?2 AND seq <= ?3 AND +tenant = ?1;

-- name: sent_delete
DELETE FROM sent WHERE tenant = ?1 AND sender = (SELECT sender FROM message WHERE seq = ?2) AND seq = ?2;

-- name: recipients_of
SELECT recipients FROM message WHERE +tenant = ?1 AND seq = ?2;

-- name: message_redact
UPDATE message SET subject = '', body = '', payload = NULL, metadata = NULL, attachments = NULL, redacted = ?3
WHERE tenant = ?1 AND seq = ?2;

-- name: messages_prunable
-- Messages all of whose deliveries ended before the cut, or were seen before it where nobody asked for more.
SELECT m.seq FROM message m
WHERE m.tenant = ?1 AND m.created_at < ?2 AND m.seq > ?3
  AND NOT EXISTS (SELECT 1 FROM json_each(m.recipients) r CROSS JOIN delivery d
                  WHERE d.tenant = m.tenant AND d.recipient = r.value AND d.place {anywhere} AND d.seq = m.seq
                  AND NOT (d.state IN ('acked', 'bounced', 'expired', 'withdrawn') AND d.ended_at < ?2)
                  AND NOT (d.state = 'seen' AND m.requires_ack = 0 AND d.seen_at < ?2))
  AND NOT (m.type = 'decision_gate' AND m.expires_at >= ?2
           AND NOT EXISTS (SELECT 1 FROM decision x WHERE x.tenant = ?1 AND x.gate = m.seq))
ORDER BY m.seq LIMIT ?4;

-- name: message_delete
DELETE FROM message WHERE tenant = ?1 AND seq = ?2;

-- name: deliveries_delete
DELETE FROM delivery WHERE tenant = ?1 AND place {anywhere} AND seq = ?2
  AND recipient IN (SELECT value FROM json_each((SELECT recipients FROM message WHERE seq = ?2)));

-- name: messages_in_project
-- What belongs to a project: what its agents wrote, and what was for nobody else.
SELECT m.seq FROM message m
WHERE m.tenant = ?1 AND m.seq > ?3
  AND (m.project = ?2
       OR NOT EXISTS (SELECT 1 FROM json_each(m.recipients) r JOIN agent a ON a.tenant = m.tenant AND a.id = r.value
                      WHERE a.project <> ?2))
ORDER BY m.seq LIMIT ?4;

-- name: messages_in_topic
-- Newest first.
SELECT {message} FROM message m
WHERE m.tenant = ?1 AND m.project = ?2 AND m.address = 'topic:' || ?3 AND m.address GLOB 'topic:*' AND m.seq < ?4
ORDER BY m.seq DESC LIMIT ?5;

-- name: gates_open
-- What asks for a decision, has none and has not expired, the most pressing first.
SELECT {message} FROM message m
WHERE m.tenant = ?1 AND m.type = 'decision_gate' AND m.expires_at > ?2
  AND NOT EXISTS (SELECT 1 FROM decision x WHERE x.tenant = ?1 AND x.gate = m.seq)
ORDER BY m.expires_at, m.seq LIMIT ?3;

-- name: decision_get
SELECT option, note, by, answer, at FROM decision WHERE tenant = ?1 AND gate = ?2;

-- name: decision_insert
INSERT INTO decision (tenant, gate, option, note, by, answer, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- name: decision_delete
DELETE FROM decision WHERE tenant = ?1 AND gate = ?2;

-- name: thread_end
-- The latest of a thread, newest first. What began it bears its id, and is asked for by that.
SELECT {message} FROM message m
WHERE m.tenant = ?1 AND m.thread = ?2 AND m.thread <> m.id ORDER BY m.seq DESC LIMIT ?3;

-- name: thread_size
SELECT count(*) FROM message m WHERE m.tenant = ?1 AND m.thread = ?2 AND m.thread <> m.id AND NOT {unsaid};

-- name: thread_people
-- Whoever wrote in a thread, or was written to.
SELECT DISTINCT party FROM (
    SELECT m.sender AS party, m.seq FROM message m WHERE m.seq = ?3
    UNION ALL SELECT r.value, m.seq FROM message m, json_each(m.recipients) r WHERE m.seq = ?3
    UNION ALL SELECT m.sender, m.seq FROM message m WHERE m.tenant = ?1 AND m.thread = ?2 AND m.thread <> m.id
    UNION ALL SELECT r.value, m.seq FROM message m, json_each(m.recipients) r
              WHERE m.tenant = ?1 AND m.thread = ?2 AND m.thread <> m.id)
LIMIT 100;

-- name: thread_has
-- Whether somebody, or a child of theirs, or one of those above them (?5, with their own id), wrote in a thread or was written to.
SELECT EXISTS (
    SELECT 1 FROM (
        SELECT '"' || sender || '"' || recipients AS parties FROM message WHERE seq = ?3
        UNION ALL SELECT '"' || m.sender || '"' || m.recipients FROM message m
                  WHERE m.tenant = ?1 AND m.thread = ?2 AND m.thread <> m.id)
    WHERE instr(parties, '"' || ?4 || '.') OR EXISTS (SELECT 1 FROM json_each(?5) WHERE instr(parties, '"' || value || '"')));

-- name: threads_of
-- The conversations that somebody has had a part in lately, the latest first. Looks at so many messages and no more.
SELECT m.thread, max(m.seq) FROM message m
WHERE +m.tenant = ?1 AND m.seq > (SELECT max(seq) FROM message) - ?3 AND (m.sender = ?2 OR instr(m.recipients, '"' || ?2 || '"'))
  AND NOT {unsaid}
GROUP BY m.thread ORDER BY 2 DESC LIMIT ?4;
