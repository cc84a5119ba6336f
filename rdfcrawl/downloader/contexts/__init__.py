"""Contexts of JSON-LD documents: fetched politely, cached for all workers."""
