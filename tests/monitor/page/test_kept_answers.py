"""Answers to queries, kept in pages."""

from __future__ import annotations

import json

from rdfcrawl.monitor.page.query_service import PagedAnswer, QueryAnswer

_ROWS = QueryAnswer(kind="rows", variables=("a",), n_rows=3)


def paged() -> PagedAnswer:
    """Return an answer on two pages."""
    pages = [[["a"], ["b"]], [["c"]]]
    return PagedAnswer(_ROWS, [json.dumps(page) for page in pages], 2)


def test_pages_are_numbered_from_one() -> None:
    """If a number is that of no page, then the nearest page is given."""
    found = [paged().page(number) for number in (0, 1, 2, 3)]
    assert [(each.page, each.first, each.n_pages) for each in found] == [
        *((1, 1, 2), (1, 1, 2), (2, 3, 2), (2, 3, 2)),
    ]
    assert found[3].rows == (["c"],)
    assert PagedAnswer(_ROWS, (), 2).page(5) is _ROWS
