"""Extract microformats 1 and 2: parsed by mf2py, mapped to RDF by a table."""

from rdfcrawl.rdf.html.microformats.writing import extract_microformats

__all__ = ["extract_microformats"]
