"""A synthetic Data Web on loopback: the demo, the end-to-end tests, the benchmark.

It has the shape that the ORCA benchmark (Röder et al., ICSC 2021) gives its web:
dereferencing, CKAN, SPARQL, dump and RDFa nodes, each a host of its own, linked by
preferential attachment, generated from one seed. `process.run_dataweb` runs it in a
process of its own; `recall` judges the result of a crawler. The extended profile has
the other sources of RDF too, and `local.LocalWeb` serves single nodes to tests.
"""
