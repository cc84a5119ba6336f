"""Fingerprints of texts and statements as the crawl makes them."""

from __future__ import annotations

from rdfcrawl.rdf.fingerprints import (
    Fingerprint,
    bare_statements,
    fingerprint_normal,
    fingerprint_words,
    normal_statements,
    words_of,
)
from rdfcrawl.rdf.output import without_labels


def fingerprint_text(text: str) -> Fingerprint:
    """Return the fingerprint of a text; case and white space are ignored."""
    return fingerprint_words(words_of(text))


def fingerprint_statements(
    chunk: bytes, graph: str, *, has_graphs: bool = True
) -> Fingerprint:
    """Return the fingerprint of a set of canonical statements, in any order.

    Without `has_graphs`, they are N-Triples, all in the graph of the document.
    """
    bare = bare_statements(chunk, graph) if has_graphs else without_labels(chunk)
    return fingerprint_normal(normal_statements(bare, graph))
