-- Words and views that came with version 10.

-- A recipient may refuse a message for now: what was seen can be stored again. A CHECK can only be changed by making the
-- table anew.
DROP VIEW queue;

DROP VIEW agent_messages;

ALTER TABLE delivery RENAME TO delivery_before;

CREATE TABLE delivery (
    tenant       TEXT NOT NULL,
    recipient    TEXT NOT NULL,
    place        INTEGER NOT NULL,           -- 0–7 waiting: priority × 2, + 1 until first offered; 8 held until its
                                             -- time; 9 offered; 10 seen or ended; 11 dead; 12 held while a
                                             -- program has it for another, 13 while another has it otherwise
    seq          INTEGER NOT NULL,
    state        TEXT NOT NULL CHECK (instr('|stored|offered|seen|acked|bounced|expired|withdrawn|dead|', '|' || state || '|')),
    was          TEXT,                       -- the state it came from: whatever sets `state` says `was = state`
    priority     INTEGER NOT NULL,
    shown_before INTEGER NOT NULL,
    attempts     INTEGER NOT NULL,
    unproven     INTEGER NOT NULL,
    due_at       INTEGER,                    -- when the clock next acts on it: release, lapse or expiry
    -- the latest attempt; earlier ones are in the chain of events
    route        TEXT,
    context      TEXT,
    nonce        TEXT,
    claimer      TEXT,
    handed_at    INTEGER,
    last         INTEGER,                    -- its latest event
    evidence     TEXT,
    reason       TEXT,
    stored_at    INTEGER NOT NULL,
    offered_at   INTEGER,
    seen_at      INTEGER,
    acked_at     INTEGER,
    ended_at     INTEGER,
    shown        INTEGER,                    -- how many characters of it were shown, where that was not all of it
    deferrals    INTEGER NOT NULL DEFAULT 0, -- how often its recipient has refused it for now
    PRIMARY KEY (tenant, recipient, place, seq),
    CHECK (place = CASE state WHEN 'stored' THEN CASE place / 2 WHEN 4 THEN 8 WHEN 6 THEN place ELSE priority * 2 + (place & 1) END
                              WHEN 'offered' THEN 9 WHEN 'dead' THEN 11 ELSE 10 END),
    -- The ladder's legal moves; tests/unit/test_ladder.py proves this list equal to postroom.model.ladder.MOVES.
    CONSTRAINT "illegal move on the ladder" CHECK (was IS NULL OR instr(
        '|stored>offered|stored>acked|stored>bounced|stored>expired|stored>withdrawn|stored>dead'
     || '|offered>stored|offered>seen|offered>acked'
     || '|offered>bounced|offered>expired|offered>withdrawn|offered>dead'
     || '|seen>stored|seen>acked|seen>bounced'
     || '|dead>stored|', '|' || was || '>' || state || '|'))
) STRICT, WITHOUT ROWID;

INSERT INTO delivery
SELECT tenant, recipient, place, seq, state, was, priority, shown_before, attempts, unproven, due_at, route, context, nonce,
       claimer, handed_at, last, evidence, reason, stored_at, offered_at, seen_at, acked_at, ended_at, shown, 0
FROM delivery_before ORDER BY tenant, recipient, place, seq;

DROP TABLE delivery_before;

CREATE INDEX delivery_timed ON delivery (tenant, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX delivery_due ON delivery (tenant, recipient, due_at) WHERE due_at IS NOT NULL;

-- Read-only views for any SQLite client; documented in docs/reference/sql.md.
CREATE VIEW queue AS
SELECT m.id, d.tenant, m.project,
       s.name AS from_agent, r.name AS to_agent,
       m.type, m.correlation AS correlation_id,
       coalesce(m.payload, json_object('text', m.body)) AS payload,
       CASE WHEN d.state = 'stored' THEN 'pending' WHEN d.state IN ('offered', 'seen') THEN 'claimed' ELSE 'done' END AS status,
       strftime('%Y-%m-%dT%H:%M:%fZ', m.created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.offered_at / 1000.0, 'unixepoch') AS claimed_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.ended_at / 1000.0, 'unixepoch') AS done_at
FROM delivery d
JOIN message m ON m.seq = d.seq
LEFT JOIN agent s ON s.tenant = m.tenant AND s.id = m.sender
LEFT JOIN agent r ON r.tenant = d.tenant AND r.id = d.recipient;

CREATE VIEW agent_messages AS
SELECT m.id, d.tenant, m.project AS project_id,
       coalesce(s.name, m.sender_name) AS sender_agent_id,
       coalesce(CASE WHEN m.metadata IS NOT NULL AND json_valid(m.metadata) AND json_type(m.metadata, '$.relayed.agent_type') = 'text'
                     THEN nullif(json_extract(m.metadata, '$.relayed.agent_type'), '') END,
                nullif(m.sender_role, ''),
                CASE substr(m.sender, 1, 1) WHEN 'h' THEN 'human' WHEN 'a' THEN 'agent' ELSE 'system' END) AS sender_agent_type,
       m.sender_session AS sender_session_id,
       r.name AS recipient_agent_id,
       m.type AS message_type, m.body AS content, coalesce(m.metadata, '{}') AS metadata,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.handed_at / 1000.0, 'unixepoch') AS delivered_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.seen_at / 1000.0, 'unixepoch') AS read_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', m.created_at / 1000.0, 'unixepoch') AS created_at,
       m.sender AS sender_id, d.recipient AS recipient_id
FROM agent r CROSS JOIN delivery d ON d.tenant = r.tenant AND d.recipient = r.id  -- a mailbox is found by its key
JOIN message m ON m.seq = d.seq
LEFT JOIN agent s ON s.tenant = m.tenant AND s.id = m.sender;

