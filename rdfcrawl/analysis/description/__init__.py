"""Describe the statements of a crawl in VoID and DCAT.

`statements` reads the documents, `table` aggregates their figures in bounded memory,
`distinct` counts distinct terms, `figures` holds the figures of one host or of the
crawl, `void` and `dcat` write them as Turtle, and `writing` writes the files.
"""
