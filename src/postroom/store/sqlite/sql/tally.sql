-- Counts over all messages since a moment, each in one pass. Names are ids; times are in milliseconds.

-- fragment: duration
-- Of `ms`, exact up to 100 and to two digits beyond: so that a million times become some hundred counts.
CASE WHEN ms < 100 THEN max(ms, 0) WHEN ms < 1000 THEN (ms + 5) / 10 * 10 WHEN ms < 10000 THEN (ms + 50) / 100 * 100
     WHEN ms < 100000 THEN (ms + 500) / 1000 * 1000 WHEN ms < 1000000 THEN (ms + 5000) / 10000 * 10000
     WHEN ms < 10000000 THEN (ms + 50000) / 100000 * 100000 ELSE (ms + 500000) / 1000000 * 1000000 END

-- name: tally_traffic
SELECT sender, recipient, type, route, {duration}, count(*), sum(handed), sum(characters) FROM (
    SELECT m.sender, d.recipient, m.type, d.route, d.acked_at - CASE WHEN m.sender = 'postroom' THEN {said_at} ELSE d.stored_at END AS ms, d.handed_at IS NOT NULL AS handed,
           CASE WHEN d.handed_at IS NULL THEN 0
                ELSE coalesce(d.shown, length(m.subject) + length(m.body) + coalesce(length(m.payload), 0)) END AS characters
    FROM delivery d CROSS JOIN message m ON m.seq = d.seq WHERE d.tenant = ?1 AND d.stored_at >= ?2
      AND NOT {unsaid})
GROUP BY 1, 2, 3, 4, 5;

-- name: tally_bundles
-- What was offered together bears one nonce.
SELECT recipient, sum(together), count(*) FROM (
    SELECT recipient, count(*) AS together FROM delivery
    WHERE tenant = ?1 AND stored_at >= ?2 AND nonce IS NOT NULL AND handed_at IS NOT NULL
    GROUP BY recipient, nonce HAVING count(*) > 1)
GROUP BY 1;

-- name: tally_answers
-- A request is answered by the first message that its recipient wrote with its correlation. NULL: not yet.
SELECT sender, recipient, {duration}, count(*) FROM (
    SELECT q.sender, d.recipient,
           (SELECT min(a.created_at) FROM message a
            WHERE a.tenant = ?1 AND a.correlation = coalesce(q.correlation, q.id) AND a.correlation IS NOT NULL
              AND a.seq > q.seq AND a.sender = d.recipient) - q.created_at AS ms, d.state
    FROM message q, json_each(q.recipients) r CROSS JOIN delivery d
    WHERE +q.tenant = ?1 AND q.created_at >= ?2 AND q.type = 'request'
      AND d.tenant = ?1 AND d.recipient = r.value AND d.place {anywhere} AND d.seq = q.seq)
WHERE ms IS NOT NULL OR state <> 'withdrawn'
GROUP BY 1, 2, 3;

-- name: tally_messages
SELECT count(*) FROM message WHERE +tenant = ?1;

-- name: tally_first
-- When the first message from a number on was written, and its number.
SELECT created_at, seq FROM message WHERE seq >= ?2 AND +tenant = ?1 ORDER BY seq LIMIT 1;

-- name: tally_flow
-- What became of what was sent: by route, state and hour, and how long it took to be seen.
SELECT route, state, hour, {duration}, count(*) FROM (
    SELECT coalesce(d.route, '') AS route, d.state, d.stored_at / 3600000 AS hour, d.seen_at - d.stored_at AS ms
    FROM agent a CROSS JOIN delivery d
    WHERE a.tenant = ?1 AND d.tenant = ?1 AND d.recipient = a.id AND d.place {anywhere} AND d.seq >= ?2)
GROUP BY 1, 2, 3, 4;

-- name: tally_hours
SELECT created_at / 3600000, count(*) FROM message WHERE seq >= ?2 AND +tenant = ?1 GROUP BY 1;

-- name: tally_unacked
-- What must be acknowledged, was not, and may yet be.
SELECT count(*) FROM agent a CROSS JOIN delivery d
WHERE a.tenant = ?1 AND d.tenant = ?1 AND d.recipient = a.id AND d.place {anywhere}
  AND d.state IN ('stored', 'offered', 'seen')
  AND (SELECT m.requires_ack FROM message m WHERE m.seq = d.seq);

-- name: tally_waiting
SELECT a.id, count(*) FROM agent a CROSS JOIN delivery d
WHERE a.tenant = ?1 AND d.tenant = ?1 AND d.recipient = a.id AND d.place {unread} AND d.reason IS NOT 'scheduled'
GROUP BY a.id;
