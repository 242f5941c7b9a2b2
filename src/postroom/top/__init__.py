"""The room at a glance, in a terminal: who is stuck and why, what was said, what waits for a person."""
