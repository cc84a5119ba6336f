"""Tasks: the purpose of a record of the frontier, in addition to its URL.

`pages` has the tasks of pages and dumps, `source` those of sources, with one file for
each protocol; `text` is the union of all, with one codec.
"""
