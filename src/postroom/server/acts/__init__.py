"""What each operation of the table does with a room, in siblings: one function each, by its name."""
