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
INSERT INTO "agent" VALUES('local','a3ef307523a8709','p','ann','reviewer','[]','',NULL,1800000000000,NULL);
INSERT INTO "agent" VALUES('local','a9f1b3c44e87425','p','cleo','reviewer','[]','',NULL,1800000000000,NULL);
INSERT INTO "agent" VALUES('local','aae2530a90d8641','p','planner','','[]','',NULL,1800000000000,NULL);
INSERT INTO "agent" VALUES('local','aba3dce3b663227','p','ben','reviewer','[]','',NULL,1800000000000,NULL);
INSERT INTO "agent" VALUES('local','accc5a96ab82f7b','p','builder','','[]','',NULL,1800000000000,NULL);
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
INSERT INTO "delivery" VALUES('local','a3ef307523a8709',5,31,'stored',NULL,2,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1800000160000,NULL,NULL,NULL,NULL);
INSERT INTO "delivery" VALUES('local','a3ef307523a8709',8,10,'stored',NULL,2,0,0,0,NULL,NULL,'python:4711.1.long-ago.0:main:0',NULL,'4711.1.long-ago.0',NULL,12,NULL,'taken',1800000100000,NULL,NULL,NULL,NULL);
INSERT INTO "delivery" VALUES('local','a3ef307523a8709',8,14,'stored',NULL,2,0,0,0,NULL,NULL,'python:4711.1.long-ago.0:main:0',NULL,NULL,NULL,16,NULL,'taken',1800000100000,NULL,NULL,NULL,NULL);
INSERT INTO "delivery" VALUES('local','a3ef307523a8709',8,19,'stored',NULL,2,0,0,0,1800003700000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'scheduled',1800000100000,NULL,NULL,NULL,NULL);
INSERT INTO "delivery" VALUES('local','a9f1b3c44e87425',5,31,'stored',NULL,2,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1800000160000,NULL,NULL,NULL,NULL);
INSERT INTO "delivery" VALUES('local','a9f1b3c44e87425',8,10,'stored',NULL,2,0,0,0,NULL,NULL,'python:4711.1.long-ago.0:main:0',NULL,'4711.1.long-ago.0',NULL,13,NULL,'taken',1800000100000,NULL,NULL,NULL,NULL);
INSERT INTO "delivery" VALUES('local','a9f1b3c44e87425',10,14,'seen','offered',2,0,1,0,NULL,'cli','python:4711.1.long-ago.0:main:0','86dd2c70e5b5','4711.1.long-ago.0',1800000100000,18,'agent',NULL,1800000100000,1800000100000,1800000100000,NULL,NULL);
INSERT INTO "delivery" VALUES('local','a9f1b3c44e87425',10,32,'bounced','offered',0,0,1,0,NULL,'api','python:4711.1.long-ago.0:main:0','269e28734bc0','4711.1.long-ago.0',1800000160000,34,NULL,'no',1800000160000,1800000160000,NULL,NULL,1800000160000);
INSERT INTO "delivery" VALUES('local','aae2530a90d8641',5,27,'stored',NULL,2,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1800000160000,NULL,NULL,NULL,NULL);
INSERT INTO "delivery" VALUES('local','aae2530a90d8641',5,35,'stored',NULL,2,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1800000160000,NULL,NULL,NULL,NULL);
INSERT INTO "delivery" VALUES('local','aba3dce3b663227',5,31,'stored',NULL,2,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1800000160000,NULL,NULL,NULL,NULL);
INSERT INTO "delivery" VALUES('local','aba3dce3b663227',8,14,'stored',NULL,2,0,0,0,NULL,NULL,'python:4711.1.long-ago.0:main:0',NULL,NULL,NULL,17,NULL,'taken',1800000100000,NULL,NULL,NULL,NULL);
INSERT INTO "delivery" VALUES('local','aba3dce3b663227',9,10,'offered','stored',2,0,1,0,NULL,'api','python:4711.1.long-ago.0:main:0','b819529c9205','4711.1.long-ago.0',1800000100000,11,NULL,NULL,1800000100000,1800000100000,NULL,NULL,NULL);
INSERT INTO "delivery" VALUES('local','accc5a96ab82f7b',5,20,'stored',NULL,2,0,0,0,1800007300000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1800000100000,NULL,NULL,NULL,NULL);
INSERT INTO "delivery" VALUES('local','accc5a96ab82f7b',9,21,'offered','stored',0,0,1,0,NULL,'api','python:4711.1.long-ago.0:main:0','fcfef754fdac','4711.1.long-ago.0',1800000100000,22,NULL,NULL,1800000100000,1800000100000,NULL,NULL,NULL);
INSERT INTO "delivery" VALUES('local','accc5a96ab82f7b',10,28,'seen','offered',1,0,1,0,NULL,'api','python:4711.1.long-ago.0:main:0','2d032f9b1ca2','4711.1.long-ago.0',1800000160000,30,'agent',NULL,1800000160000,1800000160000,1800000160000,NULL,NULL);
INSERT INTO "delivery" VALUES('local','accc5a96ab82f7b',11,24,'dead','offered',1,0,1,0,NULL,'api','python:4711.1.long-ago.0:main:0','0d3e844c102c','4711.1.long-ago.0',NULL,26,NULL,'unproven after 1 attempts',1800000100000,1800000100000,NULL,NULL,1800000160000);
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
INSERT INTO "event" VALUES(11,'01a1e46d-e8e4-7475-a0aa-10c5d64b4da5','local','01a3185d-d6a0-7d7d-8bc6-259c2e2ac0ea','aba3dce3b663227',NULL,NULL,'delivery.offered','system',1800000100000,10,NULL,'{"n":1,"route":"api","context":"python:4711.1.long-ago.0:main:0","nonce":"b819529c9205","claimer":"4711.1.long-ago.0","handed":true,"lease_until":null}','offered');
INSERT INTO "event" VALUES(12,'01a1e46d-e8f0-7cdc-8e9e-8d4461e7630e','local','01a3185d-d6a0-7d7d-8bc6-259c2e2ac0ea','a3ef307523a8709',NULL,NULL,'delivery.taken','system',1800000100000,10,NULL,'{"by":"aba3dce3b663227","context":"python:4711.1.long-ago.0:main:0","claimer":"4711.1.long-ago.0"}','stored');
INSERT INTO "event" VALUES(13,'01a1e46d-e8f1-7a25-8a25-7c0f359706aa','local','01a3185d-d6a0-7d7d-8bc6-259c2e2ac0ea','a9f1b3c44e87425',NULL,NULL,'delivery.taken','system',1800000100000,10,NULL,'{"by":"aba3dce3b663227","context":"python:4711.1.long-ago.0:main:0","claimer":"4711.1.long-ago.0"}','stored');
INSERT INTO "event" VALUES(15,'01a1e46d-e8f1-76e4-957b-439043a6ac3b','local','01a3185d-d6a0-7f12-8883-daf5a708a7ae','a9f1b3c44e87425',NULL,NULL,'delivery.offered','system',1800000100000,14,NULL,'{"n":1,"route":"cli","context":"python:4711.1.long-ago.0:main:0","nonce":"86dd2c70e5b5","claimer":"4711.1.long-ago.0","handed":false,"lease_until":1800000115000}','offered');
INSERT INTO "event" VALUES(16,'01a1e46d-e8f1-7348-937e-da8343311ea3','local','01a3185d-d6a0-7f12-8883-daf5a708a7ae','a3ef307523a8709',NULL,NULL,'delivery.taken','system',1800000100000,14,NULL,'{"by":"a9f1b3c44e87425","context":"python:4711.1.long-ago.0:main:0"}','stored');
INSERT INTO "event" VALUES(17,'01a1e46d-e8f2-7d0f-a5f1-7d0c9f32baec','local','01a3185d-d6a0-7f12-8883-daf5a708a7ae','aba3dce3b663227',NULL,NULL,'delivery.taken','system',1800000100000,14,NULL,'{"by":"a9f1b3c44e87425","context":"python:4711.1.long-ago.0:main:0"}','stored');
INSERT INTO "event" VALUES(18,'01a1e46d-e8f2-7111-a6f7-ebc835198557','local','01a3185d-d6a0-7f12-8883-daf5a708a7ae','a9f1b3c44e87425',NULL,NULL,'delivery.seen','agent',1800000100000,14,15,'{"n":1,"evidence":"agent"}','seen');
INSERT INTO "event" VALUES(22,'01a1e46d-e8f3-734d-bc61-62f415d18d46','local','01a3185d-d6a0-758a-b0c1-1f11fa8cfb85','accc5a96ab82f7b',NULL,NULL,'delivery.offered','system',1800000100000,21,NULL,'{"n":1,"route":"api","context":"python:4711.1.long-ago.0:main:0","nonce":"fcfef754fdac","claimer":"4711.1.long-ago.0","handed":true,"lease_until":null}','offered');
INSERT INTO "event" VALUES(23,'01a1e46d-e902-7916-81e4-93cb5821ff6c','local',NULL,NULL,NULL,NULL,'room.pruned','system',1800000100000,NULL,NULL,'{"before":1800000050000,"messages":[7],"cut":11}','ok');
INSERT INTO "event" VALUES(25,'01a1e46d-e978-7e4f-bf39-18284bfe2376','local','01a3185d-d6a0-7bd5-9ab1-f5a0d5336898','accc5a96ab82f7b',NULL,NULL,'delivery.offered','system',1800000100000,24,NULL,'{"n":1,"route":"api","context":"python:4711.1.long-ago.0:main:0","nonce":"0d3e844c102c","claimer":"4711.1.long-ago.0","handed":false,"lease_until":1800000115000}','offered');
INSERT INTO "event" VALUES(26,'01a1e46d-e979-7487-8a53-39b195308bcf','local','01a3185d-d6a0-7bd5-9ab1-f5a0d5336898','accc5a96ab82f7b',NULL,NULL,'delivery.dead','system',1800000160000,24,25,'{"n":1,"outcome":"unproven","reason":"unproven after 1 attempts"}','dead');
INSERT INTO "event" VALUES(29,'01a1e46d-e97a-7d84-a792-683a9c9f9082','local','01a3185e-c100-7da0-848d-14404e114f5c','accc5a96ab82f7b',NULL,NULL,'delivery.offered','system',1800000160000,28,NULL,'{"n":1,"route":"api","context":"python:4711.1.long-ago.0:main:0","nonce":"2d032f9b1ca2","claimer":"4711.1.long-ago.0","handed":true,"lease_until":null}','offered');
INSERT INTO "event" VALUES(30,'01a1e46d-e97a-7486-b95a-c9abbbb1238d','local','01a3185e-c100-7da0-848d-14404e114f5c','accc5a96ab82f7b',NULL,NULL,'delivery.seen','agent',1800000160000,28,29,'{"n":1,"evidence":"agent"}','seen');
INSERT INTO "event" VALUES(33,'01a1e46d-e97b-755e-aaeb-fde54c5ea05b','local','01a3185e-c100-754c-b902-0db8c6ef3620','a9f1b3c44e87425',NULL,NULL,'delivery.offered','system',1800000160000,32,NULL,'{"n":1,"route":"api","context":"python:4711.1.long-ago.0:main:0","nonce":"269e28734bc0","claimer":"4711.1.long-ago.0","handed":true,"lease_until":null}','offered');
INSERT INTO "event" VALUES(34,'01a1e46d-e97b-7517-a7bf-328bdf28cdc6','local','01a3185e-c100-754c-b902-0db8c6ef3620','a9f1b3c44e87425',NULL,NULL,'delivery.bounced','agent',1800000160000,32,33,'{"reason":"no","n":1,"outcome":"refused"}','bounced');
CREATE TABLE follower (
    tenant   TEXT NOT NULL,
    name     TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;
INSERT INTO "follower" VALUES('local','journal',35);
INSERT INTO "follower" VALUES('local','search.0',23);
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
INSERT INTO "message" VALUES(10,'01a3185d-d6a0-7d7d-8bc6-259c2e2ac0ea','local','p','aae2530a90d8641','planner',NULL,NULL,NULL,'unverified','one:@reviewers','["a3ef307523a8709","aba3dce3b663227","a9f1b3c44e87425"]','note','turn',2,'','a program has it',NULL,NULL,'01a3185d-d6a0-7d7d-8bc6-259c2e2ac0ea',NULL,NULL,NULL,0,NULL,NULL,NULL,1800000100000,NULL);
INSERT INTO "message" VALUES(14,'01a3185d-d6a0-7f12-8883-daf5a708a7ae','local','p','aae2530a90d8641','planner',NULL,NULL,NULL,'unverified','one:@reviewers','["a3ef307523a8709","aba3dce3b663227","a9f1b3c44e87425"]','note','turn',2,'','read at a terminal',NULL,NULL,'01a3185d-d6a0-7f12-8883-daf5a708a7ae',NULL,NULL,NULL,0,NULL,NULL,NULL,1800000100000,NULL);
INSERT INTO "message" VALUES(19,'01a3185d-d6a0-7701-9ee6-6822be1e0823','local','p','aae2530a90d8641','planner',NULL,NULL,NULL,'unverified','ann','["a3ef307523a8709"]','note','turn',2,'','later',NULL,NULL,'01a3185d-d6a0-7701-9ee6-6822be1e0823',NULL,NULL,NULL,0,1800003700000,NULL,NULL,1800000100000,NULL);
INSERT INTO "message" VALUES(20,'01a3185d-d6a0-7018-9499-44755c5581d4','local','p','aae2530a90d8641','planner',NULL,NULL,NULL,'unverified','builder','["accc5a96ab82f7b"]','note','turn',2,'','will expire',NULL,NULL,'01a3185d-d6a0-7018-9499-44755c5581d4',NULL,NULL,NULL,0,NULL,1800007300000,NULL,1800000100000,NULL);
INSERT INTO "message" VALUES(21,'01a3185d-d6a0-758a-b0c1-1f11fa8cfb85','local','p','aae2530a90d8641','planner',NULL,NULL,NULL,'unverified','builder','["accc5a96ab82f7b"]','note','turn',0,'','urgent, and offered',NULL,NULL,'01a3185d-d6a0-758a-b0c1-1f11fa8cfb85',NULL,NULL,NULL,0,NULL,NULL,NULL,1800000100000,NULL);
INSERT INTO "message" VALUES(24,'01a3185d-d6a0-7bd5-9ab1-f5a0d5336898','local','p','aae2530a90d8641','planner',NULL,NULL,NULL,'unverified','builder','["accc5a96ab82f7b"]','note','turn',1,'','dead',NULL,NULL,'01a3185d-d6a0-7bd5-9ab1-f5a0d5336898',NULL,NULL,NULL,0,NULL,NULL,NULL,1800000100000,NULL);
INSERT INTO "message" VALUES(27,'01a3185e-c100-7280-860f-63b7afd9d5ab','local','p','postroom','postroom',NULL,NULL,'system','room','planner','["aae2530a90d8641"]','system','turn',2,'Not delivered to builder','Your message d5336898 was not delivered to builder: unproven after 1 attempts','{"bounce":{"message":"01a3185d-d6a0-7bd5-9ab1-f5a0d5336898","recipient":"builder","reason":"unproven after 1 attempts"}}',NULL,'01a3185d-d6a0-7bd5-9ab1-f5a0d5336898','01a3185d-d6a0-7bd5-9ab1-f5a0d5336898','01a3185d-d6a0-7bd5-9ab1-f5a0d5336898',NULL,0,NULL,NULL,NULL,1800000160000,NULL);
INSERT INTO "message" VALUES(28,'01a3185e-c100-7da0-848d-14404e114f5c','local','p','aae2530a90d8641','planner',NULL,NULL,NULL,'unverified','builder','["accc5a96ab82f7b"]','note','turn',1,'','seen',NULL,NULL,'01a3185e-c100-7da0-848d-14404e114f5c',NULL,NULL,NULL,0,NULL,NULL,NULL,1800000160000,NULL);
INSERT INTO "message" VALUES(31,'01a3185e-c100-7135-9a78-5d0928b7bc6f','local','p','aae2530a90d8641','planner',NULL,NULL,NULL,'unverified','one:@reviewers','["a3ef307523a8709","aba3dce3b663227","a9f1b3c44e87425"]','note','turn',2,'','nobody has it yet',NULL,NULL,'01a3185e-c100-7135-9a78-5d0928b7bc6f',NULL,NULL,NULL,0,NULL,NULL,NULL,1800000160000,NULL);
INSERT INTO "message" VALUES(32,'01a3185e-c100-754c-b902-0db8c6ef3620','local','p','aae2530a90d8641','planner',NULL,NULL,NULL,'unverified','cleo','["a9f1b3c44e87425"]','note','turn',0,'','refused',NULL,NULL,'01a3185e-c100-754c-b902-0db8c6ef3620',NULL,NULL,NULL,0,NULL,NULL,NULL,1800000160000,NULL);
INSERT INTO "message" VALUES(35,'01a3185e-c100-73e3-9fb9-5236a195a333','local','p','postroom','postroom',NULL,NULL,'system','room','planner','["aae2530a90d8641"]','system','turn',2,'Refused by cleo','Your message c6ef3620 was refused by cleo: no','{"bounce":{"message":"01a3185e-c100-754c-b902-0db8c6ef3620","recipient":"cleo","reason":"no"}}',NULL,'01a3185e-c100-754c-b902-0db8c6ef3620','01a3185e-c100-754c-b902-0db8c6ef3620','01a3185e-c100-754c-b902-0db8c6ef3620',NULL,0,NULL,NULL,NULL,1800000160000,NULL);
CREATE TABLE meta (
    one          INTEGER PRIMARY KEY CHECK (one = 1),
    room         TEXT    NOT NULL,
    version      INTEGER NOT NULL,
    min_reader   INTEGER NOT NULL,
    min_writer   INTEGER NOT NULL,
    directory    INTEGER NOT NULL DEFAULT 0,  -- rises when an agent or a project changes: names may be cached until then
    created_at   INTEGER NOT NULL
) STRICT;
INSERT INTO "meta" VALUES(1,'01a1e46d-e8a6-713a-bcc4-0dd0f038541e',3,2,2,6,1800000000000);
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
CREATE TABLE subscription (
    tenant  TEXT NOT NULL,
    project TEXT NOT NULL,
    topic   TEXT NOT NULL,
    agent   TEXT NOT NULL,
    since   INTEGER NOT NULL,
    PRIMARY KEY (tenant, project, topic, agent)
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
CREATE INDEX message_topic ON message (tenant, project, address, seq) WHERE address GLOB 'topic:*';
CREATE INDEX message_gate ON message (tenant, expires_at) WHERE type = 'decision_gate';
CREATE INDEX message_attached ON message (seq) WHERE attachments IS NOT NULL;
PRAGMA application_id = 1886352244;
PRAGMA user_version = 3;
COMMIT;
