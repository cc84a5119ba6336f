"""Looking for what is nested too deeply takes time that is bounded."""

from __future__ import annotations

import time

from rdfcrawl.rdf.contexts import remote_contexts
from rdfcrawl.rdf.nesting import has_long_chain


def test_contexts_that_are_never_closed_are_not_decoded_again_and_again() -> None:
    """If hundreds of contexts end with the document, then that is too deep."""
    document = b'{"@context":[{"a":' * 240 + b"[" + b"1," * 500_000
    begin = time.process_time()
    assert has_long_chain(document)
    assert time.process_time() - begin < 3


def test_only_so_many_contexts_are_looked_at() -> None:
    """If a document has very many long contexts, then its first ones are looked at."""
    remote = b'{"@context":"http://c.example/"},'
    document = b"[" + remote + b'{"@context":[0' * 100_000
    begin = time.process_time()
    assert remote_contexts(document, base="http://e.example/") == ["http://c.example/"]
    assert time.process_time() - begin < 3
