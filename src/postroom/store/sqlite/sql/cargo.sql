-- name: cargo_is_there
SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'cargo';

-- name: cargo_reset
DROP TABLE IF EXISTS cargo;

-- name: cargo_make
CREATE TABLE cargo (name TEXT NOT NULL, piece INTEGER NOT NULL, content BLOB NOT NULL, PRIMARY KEY (name, piece)) STRICT;

-- name: cargo_put
INSERT INTO cargo (name, piece, content) VALUES (?1, ?2, ?3);

-- name: cargo_names
SELECT DISTINCT name FROM cargo ORDER BY name;

-- name: cargo_get
SELECT content FROM cargo WHERE name = ?1 ORDER BY piece;
