"""Downloader middlewares: thin adapters that see a visit before it is made."""
