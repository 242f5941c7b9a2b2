"""The room over HTTP: REST, events, the page. Only the daemon loads it, and only where it serves."""
