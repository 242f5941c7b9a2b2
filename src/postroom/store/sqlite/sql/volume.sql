-- One file of the search index. It holds words and numbers, never a message: what is shown comes from the room.

-- name: has_words
SELECT 1 FROM pragma_module_list WHERE name = 'fts5';

-- name: volume_is_made
SELECT 1 FROM sqlite_master WHERE name = 'volume';

-- name: volume_create
-- `mark` and `mark_id` name the last message entered: where the room has another there, the file is of another history.
CREATE TABLE IF NOT EXISTS volume (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    position INTEGER NOT NULL,
    mark     INTEGER,
    mark_id  TEXT,
    oldest   INTEGER,
    newest   INTEGER
) STRICT;

-- name: words_create
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (
    subject, body, payload, facts, content = '', columnsize = 0, tokenize = 'unicode61 remove_diacritics 2');

-- name: volume_begin
INSERT OR IGNORE INTO volume (one, position) VALUES (1, ?1);

-- name: volume_stand
SELECT position, mark, mark_id, oldest, newest FROM volume;

-- name: volume_advance
UPDATE volume SET position = ?1, mark = coalesce(?2, mark), mark_id = coalesce(?3, mark_id),
    oldest = min(coalesce(oldest, ?4), coalesce(?4, oldest)), newest = max(coalesce(newest, ?5), coalesce(?5, newest));

-- name: words_insert
INSERT INTO words (rowid, subject, body, payload, facts) VALUES (?1, ?2, ?3, ?4, ?5);

-- name: words_find
SELECT rowid FROM words WHERE words MATCH ?1 AND rowid < ?2 ORDER BY rowid DESC LIMIT ?3;
