"""Ways into agents that need a program of ours beside them."""
