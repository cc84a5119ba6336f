"""Validate the documents of a crawl with shapes (SHACL) while it runs.

`follower` follows the log like a store, and keeps and reports the findings; `validator`
validates each document in a process with limits (`child`).
"""
