-- fragment: delivery
d.seq, m.id, d.recipient,
coalesce((SELECT CASE WHEN substr(r.id, 1, 1) = 'h' THEN 'human:' || r.name WHEN r.project = m.project THEN r.name
                      ELSE r.project || '/' || r.name END
          FROM agent r WHERE r.tenant = d.tenant AND r.id = d.recipient), d.recipient),
d.state, d.route, d.evidence, d.attempts, d.unproven, d.reason, d.priority, {is_held}, d.shown_before, d.due_at,
d.context, d.nonce, d.claimer, d.handed_at, d.stored_at, d.offered_at, d.seen_at, d.acked_at, d.ended_at

-- fragment: known
d.seq, ?4, d.recipient, ?5, d.state, d.route, d.evidence, d.attempts, d.unproven, d.reason, d.priority, {is_held},
d.shown_before, d.due_at, d.context, d.nonce, d.claimer, d.handed_at, d.stored_at, d.offered_at, d.seen_at, d.acked_at, d.ended_at

-- fragment: spot
d.place, d.last

-- fragment: again
priority * 2 + (attempts = 0 AND NOT shown_before)

-- fragment: standing
(SELECT holder FROM lease WHERE tenant = ?1 AND agent = ?2),
(EXISTS (SELECT 1 FROM delivery WHERE tenant = ?1 AND recipient = ?2 AND place = {offered} AND claimer <> ?3)
 OR EXISTS (SELECT 1 FROM delivery WHERE tenant = ?1 AND recipient = ?2 AND place = {taken} AND claimer <> ?3)),
(SELECT min(due_at) FROM delivery WHERE tenant = ?1 AND due_at IS NOT NULL)

-- fragment: not_alone
-- Whether a message (?3) is not all that waits in a mailbox, or something is to be put in order there first.
EXISTS (SELECT 1 FROM delivery WHERE tenant = ?1 AND recipient = key AND place {waiting} AND seq <> ?3)
OR EXISTS (SELECT 1 FROM delivery WHERE tenant = ?1 AND recipient = key AND place = {offered} AND claimer <> value)
OR EXISTS (SELECT 1 FROM delivery WHERE tenant = ?1 AND recipient = key AND place = {taken} AND claimer <> value)
OR EXISTS (SELECT 1 FROM lease WHERE tenant = ?1 AND agent = key AND holder IS NOT NULL)
OR coalesce((SELECT min(due_at) FROM delivery WHERE tenant = ?1 AND due_at IS NOT NULL) <= ?4, 0)

-- fragment: watch
-- What is watched, joined with its delivery, which lies where seen ones do.
watched w CROSS JOIN delivery d ON d.tenant = w.tenant AND d.recipient = w.recipient AND d.place = {done} AND d.seq = w.seq
    AND d.state IN ('seen', 'acked')

-- fragment: program
d.route IN ('api', 'listen') AND d.claimer IS NOT NULL

-- name: delivery_insert
INSERT INTO delivery (tenant, recipient, place, seq, state, priority, shown_before, attempts, unproven, due_at, reason, stored_at)
VALUES (?1, ?2, ?3, ?4, 'stored', ?5, 0, 0, 0, ?6, ?7, ?8);

-- name: delivery_insert_offered
-- As `delivery_insert`, and then `delivery_offer`: ?3 is its priority.
INSERT INTO delivery (tenant, recipient, place, seq, state, was, priority, shown_before, attempts, unproven, last, route, context,
    nonce, claimer, stored_at, offered_at, handed_at, due_at)
VALUES (?1, ?2, {offered}, ?4, 'offered', 'stored', ?3, 0, ?6, 0, ?5, ?7, ?8, ?9, ?10, ?11, ?11, ?12, ?13);

-- name: mail_ready
-- One that was never offered has nothing to tell that its place and its message do not.
SELECT {message}, {spot} FROM delivery d CROSS JOIN message m ON m.seq = d.seq
WHERE d.tenant = ?1 AND d.recipient = ?2 AND d.place {waiting} ORDER BY d.place, d.seq LIMIT ?3;

