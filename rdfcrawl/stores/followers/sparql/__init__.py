"""Stores with a SPARQL interface: profiles, requests, and the follower.

Everything that the follower knows stands in a graph of the store, so that it goes when
the store is emptied, and several machines share it.
"""
