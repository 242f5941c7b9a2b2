-- fragment: agent
id, tenant, project, name,
CASE substr(id, 1, 1) WHEN 'h' THEN 'human:' || name ELSE project || '/' || name END,
role, capabilities, description, supervisor, created_at, left_at, manners

-- fragment: session
id, tenant, agent, runtime, process, pane, worktree, branch, epoch, started_at, ended_at, alive_at, details

-- name: agent_by_id
SELECT {agent} FROM agent WHERE tenant = ?1 AND id = ?2;

-- name: agent_by_name
SELECT {agent} FROM agent WHERE tenant = ?1 AND project = ?2 AND name = ?3;

-- name: agents
SELECT {agent} FROM agent WHERE tenant = ?1 ORDER BY project, name LIMIT ?2 OFFSET ?3;

-- name: agent_insert
INSERT INTO agent (tenant, id, project, name, role, capabilities, description, supervisor, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9);

-- name: agent_update
UPDATE agent SET role = ?3, capabilities = ?4, description = ?5, supervisor = ?6, left_at = NULL
WHERE tenant = ?1 AND id = ?2;

-- name: agent_manners
UPDATE agent SET manners = ?3 WHERE tenant = ?1 AND id = ?2;

-- name: agent_rename
UPDATE agent SET name = ?3 WHERE tenant = ?1 AND id = ?2;

-- name: agent_leave
UPDATE agent SET left_at = ?3 WHERE tenant = ?1 AND id = ?2;

-- name: deliveries_delete_in_project
DELETE FROM delivery WHERE tenant = ?1 AND recipient IN (SELECT id FROM agent WHERE tenant = ?1 AND project = ?2);

-- name: declared_delete_in_project
DELETE FROM follower WHERE tenant = ?1 AND name GLOB 'declared.' || ?2 || '/*';

-- name: watched_delete_in_project
DELETE FROM watched WHERE tenant = ?1 AND recipient IN (SELECT id FROM agent WHERE tenant = ?1 AND project = ?2);

-- name: leases_delete_in_project
DELETE FROM lease WHERE tenant = ?1 AND agent IN (SELECT id FROM agent WHERE tenant = ?1 AND project = ?2);

-- name: transcripts_delete_in_project
DELETE FROM transcript WHERE tenant = ?1 AND session IN
    (SELECT s.id FROM session s JOIN agent a ON a.tenant = s.tenant AND a.id = s.agent WHERE s.tenant = ?1 AND a.project = ?2);

-- name: sessions_delete_in_project
DELETE FROM session WHERE tenant = ?1 AND agent IN (SELECT id FROM agent WHERE tenant = ?1 AND project = ?2);

-- name: agents_delete_in_project
DELETE FROM agent WHERE tenant = ?1 AND project = ?2;

-- name: project_by_root
SELECT name, root, created_at FROM project WHERE tenant = ?1 AND root = ?2 AND root <> '';

-- name: project_by_name
SELECT name, root, created_at FROM project WHERE tenant = ?1 AND name = ?2;

-- name: projects
SELECT name, root, created_at FROM project WHERE tenant = ?1 ORDER BY name LIMIT 10000;

-- name: project_insert
INSERT INTO project (tenant, name, root, created_at) VALUES (?1, ?2, ?3, ?4);

-- name: project_delete
DELETE FROM project WHERE tenant = ?1 AND name = ?2;

-- name: lease_get
SELECT agent, fence, holder, context, taken_at FROM lease WHERE tenant = ?1 AND agent = ?2;

-- name: lease_set
INSERT INTO lease (tenant, agent, fence, holder, context, taken_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (tenant, agent) DO UPDATE SET fence = excluded.fence, holder = excluded.holder,
    context = excluded.context, taken_at = excluded.taken_at;

-- name: lease_clear
UPDATE lease SET holder = NULL, context = NULL WHERE tenant = ?1 AND agent = ?2;

-- name: refusal_get
SELECT scope, reason, words, tries, since, at, until, probe FROM refusal WHERE tenant = ?1 AND scope = ?2;

-- name: refusal_scopes
SELECT scope FROM refusal WHERE tenant = ?1 LIMIT 10000;

-- name: refusal_set
INSERT OR REPLACE INTO refusal (tenant, scope, reason, words, tries, since, at, until, probe)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9);

-- name: refusal_delete
DELETE FROM refusal WHERE tenant = ?1 AND scope = ?2;

-- name: refusals_delete_in_project
DELETE FROM refusal WHERE tenant = ?1
   AND scope IN (SELECT 'agent:' || id FROM agent WHERE tenant = ?1 AND project = ?2);

-- name: session_insert
INSERT INTO session (tenant, id, agent, runtime, process, pane, worktree, branch, epoch, started_at, alive_at, details)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10, ?11)
ON CONFLICT (tenant, id) DO UPDATE SET agent = excluded.agent, process = excluded.process, pane = excluded.pane,
    worktree = excluded.worktree, branch = excluded.branch, epoch = excluded.epoch, ended_at = NULL,
    alive_at = excluded.alive_at, details = excluded.details;

