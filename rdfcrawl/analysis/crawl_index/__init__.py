"""An index of the logs of a crawl, with positions and sums, in one SQLite file.

One process projects the logs into it while the crawl runs: `building` reads new
members, each tally maintains its tables, and readers query them. The file can be
deleted at any time, and is rebuilt from the logs.
"""
