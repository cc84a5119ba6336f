"""Stores with a SPARQL interface: profiles, requests, and the follower.

All state of the follower is in a graph of the store, so emptying the store deletes it,
and several machines share it.
"""
