-- fragment: delivery
d.seq, m.id, d.recipient,
coalesce((SELECT CASE WHEN substr(r.id, 1, 1) = 'h' THEN 'human:' || r.name WHEN r.project = m.project THEN r.name
                      ELSE r.project || '/' || r.name END
          FROM agent r WHERE r.tenant = d.tenant AND r.id = d.recipient), d.recipient),
d.state, d.route, d.evidence, d.attempts, d.unproven, d.reason, d.priority, d.held, d.shown_before, d.due_at,
d.context, d.nonce, d.claimer, d.handed_at, d.stored_at, d.offered_at, d.seen_at, d.acked_at, d.ended_at

-- name: delivery_insert
INSERT INTO delivery (tenant, seq, recipient, state, priority, fresh, held, shown_before, attempts, unproven, due_at,
                      reason, stored_at)
VALUES (?1, ?2, ?3, 'stored', ?4, 1, ?5, 0, 0, 0, ?6, ?7, ?8);

-- name: mail_ready
-- Reads no delivery row: one that was never offered has nothing to tell that its index entry and message do not.
SELECT d.fresh, {message} FROM delivery d INDEXED BY delivery_ready CROSS JOIN message m ON m.seq = d.seq
WHERE d.tenant = ?1 AND d.recipient = ?2 AND d.state = 'stored' AND d.held = 0
ORDER BY d.priority, d.fresh, d.seq LIMIT ?3;

-- name: mail_unlabelled
SELECT {delivery}, {message} FROM delivery d CROSS JOIN message m ON m.seq = d.seq
WHERE d.tenant = ?1 AND d.recipient = ?2 AND d.state = 'stored' AND d.held = 0 AND d.shown_before = 0
ORDER BY d.priority, d.fresh, d.seq LIMIT ?3;

-- name: head
SELECT seq FROM delivery INDEXED BY delivery_ready
WHERE tenant = ?1 AND recipient = ?2 AND state = 'stored' AND held = 0 ORDER BY priority, fresh, seq LIMIT 1;

-- name: mail_open
SELECT {delivery}, {message} FROM delivery d CROSS JOIN message m ON m.seq = d.seq
WHERE d.tenant = ?1 AND d.recipient = ?2 AND d.state = 'offered' AND d.claimer = ?3 ORDER BY d.seq LIMIT 500;

-- name: standing
-- Two ranges instead of <>, so that a process's own claims, however many, are not walked through.
SELECT (SELECT holder FROM lease WHERE tenant = ?1 AND agent = ?2),
       EXISTS (SELECT 1 FROM delivery WHERE tenant = ?1 AND recipient = ?2 AND state = 'offered' AND claimer < ?3)
    OR EXISTS (SELECT 1 FROM delivery WHERE tenant = ?1 AND recipient = ?2 AND state = 'offered' AND claimer > ?3);

-- name: claimers
SELECT DISTINCT claimer FROM delivery
WHERE tenant = ?1 AND recipient = ?2 AND state = 'offered' ORDER BY claimer LIMIT 10000;

-- name: mail_due
SELECT {delivery}, {message} FROM delivery d CROSS JOIN message m ON m.seq = d.seq
WHERE d.tenant = ?1 AND d.due_at <= ?2 AND d.due_at IS NOT NULL ORDER BY d.due_at, d.seq LIMIT 200;

-- name: delivery_now
-- A delivery as it stands now, for one who has its message (?4) and the recipient's address (?5) in hand.
SELECT d.seq, ?4, d.recipient, ?5, d.state, d.route, d.evidence, d.attempts, d.unproven, d.reason, d.priority, d.held,
       d.shown_before, d.due_at, d.context, d.nonce, d.claimer, d.handed_at, d.stored_at, d.offered_at, d.seen_at,
       d.acked_at, d.ended_at
FROM delivery d WHERE d.tenant = ?1 AND d.seq = ?2 AND d.recipient = ?3;

-- name: mail_one
SELECT {delivery}, {message} FROM delivery d CROSS JOIN message m ON m.seq = d.seq
WHERE d.tenant = ?1 AND d.seq = ?2 AND d.recipient = ?3;