-- name: session_end
UPDATE session SET ended_at = ?3 WHERE tenant = ?1 AND id = ?2;

-- name: session_get
SELECT {session} FROM session WHERE tenant = ?1 AND id = ?2;

-- name: sessions_running
SELECT {session} FROM session WHERE tenant = ?1 AND agent = ?2 AND ended_at IS NULL ORDER BY started_at;

-- name: sessions_asking_for
SELECT {session} FROM session
WHERE tenant = ?1 AND ended_at IS NULL AND instr(details, '"names"')
  AND agent IN (SELECT a.id FROM agent a WHERE a.tenant = ?1 AND a.project = ?2)
  AND EXISTS (SELECT 1 FROM json_each(session.details, '$.asked.names') n WHERE n.value = ?3)
ORDER BY agent, started_at LIMIT 500;

-- name: sessions_any
SELECT EXISTS (SELECT 1 FROM session WHERE tenant = ?1 AND ended_at IS NULL);

-- name: sessions_ever
SELECT EXISTS (SELECT 1 FROM session WHERE tenant = ?1 AND agent = ?2);

-- name: sessions_hosted
SELECT {session} FROM session WHERE tenant = ?1 AND process = ?2 AND ended_at IS NULL ORDER BY started_at LIMIT 500;

-- name: sessions_in
-- Ended ones, too, for which there is no index: asked once when a session begins.
SELECT {session} FROM session WHERE tenant = ?1 AND process = ?2 ORDER BY alive_at DESC, id LIMIT 500;

-- name: sessions_at
-- The latest in a worktree, ended or not.
SELECT {session} FROM session WHERE tenant = ?1 AND runtime = ?2 AND worktree = ?3 ORDER BY alive_at DESC, id LIMIT 500;

-- name: sessions_in_pane
-- The latest in a pane, ended or not.
SELECT {session} FROM session WHERE tenant = ?1 AND runtime = ?2 AND pane = ?3 ORDER BY alive_at DESC, id LIMIT 500;

-- name: agents_in_project
SELECT {agent} FROM agent WHERE tenant = ?1 AND project = ?2 AND name > ?3 ORDER BY name LIMIT ?4;

-- name: subscription_insert
INSERT INTO subscription (tenant, project, topic, agent, since) VALUES (?1, ?2, ?3, ?4, ?5);

-- name: subscription_delete
DELETE FROM subscription WHERE tenant = ?1 AND project = ?2 AND topic = ?3 AND agent = ?4;

-- name: subscriptions_delete_in_project
DELETE FROM subscription WHERE tenant = ?1
   AND (project = ?2 OR agent IN (SELECT id FROM agent WHERE tenant = ?1 AND project = ?2));

-- name: subscription
SELECT 1 FROM subscription WHERE tenant = ?1 AND project = ?2 AND topic = ?3 AND agent = ?4;

-- name: subscribers
SELECT {agent} FROM agent WHERE tenant = ?1 AND id IN (
    SELECT agent FROM subscription WHERE tenant = ?1 AND project = ?2 AND topic = ?3 AND agent > ?4 ORDER BY agent LIMIT ?5)
ORDER BY id;

-- name: topic_after
-- The next topic by name, of those that somebody follows or has written to: one step in each of two trees.
SELECT min(topic) FROM (
    SELECT min(topic) AS topic FROM subscription WHERE tenant = ?1 AND project = ?2 AND topic > ?3
    UNION ALL
    SELECT substr(min(address), 7) FROM message WHERE tenant = ?1 AND project = ?2 AND address > 'topic:' || ?3 AND address GLOB 'topic:*');

-- name: topic_counts
SELECT (SELECT count(*) FROM subscription WHERE tenant = ?1 AND project = ?2 AND topic = ?3),
       (SELECT count(*) FROM message WHERE tenant = ?1 AND project = ?2 AND address = 'topic:' || ?3 AND address GLOB 'topic:*');

-- name: transcript_get
SELECT path, position, calls, is_open FROM transcript WHERE tenant = ?1 AND session = ?2;

-- name: transcript_set
INSERT INTO transcript (tenant, session, path, position, calls, is_open) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (tenant, session) DO UPDATE
SET path = excluded.path, position = excluded.position, calls = excluded.calls, is_open = excluded.is_open;

-- name: sessions_unread
SELECT {session} FROM session WHERE tenant = ?1
    AND id IN (SELECT session FROM transcript WHERE tenant = ?1 AND is_open) ORDER BY started_at LIMIT 500;

-- name: pen_get
SELECT fence, holder, until FROM pen WHERE tenant = ?1 AND terminal = ?2;

-- name: pen_set
INSERT INTO pen (tenant, terminal, fence, holder, until) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (tenant, terminal) DO UPDATE SET fence = excluded.fence, holder = excluded.holder, until = excluded.until;
