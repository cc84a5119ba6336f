"""A document's bytes to statements and links, whatever they are and are packed in.

The room puts `unpack`, `rdf` and `html` together, and runs what must not be trusted
with the worker's time and memory in child processes.
"""