-- name: mail_pushable
-- As `mail_ready`, without what is paused: connections ended before they acknowledged it.
SELECT {message}, {spot} FROM delivery d CROSS JOIN message m ON m.seq = d.seq
WHERE d.tenant = ?1 AND d.recipient = ?2 AND d.place {waiting} AND d.reason IS NOT 'unacknowledged'
ORDER BY d.place, d.seq LIMIT ?3;

-- name: ready_count
SELECT count(*) FROM (SELECT 1 FROM delivery WHERE tenant = ?1 AND recipient = ?2 AND place {waiting} LIMIT ?3);

-- name: mail_next
-- `standing` and the first that is ready, in one: the way of every message that is taken.
SELECT {message}, {spot}, {standing}
FROM meta LEFT JOIN (SELECT place, last, seq FROM delivery WHERE tenant = ?1 AND recipient = ?2 AND place {waiting}
                     ORDER BY place, seq LIMIT 1) d LEFT JOIN message m ON m.seq = d.seq;

-- name: mail_not_alone
-- Of a mailbox (?2), and who asks for it (?5).
SELECT key FROM (SELECT ?2 AS key, ?5 AS value) WHERE {not_alone};

-- name: mail_not_alone_of
-- Of the mailboxes in an object (?2), each with who asks for it.
SELECT key FROM json_each(?2) WHERE {not_alone};

-- name: mail_unlabelled
SELECT {delivery}, {message} FROM delivery d CROSS JOIN message m ON m.seq = d.seq
WHERE d.tenant = ?1 AND d.recipient = ?2 AND d.place {waiting} AND d.shown_before = 0 ORDER BY d.place, d.seq LIMIT ?3;

-- name: mail_waiting
SELECT {delivery}, {message} FROM delivery d CROSS JOIN message m ON m.seq = d.seq
WHERE d.tenant = ?1 AND d.recipient = ?2 AND d.place {waiting} AND d.seq > ?3 ORDER BY d.seq LIMIT 500;

-- name: mail_held
SELECT {delivery}, {message} FROM delivery d CROSS JOIN message m ON m.seq = d.seq
WHERE d.tenant = ?1 AND d.recipient = ?2 AND d.place = {held} AND d.seq > ?3 ORDER BY d.seq LIMIT 500;

-- name: held_counts
-- What its sender has set a time for is nothing to its recipient before that.
SELECT reason, count(*), min(due_at) FROM delivery
WHERE tenant = ?1 AND recipient = ?2 AND place = {held} AND reason IS NOT 'scheduled' GROUP BY 1 ORDER BY 1;

-- name: unread
SELECT count(*) FROM (SELECT 1 FROM delivery
                      WHERE tenant = ?1 AND recipient = ?2 AND place {unread} AND reason IS NOT 'scheduled' LIMIT ?3);

-- name: mail_open
SELECT {delivery}, {message} FROM delivery d CROSS JOIN message m ON m.seq = d.seq
WHERE d.tenant = ?1 AND d.recipient = ?2 AND d.place = {offered} AND d.claimer = ?3 AND d.seq > ?4 ORDER BY d.seq
LIMIT 500;

-- name: mail_taken
SELECT {delivery}, {message} FROM delivery d CROSS JOIN message m ON m.seq = d.seq
WHERE d.tenant = ?1 AND d.recipient = ?2 AND d.place = {taken} AND d.claimer = ?3 ORDER BY d.seq LIMIT 500;

-- name: standing
SELECT {standing};

-- name: claimers
-- Of what is offered, of what is held because another has it, and of requests that were seen and not answered.
SELECT claimer FROM delivery WHERE tenant = ?1 AND recipient = ?2 AND place = {offered}
UNION SELECT claimer FROM delivery WHERE tenant = ?1 AND recipient = ?2 AND place = {taken}
UNION SELECT d.claimer FROM {watch}
      WHERE w.tenant = ?1 AND w.recipient = ?2 AND {program}
ORDER BY 1 LIMIT 10000;

-- name: mail_due
SELECT {delivery}, {message} FROM delivery d CROSS JOIN message m ON m.seq = d.seq
WHERE d.tenant = ?1 AND d.due_at <= ?2 AND d.due_at IS NOT NULL ORDER BY d.due_at, d.seq LIMIT 200;

