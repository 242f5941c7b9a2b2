"""Agents as children of ours: in a pseudo-terminal, fed line by line, or by a stream of JSON."""
