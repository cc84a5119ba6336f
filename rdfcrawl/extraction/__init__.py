"""Convert a document of any format and packing to statements and links.

This package combines `unpack`, `rdf` and `html`, and runs untrusted input in child
processes with limits on time and memory.
"""
