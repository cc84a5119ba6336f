"""Contexts of JSON-LD that are read without a request."""
