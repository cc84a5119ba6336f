"""Metrics of all crawls in a Redis, for Prometheus: read, named and served."""
