-- name: about
SELECT room, version, created_at, (SELECT count(*) FROM message WHERE tenant = ?1),
       (SELECT count(*) FROM event WHERE tenant_id = ?1), (SELECT count(*) FROM delivery WHERE tenant = ?1 AND state = 'dead')
FROM meta;
