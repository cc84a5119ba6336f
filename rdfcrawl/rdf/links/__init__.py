"""Links of documents: which there are, and which are followed.

`policy` finds those in statements and chooses by position, predicate and relation;
`headers` reads the header `Link`, `relations` says which relations count; `filter` says
which URLs the crawl wants.
"""
