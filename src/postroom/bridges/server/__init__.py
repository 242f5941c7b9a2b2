"""What bridges to agents' own servers have in common."""
