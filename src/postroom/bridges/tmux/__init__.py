"""Agents in tmux: their screens, and what may be typed into them."""
