-- Who types into a terminal, one at a time: each gets a higher number than the one before. Not part of the state.
CREATE TABLE pen (
    tenant   TEXT NOT NULL,
    terminal TEXT NOT NULL,
    fence    INTEGER NOT NULL,
    holder   TEXT,
    until    INTEGER NOT NULL,
    PRIMARY KEY (tenant, terminal)
) STRICT, WITHOUT ROWID;
