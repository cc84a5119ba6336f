"""The operations of the frontier that run in Redis."""
