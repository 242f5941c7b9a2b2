-- What is asked of the room's own file by a search; the words themselves are in files beside it (volume.sql).

-- fragment: searched
SELECT m.seq, m.id, m.subject, m.body, m.payload, m.sender, m.recipients, m.type, m.thread, {said_at} FROM message m
WHERE m.seq > ?2 AND m.seq <= ?3 AND +m.tenant = ?1

-- fragment: chosen
-- What a filter lets through, but for the state: ?3 to ?12, in the order of `Filter`.
m.tenant = ?1 AND m.redacted IS NULL AND NOT {unsaid}
  AND (?3 IS NULL OR m.sender = ?3)
  AND (?4 IS NULL OR instr(m.recipients, '"' || ?4 || '"'))
  AND (?5 IS NULL OR m.address = ?5)
  AND (?6 IS NULL OR m.type = ?6)
  AND (?7 IS NULL OR m.thread = ?7)
  AND (?8 IS NULL OR {said_at} >= ?8)
  AND (?9 IS NULL OR {said_at} <= ?9)
  AND (?11 IS NULL OR m.project = ?11)
  AND (?12 IS NULL OR m.sender = ?12 OR instr(m.recipients, '"' || ?12 || '"'))

-- fragment: standing
AND (?10 IS NULL OR EXISTS (
      SELECT 1 FROM json_each(m.recipients) r CROSS JOIN delivery d
      WHERE d.tenant = m.tenant AND d.recipient = r.value AND d.place {anywhere}
        AND d.seq = m.seq AND d.state = ?10 AND (?4 IS NULL OR d.recipient = ?4)))

-- fragment: ended
-- The same for a state that lies in one place of a mailbox.
AND EXISTS (SELECT 1 FROM json_each(m.recipients) r CROSS JOIN delivery d
            WHERE d.tenant = m.tenant AND d.recipient = r.value AND d.place = {done}
              AND d.seq = m.seq AND d.state = ?10 AND (?4 IS NULL OR d.recipient = ?4))

-- name: search_page
{searched} ORDER BY m.seq LIMIT ?4;

-- name: search_page_back
{searched} ORDER BY m.seq DESC LIMIT ?4;

-- name: search_last
-- The last message up to a number: stretches in which there are none are passed over.
SELECT seq FROM message WHERE seq <= ?2 AND +tenant = ?1 ORDER BY seq DESC LIMIT 1;

-- name: search_standing
-- The messages of which a delivery lies in some places of its mailbox.
SELECT DISTINCT d.seq FROM agent a CROSS JOIN delivery d
WHERE a.tenant = ?1 AND d.tenant = ?1 AND d.recipient = a.id AND d.place BETWEEN ?2 AND ?3 LIMIT ?4;

-- name: search_filter
-- Which of the messages found by their words are really there, and are what was asked for.
SELECT m.seq FROM json_each(?2) j CROSS JOIN message m ON m.seq = j.value
WHERE {chosen} {standing}
ORDER BY m.seq DESC LIMIT ?13;

-- name: browse_back
-- Whatever was written, newest first: from below ?13 down to above ?2.
SELECT m.seq FROM message m WHERE m.seq < ?13 AND m.seq > ?2 AND {chosen} AND ?10 IS NULL ORDER BY m.seq DESC LIMIT ?14;

-- name: browse_on
-- The same, oldest first.
SELECT m.seq FROM message m WHERE m.seq < ?13 AND m.seq > ?2 AND {chosen} AND ?10 IS NULL ORDER BY m.seq LIMIT ?14;

-- name: browse_back_ended
SELECT m.seq FROM message m WHERE m.seq < ?13 AND m.seq > ?2 AND {chosen} {ended} ORDER BY m.seq DESC LIMIT ?14;

-- name: browse_on_ended
SELECT m.seq FROM message m WHERE m.seq < ?13 AND m.seq > ?2 AND {chosen} {ended} ORDER BY m.seq LIMIT ?14;

-- name: browse_back_standing
SELECT m.seq FROM message m WHERE m.seq < ?13 AND m.seq > ?2 AND {chosen} {standing} ORDER BY m.seq DESC LIMIT ?14;

-- name: browse_on_standing
SELECT m.seq FROM message m WHERE m.seq < ?13 AND m.seq > ?2 AND {chosen} {standing} ORDER BY m.seq LIMIT ?14;
