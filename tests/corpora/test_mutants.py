"""A small error in a document costs no more than is counted."""

from __future__ import annotations

from typing import Final

import pytest

from tests.corpora.mutants import DOCUMENTS, Document
from tests.corpora.radius import silent_drops

EVERY: Final = 3  # `python -m tests.corpora --mutants` reads all
LEAST: Final = 30  # read of each document


@pytest.mark.in_turn(3, rooms=("rdf",))
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_an_error_drops_nothing_in_silence(document: Document) -> None:
    """If a token or a term is wrong, then each lost statement has a fault."""
    n, drops = silent_drops(document, EVERY)
    assert n >= LEAST
    report = "\n".join(f"{name}:\n{'  '.join(of)}" for name, of in drops.items())
    assert not drops, f"{len(drops)} of {n} mutants:\n{report}"
