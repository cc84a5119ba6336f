"""Spiders: each decides what to seed and what to follow, and nothing else.

All share one frontier and one way of a document; `base` dispatches the documents of a
visit, whichever spider's worker made the visit.
"""