-- The queue for programs that know pending, claimed and done, and count in Unix seconds.
CREATE VIEW legacy_queue AS
SELECT q.id, q.from_agent, q.to_agent, q.type, q.correlation_id, q.payload,
       CASE WHEN q.state = 'stored' THEN 'pending'
            WHEN q.state = 'offered' OR q.state = 'seen' AND q.requires_ack AND q.replied_at IS NULL THEN 'claimed'
            ELSE 'done' END AS status,
       q.created_at / 1000 AS created_at,
       CASE WHEN q.state <> 'stored' THEN q.offered_at / 1000 END AS claimed_at,
       CASE WHEN q.state NOT IN ('stored', 'offered')
            THEN CASE WHEN q.requires_ack THEN coalesce(q.ended_at, q.replied_at) ELSE coalesce(q.seen_at, q.ended_at) END
            END / 1000 AS done_at
FROM (
    SELECT m.id, coalesce(s.name, m.sender_name) AS from_agent, r.name AS to_agent,
           CASE WHEN m.type IN ('request', 'response') THEN m.type
                WHEN m.reply_to IS NOT NULL THEN 'response'
                WHEN m.address GLOB 'topic:*' OR m.address GLOB '@*' AND m.address <> '@up' OR m.address GLOB '*/@*' THEN 'broadcast'
                ELSE 'request' END AS type,
           m.correlation AS correlation_id,
           CASE WHEN m.payload IS NULL THEN json_object('text', m.body)
                WHEN m.body = '' OR json_type(m.payload, '$.text') IS NOT NULL THEN m.payload
                ELSE json_set(m.payload, '$.text', m.body) END AS payload,
           d.state, m.requires_ack, m.created_at, d.offered_at, d.seen_at, d.ended_at,
           CASE WHEN d.state = 'seen' AND m.requires_ack THEN (
               SELECT min(a.created_at) FROM message a
               WHERE a.tenant = m.tenant AND a.thread = m.thread AND a.thread <> a.id AND a.seq > m.seq
                 AND a.sender = d.recipient AND a.reply_to = m.id) END AS replied_at
    FROM agent r CROSS JOIN delivery d ON d.tenant = r.tenant AND d.recipient = r.id
    JOIN message m ON m.seq = d.seq
    LEFT JOIN agent s ON s.tenant = m.tenant AND s.id = m.sender) q;

-- All that happened, messages among it, for programs that know seven types of events.
CREATE VIEW legacy_events AS
SELECT e.id, e.tenant_id, e.conversation_id,
       CASE WHEN e.agent_id IS NOT NULL THEN coalesce(a.name, e.agent_id) END AS agent_id,
       CASE WHEN e.human_id IS NOT NULL THEN coalesce(h.name, e.human_id) END AS human_id,
       e.channel_id,
       CASE WHEN e.type IN ('tool_call', 'tool_result') THEN e.type
            WHEN e.type = 'agent.interrupted' AND json_extract(e.payload, '$.message') IS NULL THEN 'interrupt'
            ELSE 'system' END AS type,
       e.role, e.timestamp / 1000 AS timestamp, coalesce(e.payload, '{}') AS payload,
       CASE WHEN m.id IS NULL THEN '[]' ELSE json_array(m.id) END AS refs,
       e.status
FROM event e
LEFT JOIN agent a ON a.tenant = e.tenant_id AND a.id = e.agent_id
LEFT JOIN agent h ON h.tenant = e.tenant_id AND h.id = e.human_id
LEFT JOIN message m ON m.seq = e.message
UNION ALL
SELECT m.id, m.tenant, m.thread,
       CASE WHEN m.sender GLOB 'a*' THEN coalesce(s.name, m.sender_name) END,
       CASE WHEN m.sender GLOB 'h*' THEN coalesce(s.name, m.sender_name) END,
       NULL,
       CASE WHEN m.type IN ('human_message', 'agent_message', 'tool_call', 'tool_result', 'interrupt', 'system', 'voice_transcript')
            THEN m.type
            WHEN m.sender GLOB 'h*' THEN 'human_message' WHEN m.sender GLOB 'a*' THEN 'agent_message' ELSE 'system' END,
       CASE WHEN m.sender GLOB 'a*' THEN 'agent' WHEN m.sender GLOB 'h*' THEN 'human' ELSE 'system' END,
       m.created_at / 1000,
       CASE WHEN m.payload IS NULL THEN json_object('text', m.body)
            WHEN m.body = '' OR json_type(m.payload, '$.text') IS NOT NULL THEN m.payload
            ELSE json_set(m.payload, '$.text', m.body) END,
       CASE WHEN m.reply_to IS NULL THEN '[]' ELSE json_array(m.reply_to) END,
       'stored'
FROM message m
LEFT JOIN agent s ON s.tenant = m.tenant AND s.id = m.sender;

-- That a declared agent was introduced is an event now. What was noted before has none: it gets one when a room is opened
-- with a config that declares that agent.
UPDATE follower SET name = 'before.' || name WHERE name GLOB 'declared.*';

-- Whose model takes no requests: no mail is shown there, but for one message at a time that tries it.
CREATE TABLE refusal (
    tenant TEXT NOT NULL,
    scope  TEXT NOT NULL,                    -- whom it holds: `agent:` and an id
    reason TEXT NOT NULL,
    words  TEXT NOT NULL,                    -- what its runtime told of it
    tries  INTEGER NOT NULL,                 -- attempts that were made since, and this one
    since  INTEGER NOT NULL,                 -- the first of those in a row
    at     INTEGER NOT NULL,                 -- the latest
    until  INTEGER NOT NULL,                 -- when the next attempt is made
    probe  INTEGER,                          -- the message that is that attempt
    PRIMARY KEY (tenant, scope)
) STRICT, WITHOUT ROWID;
