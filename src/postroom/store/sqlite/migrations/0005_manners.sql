-- When somebody wants to be left alone: muted, quiet hours, digests.
ALTER TABLE agent ADD COLUMN manners TEXT;
