"""What a crawl has found, described in VoID and DCAT.

`statements` reads the documents, `table` adds up what they say in bounded memory,
`distinct` counts different things, `figures` are those of one host or of the crawl,
`void` and `dcat` write them in Turtle, and `writing` makes the files.
"""
