"""opencode by its own server: the one of its terminal, or one that is our child."""
