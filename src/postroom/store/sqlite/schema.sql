-- Every key begins with the tenant. Times are milliseconds since the epoch, stamped by the store's clock.
-- An event's seq is the one order of the room; a message's seq is that of the event that stored it.

CREATE TABLE meta (
    one          INTEGER PRIMARY KEY CHECK (one = 1),
    room         TEXT    NOT NULL,
    version      INTEGER NOT NULL,
    min_reader   INTEGER NOT NULL,
    min_writer   INTEGER NOT NULL,
    directory    INTEGER NOT NULL DEFAULT 0,  -- rises when an agent or a project changes: names may be cached until then
    created_at   INTEGER NOT NULL
) STRICT;

-- Every change but one: a message's row is itself the record that it was sent.
CREATE TABLE event (
    seq             INTEGER PRIMARY KEY,
    id              TEXT NOT NULL,
    tenant_id       TEXT NOT NULL,
    conversation_id TEXT,
    agent_id        TEXT,
    human_id        TEXT,
    channel_id      TEXT,
    type            TEXT NOT NULL,
    role            TEXT NOT NULL CHECK (instr('|human|agent|tool|system|', '|' || role || '|')),
    timestamp       INTEGER NOT NULL,
    message         INTEGER,
    prev            INTEGER,                 -- the event before it on the same delivery: its history is this chain
    payload         TEXT,
    status          TEXT NOT NULL
) STRICT;

CREATE TABLE project (
    tenant     TEXT NOT NULL,
    name       TEXT NOT NULL,
    root       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX project_root ON project (tenant, root) WHERE root <> '';

CREATE TABLE agent (
    tenant       TEXT NOT NULL,
    id           TEXT NOT NULL,
    project      TEXT NOT NULL,
    name         TEXT NOT NULL,
    role         TEXT NOT NULL,
    capabilities TEXT NOT NULL,
    description  TEXT NOT NULL,
    supervisor   TEXT,
    created_at   INTEGER NOT NULL,
    left_at      INTEGER,
    manners      TEXT,                       -- when it wants to be left alone (postroom.model.manners)
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX agent_name ON agent (tenant, project, name);

-- Who follows a topic.
CREATE TABLE subscription (
    tenant  TEXT NOT NULL,
    project TEXT NOT NULL,
    topic   TEXT NOT NULL,
    agent   TEXT NOT NULL,
    since   INTEGER NOT NULL,
    PRIMARY KEY (tenant, project, topic, agent)
) STRICT, WITHOUT ROWID;

CREATE TABLE session (
    tenant     TEXT NOT NULL,
    id         TEXT NOT NULL,
    agent      TEXT NOT NULL,
    runtime    TEXT NOT NULL,
    process    TEXT NOT NULL,
    pane       TEXT,
    worktree   TEXT,
    branch     TEXT,
    epoch      INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at   INTEGER,
    alive_at   INTEGER NOT NULL,
    details    TEXT,                         -- what its runtime's routes need: JSON
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX session_agent ON session (tenant, agent) WHERE ended_at IS NULL;
CREATE INDEX session_process ON session (tenant, process) WHERE ended_at IS NULL;

CREATE TABLE message (
    seq            INTEGER PRIMARY KEY,
    id             TEXT NOT NULL,
    tenant         TEXT NOT NULL,
    project        TEXT NOT NULL,
    sender         TEXT NOT NULL,
    sender_name    TEXT NOT NULL,           -- its address when it wrote
    sender_session TEXT,
    sender_runtime TEXT,
    sender_role    TEXT,
    verified       TEXT NOT NULL,
    address        TEXT NOT NULL,
    recipients     TEXT NOT NULL,           -- whom that meant then: a JSON array of ids
    type           TEXT NOT NULL,
    class          TEXT NOT NULL CHECK (instr('|turn|tool|interrupt|', '|' || class || '|')),
    priority       INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 3),
    subject        TEXT NOT NULL,
    body           TEXT NOT NULL,
    payload        TEXT,
    metadata       TEXT,
    thread         TEXT NOT NULL,
    reply_to       TEXT,
    correlation    TEXT,
    attachments    TEXT,
    requires_ack   INTEGER NOT NULL CHECK (requires_ack IN (0, 1)),
    not_before     INTEGER,
    expires_at     INTEGER,
    key            TEXT,
    created_at     INTEGER NOT NULL,
    redacted       TEXT
) STRICT;

-- An id ends in its message's seq, scattered (postroom.model.ids), so that no index is needed to find one.
CREATE INDEX message_thread ON message (tenant, thread, seq) WHERE thread <> id;  -- what begins a thread bears its id
CREATE UNIQUE INDEX message_key ON message (tenant, sender, key) WHERE key IS NOT NULL;
CREATE INDEX message_topic ON message (tenant, project, address, seq) WHERE address GLOB 'topic:*';
CREATE INDEX message_correlation ON message (tenant, correlation) WHERE correlation IS NOT NULL;
CREATE INDEX message_attached ON message (seq) WHERE attachments IS NOT NULL;  -- whose files are in use, whosever they are

-- What was decided about a gate, which is a message, and the message that told its asker.
CREATE TABLE decision (
    tenant TEXT NOT NULL,
    gate   INTEGER NOT NULL,
    option TEXT NOT NULL,
    note   TEXT NOT NULL,
    by     TEXT NOT NULL,
    answer INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    PRIMARY KEY (tenant, gate)
) STRICT, WITHOUT ROWID;

CREATE INDEX message_gate ON message (tenant, expires_at) WHERE type = 'decision_gate';

-- A mailbox is one stretch of one tree: what waits lies in front, in the order in which it will be offered.
-- Constant lists are tested with instr: IN would build an index for each statement.
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
    PRIMARY KEY (tenant, recipient, place, seq),
    CHECK (place = CASE state WHEN 'stored' THEN CASE place / 2 WHEN 4 THEN 8 WHEN 6 THEN place ELSE priority * 2 + (place & 1) END
                              WHEN 'offered' THEN 9 WHEN 'dead' THEN 11 ELSE 10 END),
    -- The ladder's legal moves; tests/unit/test_ladder.py proves this list equal to postroom.model.ladder.MOVES.
    CONSTRAINT "illegal move on the ladder" CHECK (was IS NULL OR instr(
        '|stored>offered|stored>acked|stored>bounced|stored>expired|stored>withdrawn|stored>dead'
     || '|offered>stored|offered>seen|offered>acked'
     || '|offered>bounced|offered>expired|offered>withdrawn|offered>dead'
     || '|seen>acked|seen>bounced'
     || '|dead>stored|', '|' || was || '>' || state || '|'))
) STRICT, WITHOUT ROWID;

CREATE INDEX delivery_timed ON delivery (tenant, due_at) WHERE due_at IS NOT NULL;             -- of all
CREATE INDEX delivery_due ON delivery (tenant, recipient, due_at) WHERE due_at IS NOT NULL;  -- of one mailbox

CREATE TABLE lease (
    tenant   TEXT NOT NULL,
    agent    TEXT NOT NULL,
    fence    INTEGER NOT NULL,
    holder   TEXT,
    context  TEXT,
    taken_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, agent)
) STRICT, WITHOUT ROWID;