-- name: mail_correlated
SELECT {delivery}, {message} FROM message m CROSS JOIN delivery d ON d.seq = m.seq AND d.tenant = m.tenant
WHERE m.tenant = ?1 AND m.correlation = ?2 AND m.correlation IS NOT NULL AND m.seq > ?3 AND d.recipient = ?4
ORDER BY m.seq LIMIT 1;

-- name: mail_dead
SELECT {delivery}, {message} FROM delivery d CROSS JOIN message m ON m.seq = d.seq
WHERE d.tenant = ?1 AND d.state = 'dead' ORDER BY d.recipient, d.seq LIMIT ?2;

-- name: deliveries_of
SELECT {delivery} FROM delivery d CROSS JOIN message m ON m.seq = d.seq WHERE d.tenant = ?1 AND d.seq = ?2
ORDER BY d.recipient;

-- name: recipients_open
SELECT DISTINCT recipient FROM delivery WHERE tenant = ?1 AND state = 'offered' LIMIT 10000;

-- name: next_due
SELECT min(due_at) FROM delivery WHERE tenant = ?1 AND due_at IS NOT NULL;

-- name: next_due_of
SELECT min(due_at) FROM delivery WHERE tenant = ?1 AND due_at IS NOT NULL AND recipient = ?2;

-- name: restless
-- Whether anything of a recipient is ready or offered: then no quiet marker may stand.
SELECT EXISTS (SELECT 1 FROM delivery WHERE tenant = ?1 AND recipient = ?2 AND state = 'stored' AND held = 0)
    OR EXISTS (SELECT 1 FROM delivery WHERE tenant = ?1 AND recipient = ?2 AND state = 'offered');

-- name: counts
SELECT (SELECT count(*) FROM delivery WHERE tenant = ?1 AND recipient = ?2 AND state = 'stored' AND held = 0),
       (SELECT count(*) FROM delivery WHERE tenant = ?1 AND recipient = ?2 AND state = 'offered');

-- name: delivery_release
UPDATE delivery SET held = 0, reason = NULL, due_at = ?5, last = ?4 WHERE tenant = ?1 AND seq = ?2 AND recipient = ?3;

-- name: delivery_offer
UPDATE delivery SET state = 'offered', last = ?4, fresh = 0, held = 0, reason = NULL, attempts = ?5, route = ?6, context = ?7,
    nonce = ?8, claimer = ?9, offered_at = ?10, handed_at = ?11, due_at = ?12
WHERE tenant = ?1 AND seq = ?2 AND recipient = ?3;

-- name: delivery_hand
UPDATE delivery SET last = ?4, handed_at = ?5, due_at = NULL WHERE tenant = ?1 AND seq = ?2 AND recipient = ?3;

-- name: delivery_see
-- To be proven is to have been handed over, so a claim settled in one step gets both times.
UPDATE delivery SET state = 'seen', last = ?4, evidence = ?5, seen_at = ?6, handed_at = coalesce(handed_at, ?6), due_at = NULL,
    reason = NULL
WHERE tenant = ?1 AND seq = ?2 AND recipient = ?3;

-- name: delivery_ack
UPDATE delivery SET state = 'acked', last = ?4, evidence = coalesce(evidence, ?5), seen_at = coalesce(seen_at, ?6),
    acked_at = ?6, ended_at = ?6, due_at = NULL, reason = NULL, held = 0
WHERE tenant = ?1 AND seq = ?2 AND recipient = ?3;

-- name: delivery_return
UPDATE delivery SET state = 'stored', last = ?4, shown_before = max(shown_before, ?5), unproven = unproven + ?6,
    reason = ?7, due_at = ?8
WHERE tenant = ?1 AND seq = ?2 AND recipient = ?3;

-- name: delivery_exit
UPDATE delivery SET state = ?5, last = ?4, reason = ?6, ended_at = ?7, due_at = NULL, held = 0
WHERE tenant = ?1 AND seq = ?2 AND recipient = ?3;

-- name: delivery_retry
UPDATE delivery SET state = 'stored', last = ?4, unproven = 0, reason = NULL, ended_at = NULL, due_at = ?5
WHERE tenant = ?1 AND seq = ?2 AND recipient = ?3;

-- name: delivery_label
UPDATE delivery SET shown_before = 1, fresh = 0, last = ?4 WHERE tenant = ?1 AND seq = ?2 AND recipient = ?3;

