"""Which remembered datasets are gone: piecewise, and never all by mistake."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.codec import encode
from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.source_tasks import CkanStep
from rdfcrawl.sources.ckan.plan import (
    check_listing,
    iter_confirmations,
)
from tests.support.examples import examples


@pytest.mark.parametrize(
    ("n_listed", "count", "is_refused"),
    [
        (10_000, None, False),
        (10_000, 20_000, True),
        (18_000, 20_000, False),
        (30_000, 20_000, False),
        (0, 0, False),
    ],
)
def test_a_listing_that_is_not_believed(
    n_listed: int, count: int | None, *, is_refused: bool
) -> None:
    """If a listing has far less than the portal counts, then it is a fault."""
    if not is_refused:
        check_listing(n_listed=n_listed, count=count)
        return
    with pytest.raises(SourceFault) as caught:
        check_listing(n_listed=n_listed, count=count)
    assert caught.value.fault.reason is Reason.INCOMPLETE


@given(st.lists(st.text(min_size=1, max_size=100), max_size=60), st.booleans())
@settings(max_examples=examples(100), deadline=None)
def test_every_missing_one_is_confirmed_once(ids: list[str], by_search: bool) -> None:
    """If ids are anything, then tasks have each once, and are short enough."""
    tasks = list(iter_confirmations(ids, by_search=by_search))
    assert [one for task in tasks for one in task.ids] == ids
    for task in tasks:
        assert task.step is CkanStep.CONFIRM
        assert task.is_alone != by_search
        assert len(task.ids) <= (20 if by_search else 1)
        assert len(encode(task)) <= 2048
