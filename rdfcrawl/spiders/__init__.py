"""Spiders: each decides what to seed and what to follow.

All spiders share one frontier and one pipeline of documents; `base` dispatches the
documents of a visit of any spider.
"""
