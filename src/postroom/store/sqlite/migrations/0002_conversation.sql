-- Topics: who follows one, and what was said in it. Gates: what was decided.

CREATE TABLE subscription (
    tenant  TEXT NOT NULL,
    project TEXT NOT NULL,
    topic   TEXT NOT NULL,
    agent   TEXT NOT NULL,
    since   INTEGER NOT NULL,
    PRIMARY KEY (tenant, project, topic, agent)
) STRICT, WITHOUT ROWID;

CREATE INDEX message_topic ON message (tenant, project, address, seq) WHERE address GLOB 'topic:*';

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
