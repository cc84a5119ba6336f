"""Benchmarks: each prints figures next to a reference that ran in the same minute.

`make bench` runs them all; `python -m tests.bench.NAME -h` lists the options of one.
"""
