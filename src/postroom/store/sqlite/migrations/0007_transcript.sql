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
