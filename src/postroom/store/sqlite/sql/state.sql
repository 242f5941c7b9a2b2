-- Whole rows, for what looks at a room as a whole: its digest and its snapshots. A test proves that no column is missing.

-- name: project_rows
SELECT tenant, name, root, created_at FROM project WHERE tenant = ?1 AND name > ?2 ORDER BY name LIMIT 500;

-- name: agent_rows
SELECT tenant, id, project, name, role, capabilities, description, supervisor, created_at, left_at
FROM agent WHERE tenant = ?1 AND id > ?2 ORDER BY id LIMIT 500;

-- name: session_rows
SELECT tenant, id, agent, runtime, process, pane, worktree, branch, epoch, started_at, ended_at, alive_at
FROM session WHERE tenant = ?1 AND id > ?2 ORDER BY id LIMIT 500;

-- name: message_rows
SELECT seq, id, tenant, project, sender, sender_session, sender_runtime, sender_role, verified, address, type, class,
       priority, subject, body, payload, metadata, thread, reply_to, correlation, attachments, requires_ack, not_before,
       expires_at, key, created_at, redacted
FROM message WHERE +tenant = ?1 AND seq > ?2 ORDER BY seq LIMIT 100;

-- name: delivery_rows
SELECT tenant, seq, recipient, state, priority, fresh, held, shown_before, attempts, unproven, due_at, route, context,
       nonce, claimer, handed_at, last, evidence, reason, stored_at, offered_at, seen_at, acked_at, ended_at
FROM delivery WHERE tenant = ?1 AND (seq, recipient) > (?2, ?3) ORDER BY seq, recipient LIMIT 500;

-- name: lease_rows
SELECT tenant, agent, fence, holder, context, taken_at FROM lease WHERE tenant = ?1 AND agent > ?2 ORDER BY agent LIMIT 500;

-- name: event_rows
SELECT seq, id, tenant_id, conversation_id, agent_id, human_id, channel_id, type, role, timestamp, message, prev, payload,
       status
FROM event WHERE +tenant_id = ?1 AND seq > ?2 ORDER BY seq LIMIT 500;

-- name: project_load
INSERT INTO project (tenant, name, root, created_at) VALUES (:tenant, :name, :root, :created_at);

-- name: agent_load
INSERT INTO agent (tenant, id, project, name, role, capabilities, description, supervisor, created_at, left_at)
VALUES (:tenant, :id, :project, :name, :role, :capabilities, :description, :supervisor, :created_at, :left_at);

-- name: session_load
INSERT INTO session (tenant, id, agent, runtime, process, pane, worktree, branch, epoch, started_at, ended_at, alive_at)
VALUES (:tenant, :id, :agent, :runtime, :process, :pane, :worktree, :branch, :epoch, :started_at, :ended_at, :alive_at);

-- name: message_load
INSERT INTO message (seq, id, tenant, project, sender, sender_session, sender_runtime, sender_role, verified, address, type,
    class, priority, subject, body, payload, metadata, thread, reply_to, correlation, attachments, requires_ack, not_before,
    expires_at, key, created_at, redacted)
VALUES (:seq, :id, :tenant, :project, :sender, :sender_session, :sender_runtime, :sender_role, :verified, :address, :type,
    :class, :priority, :subject, :body, :payload, :metadata, :thread, :reply_to, :correlation, :attachments, :requires_ack,
    :not_before, :expires_at, :key, :created_at, :redacted);

-- name: delivery_load
INSERT INTO delivery (tenant, seq, recipient, state, priority, fresh, held, shown_before, attempts, unproven, due_at, route,
    context, nonce, claimer, handed_at, last, evidence, reason, stored_at, offered_at, seen_at, acked_at, ended_at)
VALUES (:tenant, :seq, :recipient, :state, :priority, :fresh, :held, :shown_before, :attempts, :unproven, :due_at, :route,
    :context, :nonce, :claimer, :handed_at, :last, :evidence, :reason, :stored_at, :offered_at, :seen_at, :acked_at, :ended_at);

-- name: lease_load
INSERT INTO lease (tenant, agent, fence, holder, context, taken_at)
VALUES (:tenant, :agent, :fence, :holder, :context, :taken_at);

-- name: event_load
INSERT INTO event (seq, id, tenant_id, conversation_id, agent_id, human_id, channel_id, type, role, timestamp, message, prev,
    payload, status)
VALUES (:seq, :id, :tenant_id, :conversation_id, :agent_id, :human_id, :channel_id, :type, :role, :timestamp, :message, :prev,
    :payload, :status);

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
