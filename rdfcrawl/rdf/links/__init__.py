"""Links of documents.

`policy` finds links in statements and selects them by position, predicate and relation;
`headers` parses the header `Link`; `outlinks` collects links for the log of links.
"""
