-- name: about
SELECT room, version, created_at, (SELECT count(*) FROM message WHERE tenant = ?1),
       (SELECT count(*) FROM event WHERE tenant_id = ?1), (SELECT count(*) FROM agent a JOIN delivery d ON d.recipient = a.id
                                                                       WHERE a.tenant = ?1 AND d.tenant = ?1 AND d.place = {dead})
FROM meta;
