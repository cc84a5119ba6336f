"""Explain why a URI was fetched or not, from frontier, provenance and logs.

`explanation.explain` returns a typed value.
"""
