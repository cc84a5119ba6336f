"""Answers to queries, kept in pages."""

from __future__ import annotations

import json

from rdfcrawl.monitor.page.query_service import (
    AnswerKey,
    KeptAnswers,
    PagedAnswer,
    QueryAnswer,
)

_ROWS = QueryAnswer(kind="rows", variables=("a",), n_rows=3)


def paged(n_bytes: int = 0) -> PagedAnswer:
    """Return an answer on two pages, the first of which is long."""
    pages = [[["x" * n_bytes], ["b"]], [["c"]]]
    return PagedAnswer(_ROWS, [json.dumps(page) for page in pages], 2)


def test_pages_are_numbered_from_one() -> None:
    """If a number is that of no page, then the nearest page is given."""
    found = [paged().page(number) for number in (0, 1, 2, 3)]
    assert [(each.page, each.first, each.n_pages) for each in found] == [
        *((1, 1, 2), (1, 1, 2), (2, 3, 2), (2, 3, 2)),
    ]
    assert found[3].rows == (["c"],)
    assert PagedAnswer(_ROWS, (), 2).page(5) is _ROWS


def test_few_answers_are_kept() -> None:
    """If there are many answers, or long ones, then the oldest are forgotten."""
    keys = [AnswerKey("q", 3, number) for number in range(1, 101)]
    few, short = KeptAnswers(), KeptAnswers()
    long = paged(2**23 - paged().n_bytes)  # two are as many bytes as are kept
    for key in keys:
        few.put(key, paged())
        short.put(key, long)
    assert [key.most for key in keys if few.get(key)] == list(range(85, 101))
    assert [key.most for key in keys if short.get(key)] == [99, 100]