-- name: delivery_fresh
-- The time tells it from another that has its number since a restore.
SELECT last FROM delivery WHERE tenant = ?1 AND recipient = ?2 AND place = ?3 AND seq = ?4 AND stored_at = ?5;

-- name: delivery_at
-- A delivery as it stands now, where it probably lies (?6 or ?7), for one who has its message (?4) and address (?5) in hand.
SELECT {known}, {spot} FROM delivery d
WHERE d.tenant = ?1 AND d.recipient = ?3 AND d.place IN (?6, ?7) AND d.seq = ?2;

-- name: delivery_now
SELECT {known}, {spot} FROM delivery d
WHERE d.tenant = ?1 AND d.recipient = ?3 AND d.place {anywhere} AND d.seq = ?2;

-- name: spot
SELECT {spot} FROM delivery d WHERE d.tenant = ?1 AND d.recipient = ?2 AND d.place {anywhere} AND d.seq = ?3;

-- name: mail_one
SELECT {delivery}, {message}, {spot} FROM message m CROSS JOIN delivery d ON d.seq = m.seq
WHERE m.seq = ?2 AND d.tenant = ?1 AND d.recipient = ?3 AND d.place {anywhere};

-- name: mail_correlated
SELECT {delivery}, {message} FROM message m CROSS JOIN delivery d ON d.seq = m.seq AND d.tenant = m.tenant
WHERE m.tenant = ?1 AND m.correlation = ?2 AND m.correlation IS NOT NULL AND m.seq > ?3
  AND d.recipient = ?4 AND d.place {anywhere}
ORDER BY m.seq LIMIT 1;

-- name: mail_dead
SELECT {delivery}, {message} FROM agent a CROSS JOIN delivery d ON d.recipient = a.id AND d.place = {dead}
CROSS JOIN message m ON m.seq = d.seq
WHERE a.tenant = ?1 AND d.tenant = ?1 ORDER BY d.recipient, d.seq LIMIT ?2;

-- name: deliveries_of
SELECT {delivery} FROM message m, json_each(m.recipients) r CROSS JOIN delivery d
WHERE m.seq = ?2 AND d.tenant = ?1 AND d.recipient = r.value AND d.place {anywhere} AND d.seq = m.seq
ORDER BY d.recipient;

-- name: recipients_open
SELECT a.id FROM agent a WHERE a.tenant = ?1 AND EXISTS (
    SELECT 1 FROM delivery d WHERE d.tenant = ?1 AND d.recipient = a.id AND d.place = {offered})
  OR a.tenant = ?1 AND EXISTS (
    SELECT 1 FROM delivery d WHERE d.tenant = ?1 AND d.recipient = a.id AND d.place = {taken})
UNION SELECT d.recipient FROM {watch} WHERE w.tenant = ?1 AND {program} LIMIT 10000;

-- name: next_due
SELECT min(due_at) FROM delivery WHERE tenant = ?1 AND due_at IS NOT NULL;

-- name: next_due_of
-- With those under it, whose ids begin with its own.
SELECT min(due_at) FROM (
    SELECT min(due_at) AS due_at FROM delivery WHERE tenant = ?1 AND due_at IS NOT NULL AND recipient = ?2
    UNION ALL
    SELECT min(due_at) FROM delivery INDEXED BY delivery_due
     WHERE tenant = ?1 AND due_at IS NOT NULL AND recipient > ?2 || '.' AND recipient < ?2 || '/');

-- name: restless
-- Whether anything of a recipient, or of one under it, is ready or offered: then no quiet marker may stand.
SELECT EXISTS (SELECT 1 FROM delivery WHERE tenant = ?1 AND recipient = ?2 AND place {waiting})
    OR EXISTS (SELECT 1 FROM delivery WHERE tenant = ?1 AND recipient = ?2 AND place = {offered})
    OR EXISTS (SELECT 1 FROM delivery WHERE tenant = ?1 AND recipient > ?2 || '.' AND recipient < ?2 || '/'
                  AND (place {waiting} OR place = {offered}));

