"""Benchmarks: each prints figures beside a reference that ran in the same minute.

`make bench` runs them all; `python -m tests.bench.NAME -h` tells the options of one.
"""
