"""Extract RDFa 1.1 and 1.0 in one pass: no recursion, bounded output."""

from rdfcrawl.rdf.html.rdfa.extracting import extract_rdfa

__all__ = ["extract_rdfa"]
