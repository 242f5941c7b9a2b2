-- What a runtime says of its session, and sessions found by the process that hosts them.
ALTER TABLE session ADD COLUMN details TEXT;  -- what its runtime's routes need: JSON

CREATE INDEX session_process ON session (tenant, process) WHERE ended_at IS NULL;
