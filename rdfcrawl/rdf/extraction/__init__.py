"""Convert documents of any format and packing to statements and links.

Combines `unpack`, `rdf` and `html`; hostile documents are read in child processes.
"""
