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
    check_missing,
    iter_confirmations,
)
from tests.support.examples import examples


@pytest.mark.parametrize(
    ("n_listed", "n_known", "count", "reason"),
    [
        (0, 20_000, None, Reason.BAD_ANSWER),
        (9_999, 20_000, None, Reason.BAD_ANSWER),
        (10_000, 20_000, None, None),
        (10_000, 20_000, 20_000, Reason.INCOMPLETE),
        (18_000, 20_000, 20_000, None),
        (30_000, 20_000, 20_000, None),
        (0, 20, None, None),
        (0, 21, None, Reason.BAD_ANSWER),
        (0, 0, 0, None),
    ],
)
def test_a_listing_that_is_not_believed(
    n_listed: int, n_known: int, count: int | None, reason: Reason | None
) -> None:
    """If a listing has far less than is known or counted, then it is a fault."""
    if reason is None:
        check_listing(n_listed=n_listed, n_known=n_known, count=count)
        return
    with pytest.raises(SourceFault) as caught:
        check_listing(n_listed=n_listed, n_known=n_known, count=count)
    assert caught.value.fault.reason is reason


def test_more_are_missing_than_can_have_been_deleted() -> None:
    """If more than the share is missing, then it is a fault, but of a small portal."""
    check_missing(n_missing=50, n_known=100)
    check_missing(n_missing=20, n_known=20)
    with pytest.raises(SourceFault) as caught:
        check_missing(n_missing=51, n_known=100)
    assert caught.value.fault.reason is Reason.BAD_ANSWER


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
