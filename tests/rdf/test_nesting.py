"""Searching for content that is nested too deeply takes bounded time."""

from __future__ import annotations

from rdfcrawl.rdf.jsonld.contexts import remote_contexts
from rdfcrawl.rdf.nesting import has_long_chain
from tests.support.cpu_time import takes_at_most


def test_contexts_that_are_never_closed_are_not_decoded_again_and_again() -> None:
    """If hundreds of contexts end with the document, then that is too deep."""
    document = b'{"@context":[{"a":' * 240 + b"[" + b"1," * 500_000
    with takes_at_most(15):
        assert has_long_chain(document)


def test_only_so_many_contexts_are_looked_at() -> None:
    """If a document has very many long contexts, then its first ones are looked at."""
    remote = b'{"@context":"http://c.example/"},'
    document = b"[" + remote + b'{"@context":[0' * 100_000
    with takes_at_most(15):
        found = remote_contexts(document, base="http://e.example/")
    assert found == ["http://c.example/"]
