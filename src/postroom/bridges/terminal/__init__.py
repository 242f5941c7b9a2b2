"""What every terminal has, whoever emulates it: a screen that is read, a gate, and a typist who obeys it."""
