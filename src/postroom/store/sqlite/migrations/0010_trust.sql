-- Words and views that came with version 10.

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
