"""Validate the documents of a crawl with shapes (SHACL) while it runs.

`follower` follows the log like a store, `validator` validates each document in a
process with limits (`child`), and `findings` keeps and reports the results.
"""