-- Who wrote what. Filled by those who ask (see the follower `sent`), not by those who send; not part of the state.
CREATE TABLE sent (
    tenant TEXT NOT NULL,
    sender TEXT NOT NULL,
    seq    INTEGER NOT NULL,
    PRIMARY KEY (tenant, sender, seq)
) STRICT, WITHOUT ROWID;

-- The request watch: what was seen, and whose sender must be told if nothing comes of it. Follows from the state.
CREATE TABLE watched (
    tenant    TEXT NOT NULL,
    recipient TEXT NOT NULL,
    seq       INTEGER NOT NULL,
    PRIMARY KEY (tenant, recipient, seq)
) STRICT, WITHOUT ROWID;

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

-- How far a follower of the events has come: `journal`, `sent`; and for each volume of the search index, `search.<n>`,
-- the event that last took a message out of it; and who the config declared when it was given an address,
-- `declared.<project>/<name>`; and which agent was told its address, in which context, `introduced.<agent>.…`. Not part of
-- the state.
CREATE TABLE follower (
    tenant   TEXT NOT NULL,
    name     TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;

-- How far a session's transcript was read for its tools, and what was found there. Not part of the state.
CREATE TABLE transcript (
    tenant   TEXT NOT NULL,
    session  TEXT NOT NULL,
    path     TEXT NOT NULL,
    position INTEGER NOT NULL,                 -- in bytes
    calls    TEXT NOT NULL,                    -- those that wait for their results, and the latest that have them: JSON
    is_open  INTEGER NOT NULL CHECK (is_open IN (0, 1)),  -- whether there may be more to read
    PRIMARY KEY (tenant, session)
) STRICT, WITHOUT ROWID;

CREATE INDEX transcript_open ON transcript (tenant, session) WHERE is_open;

-- Who types into a terminal, one at a time: each gets a higher number than the one before. Not part of the state.
CREATE TABLE pen (
    tenant   TEXT NOT NULL,
    terminal TEXT NOT NULL,
    fence    INTEGER NOT NULL,
    holder   TEXT,
    until    INTEGER NOT NULL,
    PRIMARY KEY (tenant, terminal)
) STRICT, WITHOUT ROWID;

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
       m.sender AS sender_agent_id, m.sender_role AS sender_agent_type, m.sender_session AS sender_session_id,
       d.recipient AS recipient_agent_id,
       m.type AS message_type, m.body AS content, m.metadata,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.handed_at / 1000.0, 'unixepoch') AS delivered_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.seen_at / 1000.0, 'unixepoch') AS read_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', m.created_at / 1000.0, 'unixepoch') AS created_at
FROM delivery d
JOIN message m ON m.seq = d.seq;
