-- Which messages name files, so that those of nobody are found without reading every message.
CREATE INDEX message_attached ON message (seq) WHERE attachments IS NOT NULL;  -- whose files are in use, whosever they are
