"""Agents in the panes of tmux."""
