"""Followers: stores that mirror the log of a crawl.

`protocol` specifies a follower, `following` drives one along a log, `ledger` keeps
what a store on this machine contains, and `oxigraph` is the simplest follower.
"""
