"""The provenance of a crawl: a compact record of each activity, and its statements.

`records` has the values, `blocks` their form on disk, `statements` renders them as
N-Quads, and `reading` reads the log.
"""
