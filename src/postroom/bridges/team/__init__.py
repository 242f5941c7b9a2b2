"""Teams of Claude Code: their inboxes, which nothing documents, and their tasks, which are only read."""
