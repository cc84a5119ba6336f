"""Realistic documents for benchmarks, the same in each run.

`resources` describes things as they are on the Web of Data, `writers` writes them in a
syntax, `pages` makes HTML pages, `archives` packs dumps, `server` serves all of them on
as many hosts as a benchmark needs.
"""
