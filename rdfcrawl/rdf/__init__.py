"""RDF bytes to N-Quads bytes: one `parse.parse()` for all formats.

Pure, except `rdf.extraction`: no module imports Scrapy or Redis or opens the network.
`rdf.extraction.sandbox` runs the same parser in a bounded child process, for large
documents.
"""
