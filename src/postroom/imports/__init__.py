"""Bringing in what other tools have: read, planned and shown first; written when that is agreed to."""
