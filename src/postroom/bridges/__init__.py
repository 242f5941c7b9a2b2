"""Ways into agents that have no other door, or need a push: each pushes mail into something that runs."""
