"""Judge what a crawl has stored by shapes (SHACL), beside the crawl.

`follower` follows the log as a store does, `validator` has each document judged in a
bounded process (`child`), and `findings` keeps and reports what was found.
"""
