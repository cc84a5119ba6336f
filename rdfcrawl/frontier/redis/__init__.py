"""Redis: addresses, clients, scripts, the embedded server, what is kept of it."""
