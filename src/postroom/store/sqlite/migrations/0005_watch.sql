-- When somebody wants to be left alone: muted, quiet hours, digests.
ALTER TABLE agent ADD COLUMN manners TEXT;

-- The request watch: what was seen, and whose sender must be told if nothing comes of it. Follows from the state.
CREATE TABLE watched (
    tenant    TEXT NOT NULL,
    recipient TEXT NOT NULL,
    seq       INTEGER NOT NULL,
    PRIMARY KEY (tenant, recipient, seq)
) STRICT, WITHOUT ROWID;

INSERT INTO watched (tenant, recipient, seq)
SELECT d.tenant, d.recipient, d.seq FROM delivery d CROSS JOIN message m ON m.seq = d.seq
WHERE d.place = 10 AND (d.state IN ('seen', 'acked') AND m.type = 'request' OR d.state = 'seen' AND m.address GLOB 'one:*')
  AND NOT EXISTS (SELECT 1 FROM message a
                  WHERE a.tenant = m.tenant AND a.correlation = coalesce(m.correlation, m.id) AND a.correlation IS NOT NULL
                    AND a.seq > m.seq AND instr(m.recipients, '"' || a.sender || '"'));
