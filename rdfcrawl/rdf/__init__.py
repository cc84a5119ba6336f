"""RDF bytes to N-Quads bytes: one `parse.parse()` for all formats.

Pure: no module here imports Scrapy or Redis or opens the network. `sandbox` runs
the same parse in a bounded child process, for what is too large to be read inside
of the worker.
"""
