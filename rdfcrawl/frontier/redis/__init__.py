"""Redis: addresses, clients, scripts, and the embedded server."""