-- name: counts
SELECT (SELECT count(*) FROM delivery WHERE tenant = ?1 AND recipient = ?2 AND place {waiting}),
       (SELECT count(*) FROM delivery WHERE tenant = ?1 AND recipient = ?2 AND place = {offered}),
       (SELECT count(*) FROM delivery WHERE tenant = ?1 AND recipient = ?2 AND place = {held} AND reason IS NOT 'scheduled'),
       (SELECT count(*) FROM delivery WHERE tenant = ?1 AND recipient = ?2 AND place {waiting} AND reason = 'uncertain');

-- What moves a delivery (?1 to ?4 are its key, ?5 is the event, which becomes its latest).

-- name: delivery_release
UPDATE delivery SET place = {again}, reason = ?7, due_at = ?6, last = ?5
WHERE tenant = ?1 AND recipient = ?2 AND place = ?3 AND seq = ?4;

-- name: delivery_rest
UPDATE delivery SET place = {held}, reason = ?6, due_at = ?7, last = ?5
WHERE tenant = ?1 AND recipient = ?2 AND place = ?3 AND seq = ?4;

-- name: delivery_hold
UPDATE delivery SET place = CASE WHEN ?6 IS NULL THEN {kept} ELSE {taken} END, reason = 'taken', due_at = NULL, last = ?5, claimer = ?6, context = ?7
WHERE tenant = ?1 AND recipient = ?2 AND place = ?3 AND seq = ?4;

-- name: delivery_free
UPDATE delivery SET place = {again}, reason = NULL, claimer = NULL, context = NULL, due_at = ?6, last = ?5
WHERE tenant = ?1 AND recipient = ?2 AND place = ?3 AND seq = ?4;

-- name: delivery_offer
UPDATE delivery SET was = state, state = 'offered', place = {offered}, last = ?5, reason = NULL, attempts = ?6, route = ?7, context = ?8,
    nonce = ?9, claimer = ?10, offered_at = ?11, handed_at = ?12, due_at = ?13
WHERE tenant = ?1 AND recipient = ?2 AND place = ?3 AND seq = ?4;

-- name: delivery_hand
-- From here on the session holds it, if it was a hook of one that handed it over.
UPDATE delivery SET last = ?5, handed_at = ?6, claimer = coalesce(?7, claimer), due_at = NULL
WHERE tenant = ?1 AND recipient = ?2 AND place = ?3 AND seq = ?4;

-- name: delivery_see
-- To be proven is to have been handed over, so a claim settled in one step gets both times.
UPDATE delivery SET was = state, state = 'seen', place = {done}, last = ?5, evidence = ?6, seen_at = ?7, handed_at = coalesce(handed_at, ?7),
    due_at = NULL, reason = NULL, shown = ?8
WHERE tenant = ?1 AND recipient = ?2 AND place = ?3 AND seq = ?4;

-- name: delivery_ack
UPDATE delivery SET was = state, state = 'acked', place = {done}, last = ?5, evidence = coalesce(evidence, ?6), seen_at = coalesce(seen_at, ?7),
    acked_at = ?7, ended_at = ?7, due_at = NULL, reason = NULL
WHERE tenant = ?1 AND recipient = ?2 AND place = ?3 AND seq = ?4;

-- name: delivery_return
UPDATE delivery SET was = state, state = 'stored', place = priority * 2, last = ?5, shown_before = max(shown_before, ?6),
    unproven = unproven + ?7, reason = ?8, due_at = ?9
WHERE tenant = ?1 AND recipient = ?2 AND place = ?3 AND seq = ?4;

-- name: delivery_defer
-- Refused for now. What was seen is so no longer: its next attempt needs evidence of its own.
UPDATE delivery SET was = state, state = 'stored', place = {held}, last = ?5, reason = ?6, due_at = ?7, deferrals = ?8,
    shown_before = max(shown_before, ?9), evidence = NULL, seen_at = NULL, shown = NULL
WHERE tenant = ?1 AND recipient = ?2 AND place = ?3 AND seq = ?4;

-- name: delivery_defer_waiting
-- The same for what is stored already.
UPDATE delivery SET place = {held}, last = ?5, reason = ?6, due_at = ?7, deferrals = ?8, shown_before = max(shown_before, ?9)
WHERE tenant = ?1 AND recipient = ?2 AND place = ?3 AND seq = ?4;

