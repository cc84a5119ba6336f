"""Spiders: each decides what to seed and what to follow, and nothing else.

All share one frontier and one way of a document; `base` dispatches what a visit
brought back, whatever spider's worker made the visit.
"""
