"""Followers: stores that are kept equal to what a crawl has in its log.

`protocol` says what a follower is, `following` drives one along a log, `ledger` keeps
what a store on this machine has taken, and `oxigraph` is the first of them.
"""
