"""Contexts of JSON-LD documents: fetched politely, and kept for all workers."""
