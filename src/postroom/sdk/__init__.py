"""Mailboxes for agents that a program runs itself, by the library of whoever made the model."""
