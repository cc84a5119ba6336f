"""Describe the statements of a crawl in VoID and DCAT.

`scan` reads the documents, `table` aggregates their figures in bounded memory, and
counts distinct terms. `figures` holds the figures of one host or of the crawl,
`vocabularies` writes them as Turtle, and `writing` writes the files.
"""
