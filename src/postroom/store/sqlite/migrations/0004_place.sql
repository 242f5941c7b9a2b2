-- What is held because another has it gets places of its own, apart from what waits for its time: takes look there.
-- A CHECK can only be changed by making the table anew. What is due, and for whom, stays as it is.

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

INSERT INTO delivery
SELECT tenant, recipient,
       CASE WHEN place = 8 AND reason IS 'taken' THEN CASE WHEN claimer IS NULL THEN 13 ELSE 12 END ELSE place END,
       seq, state, was, priority, shown_before, attempts, unproven, due_at, route, context, nonce, claimer,
       handed_at, last, evidence, reason, stored_at, offered_at, seen_at, acked_at, ended_at, NULL
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
       m.sender AS sender_agent_id, m.sender_role AS sender_agent_type, m.sender_session AS sender_session_id,
       d.recipient AS recipient_agent_id,
       m.type AS message_type, m.body AS content, m.metadata,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.handed_at / 1000.0, 'unixepoch') AS delivered_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.seen_at / 1000.0, 'unixepoch') AS read_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', m.created_at / 1000.0, 'unixepoch') AS created_at
FROM delivery d
JOIN message m ON m.seq = d.seq;