-- name: delivery_deferrals
SELECT deferrals FROM delivery WHERE tenant = ?1 AND recipient = ?3 AND place {anywhere} AND seq = ?2;

-- name: delivery_exit
UPDATE delivery SET was = state, state = ?6, place = CASE ?6 WHEN 'dead' THEN {dead} ELSE {done} END, last = ?5, reason = ?7, ended_at = ?8, due_at = NULL
WHERE tenant = ?1 AND recipient = ?2 AND place = ?3 AND seq = ?4;

-- name: delivery_retry
UPDATE delivery SET was = state, state = 'stored', place = priority * 2, last = ?5, unproven = 0, deferrals = 0, reason = NULL, ended_at = NULL, due_at = ?6
WHERE tenant = ?1 AND recipient = ?2 AND place = ?3 AND seq = ?4;

-- name: delivery_label
UPDATE delivery SET shown_before = 1, place = CASE place WHEN {held} THEN place ELSE priority * 2 END, last = ?5
WHERE tenant = ?1 AND recipient = ?2 AND place = ?3 AND seq = ?4;

-- name: mail_for_one
-- What an agent has of that which was for one of many, and has not acknowledged.
SELECT {delivery}, {message} FROM delivery d CROSS JOIN message m ON m.seq = d.seq
WHERE d.tenant = ?1 AND d.recipient = ?2 AND d.place IN ({offered}, {done}) AND d.state IN ('offered', 'seen') AND m.address GLOB 'one:*' LIMIT 500;

-- name: mail_watched
-- What a recipient has seen, has not answered, and somebody waits for; of one program, if it is named.
SELECT {delivery}, {message} FROM {watch} CROSS JOIN message m ON m.seq = d.seq
WHERE w.tenant = ?1 AND w.recipient = ?2 AND w.seq > ?4 AND (?3 IS NULL OR d.claimer = ?3) ORDER BY w.seq LIMIT 500;

-- name: mail_tasks
-- What a recipient was told to do, has seen, and has not acknowledged.
SELECT {delivery}, {message} FROM delivery d CROSS JOIN message m ON m.seq = d.seq
WHERE d.tenant = ?1 AND d.recipient = ?2 AND d.place = {done} AND d.state = 'seen' AND m.type IN ('dispatch', 'assign')
  AND d.seq > ?3 ORDER BY d.seq LIMIT 500;

-- name: recipients_watched
-- Whose programs have seen what somebody asked, and have not answered it.
SELECT DISTINCT d.recipient FROM {watch} CROSS JOIN message m ON m.seq = d.seq
WHERE w.tenant = ?1 AND {program} AND m.sender = ?2 LIMIT 10000;

-- name: watch_insert
INSERT OR IGNORE INTO watched (tenant, recipient, seq) VALUES (?1, ?2, ?3);

-- name: watch_delete
DELETE FROM watched WHERE tenant = ?1 AND recipient = ?2 AND seq = ?3;

-- name: watch_forget
DELETE FROM watched WHERE tenant = ?1 AND seq = ?2
  AND recipient IN (SELECT r.value FROM message m, json_each(m.recipients) r WHERE m.seq = ?2);

-- name: mail_asking
-- The requests that wait in a mailbox, or are offered there.
SELECT {delivery}, {message} FROM delivery d CROSS JOIN message m ON m.seq = d.seq
WHERE d.tenant = ?1 AND d.recipient = ?2 AND (d.place {unread} OR d.place = {offered}) AND m.type = 'request'
  AND d.seq > ?3 ORDER BY d.seq LIMIT 500;

-- name: interrupt_waiting
SELECT EXISTS (SELECT 1 FROM delivery d CROSS JOIN message m ON m.seq = d.seq
               WHERE d.tenant = ?1 AND d.recipient = ?2 AND d.place {waiting} AND m.type = 'interrupt');

-- name: delivery_proven
SELECT EXISTS (
    SELECT 1 FROM (SELECT context, seen_at FROM delivery WHERE tenant = ?1 AND recipient = ?2 AND place = {done} ORDER BY seq DESC LIMIT 100)
    WHERE seen_at IS NOT NULL AND substr(context, 1, length(?3)) = ?3);
