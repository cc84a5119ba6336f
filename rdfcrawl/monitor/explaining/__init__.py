"""Why a URI was fetched, or was not: answers from frontier, provenance and logs.

`explanation.explain` returns a typed value for whoever shows it.
"""
