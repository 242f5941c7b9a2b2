-- Topics: who follows one, and what was said in it.

CREATE TABLE subscription (
    tenant  TEXT NOT NULL,
    project TEXT NOT NULL,
    topic   TEXT NOT NULL,
    agent   TEXT NOT NULL,
    since   INTEGER NOT NULL,
    PRIMARY KEY (tenant, project, topic, agent)
) STRICT, WITHOUT ROWID;

CREATE INDEX message_topic ON message (tenant, project, address, seq) WHERE address GLOB 'topic:*';
