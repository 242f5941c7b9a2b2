"""Codex by its app-server: the one that its terminals share, or one of our own."""
