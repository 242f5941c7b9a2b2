"""What needs a long life: an actor for each agent that is pushed to, sweeps, and who supervises them."""
