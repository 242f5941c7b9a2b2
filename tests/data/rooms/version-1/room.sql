PRAGMA user_version = 1;
PRAGMA application_id = 1886352244;
BEGIN TRANSACTION;
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
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
INSERT INTO "agent" VALUES('local','a5d552fcde5e038','p','planner','','[]','',NULL,1800000000000,NULL);
INSERT INTO "agent" VALUES('local','a76e71a4eca340b','p','builder','','[]','',NULL,1800000000000,NULL);
CREATE TABLE delivery (
    tenant       TEXT NOT NULL,
    recipient    TEXT NOT NULL,
    place        INTEGER NOT NULL,           -- 0–7 waiting: priority × 2, + 1 until first offered; 8 held until its
                                             -- time; 9 offered; 10 seen or ended; 11 dead
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
    PRIMARY KEY (tenant, recipient, place, seq),
    CHECK (place = CASE state WHEN 'stored' THEN CASE place / 2 WHEN 4 THEN 8 ELSE priority * 2 + place % 2 END
                              WHEN 'offered' THEN 9 WHEN 'dead' THEN 11 ELSE 10 END),
    -- The ladder's legal moves; tests/unit/test_ladder.py proves this list equal to postroom.model.ladder.MOVES.
    CONSTRAINT "illegal move on the ladder" CHECK (was IS NULL OR instr(
        '|stored>offered|stored>acked|stored>bounced|stored>expired|stored>withdrawn|stored>dead'
     || '|offered>stored|offered>seen|offered>acked'
     || '|offered>bounced|offered>expired|offered>withdrawn|offered>dead'
     || '|seen>acked|seen>bounced'
     || '|dead>stored|', '|' || was || '>' || state || '|'))
) STRICT, WITHOUT ROWID;
INSERT INTO "delivery" VALUES('local','a5d552fcde5e038',5,4,'stored',NULL,2,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1800000000000,NULL,NULL,NULL,NULL);
INSERT INTO "delivery" VALUES('local','a76e71a4eca340b',8,6,'stored',NULL,2,0,0,0,1800000060000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'scheduled',1800000000000,NULL,NULL,NULL,NULL);
INSERT INTO "delivery" VALUES('local','a76e71a4eca340b',10,5,'seen','offered',2,0,1,0,NULL,'api','python:4711.1.longago.1:main:0','1a6c6c7808ec','4711.1.longago.1',1800000000000,8,'agent',NULL,1800000000000,1800000000000,1800000000000,NULL,NULL);
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
INSERT INTO "event" VALUES(1,'01a1e492-3d4b-7229-adb4-8e339ace748a','local',NULL,NULL,NULL,NULL,'project.created','system',1800000000000,NULL,NULL,'{"name":"p","root":""}','ok');
INSERT INTO "event" VALUES(2,'01a1e492-3d4c-7ac4-8c8e-3cea929531aa','local',NULL,'a5d552fcde5e038',NULL,NULL,'agent.joined','agent',1800000000000,NULL,NULL,'{"project":"p","name":"planner","role":"","capabilities":[],"description":"","supervisor":null}','ok');
INSERT INTO "event" VALUES(3,'01a1e492-3d4c-7ff2-9978-f8b91edfaa6a','local',NULL,'a76e71a4eca340b',NULL,NULL,'agent.joined','agent',1800000000000,NULL,NULL,'{"project":"p","name":"builder","role":"","capabilities":[],"description":"","supervisor":null}','ok');
INSERT INTO "event" VALUES(7,'01a1e492-3d53-71c3-8b13-75f8668fca6e','local','01a3185c-5000-745b-8841-538117156075','a76e71a4eca340b',NULL,NULL,'delivery.offered','system',1800000000000,5,NULL,'{"n":1,"route":"api","context":"python:4711.1.longago.1:main:0","nonce":"1a6c6c7808ec","claimer":"4711.1.longago.1","handed":true,"lease_until":null}','offered');
INSERT INTO "event" VALUES(8,'01a1e492-3d56-71c0-b46b-dc2dadd63af0','local','01a3185c-5000-745b-8841-538117156075','a76e71a4eca340b',NULL,NULL,'delivery.seen','agent',1800000000000,5,7,'{"n":1,"evidence":"agent"}','seen');
CREATE TABLE follower (
    tenant   TEXT NOT NULL,
    name     TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE lease (
    tenant   TEXT NOT NULL,
    agent    TEXT NOT NULL,
    fence    INTEGER NOT NULL,
    holder   TEXT,
    context  TEXT,
    taken_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, agent)
) STRICT, WITHOUT ROWID;
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
INSERT INTO "message" VALUES(4,'01a3185c-5000-7d1c-b1ca-9bad78dde6c4','local','p','a5d552fcde5e038','planner',NULL,NULL,NULL,'unverified','planner','["a5d552fcde5e038"]','note','turn',2,'','from before',NULL,NULL,'01a3185c-5000-7d1c-b1ca-9bad78dde6c4',NULL,NULL,NULL,0,NULL,NULL,NULL,1800000000000,NULL);
INSERT INTO "message" VALUES(5,'01a3185c-5000-745b-8841-538117156075','local','p','a5d552fcde5e038','planner',NULL,NULL,NULL,'unverified','builder','["a76e71a4eca340b"]','note','turn',2,'','one',NULL,NULL,'01a3185c-5000-745b-8841-538117156075',NULL,NULL,NULL,0,NULL,NULL,NULL,1800000000000,NULL);
INSERT INTO "message" VALUES(6,'01a3185c-5000-7be3-bc48-0341b54cda26','local','p','a5d552fcde5e038','planner',NULL,NULL,NULL,'unverified','builder','["a76e71a4eca340b"]','note','turn',2,'','later',NULL,NULL,'01a3185c-5000-7be3-bc48-0341b54cda26',NULL,NULL,NULL,0,1800000060000,NULL,NULL,1800000000000,NULL);
CREATE TABLE meta (
    one          INTEGER PRIMARY KEY CHECK (one = 1),
    room         TEXT    NOT NULL,
    version      INTEGER NOT NULL,
    min_reader   INTEGER NOT NULL,
    min_writer   INTEGER NOT NULL,
    directory    INTEGER NOT NULL DEFAULT 0,  -- rises when an agent or a project changes: names may be cached until then
    created_at   INTEGER NOT NULL
) STRICT;
INSERT INTO "meta" VALUES(1,'01a1e492-3d4a-7584-a676-cdc08b0daf33',1,1,1,3,1800000000000);
CREATE TABLE project (
    tenant     TEXT NOT NULL,
    name       TEXT NOT NULL,
    root       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;
INSERT INTO "project" VALUES('local','p','',1800000000000);
CREATE TABLE sent (
    tenant TEXT NOT NULL,
    sender TEXT NOT NULL,
    seq    INTEGER NOT NULL,
    PRIMARY KEY (tenant, sender, seq)
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
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX project_root ON project (tenant, root) WHERE root <> '';
CREATE UNIQUE INDEX agent_name ON agent (tenant, project, name);
CREATE INDEX session_agent ON session (tenant, agent) WHERE ended_at IS NULL;
CREATE INDEX message_thread ON message (tenant, thread, seq) WHERE thread <> id;
CREATE UNIQUE INDEX message_key ON message (tenant, sender, key) WHERE key IS NOT NULL;
CREATE INDEX message_correlation ON message (tenant, correlation) WHERE correlation IS NOT NULL;
CREATE INDEX delivery_timed ON delivery (tenant, due_at) WHERE due_at IS NOT NULL;
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
COMMIT;
