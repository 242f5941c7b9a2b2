"""Wiring agent CLIs to a room: edits of their configuration that can be shown, repeated and undone."""
