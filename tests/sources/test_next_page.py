"""The next page of a collection is chosen without loops."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.sources.ckan.api import PortalAddress
from rdfcrawl.sources.paging import choose_next, requestable_pages
from tests.support.examples import examples

PORTAL = PortalAddress(url="https://h.example/data")
URL = "https://h.example/data/catalog.ttl"


def test_where_the_catalogue_is() -> None:
    """If a portal is mounted under a path, then its catalogue is there."""
    assert PORTAL.catalogue_urls[0] == URL


def choose(named: list[str], url: str = URL, **more: int) -> tuple[str, list[Reason]]:
    """Return the chosen page and the faults."""
    log = FaultLog()
    visited = {URL, f"{URL}?page=1"}
    arguments = {"n_pages": 2, **more}
    page = choose_next(named, url, log, visited=visited, **arguments)
    return page, [one.reason for one in log.all()]


def test_a_page_that_was_there_before_is_a_loop() -> None:
    """If the next page is this one or an earlier one, then the walk ends."""
    assert choose([URL]) == ("", [Reason.PAGING_LOOP])
    assert choose([f"{URL}?page=1"], f"{URL}?page=2") == ("", [Reason.PAGING_LOOP])
    assert choose([f"{URL}?page=2"]) == (f"{URL}?page=2", [])
    assert choose([]) == ("", [])


@pytest.mark.parametrize(
    "base",
    [
        "http://h.example",
        "http://localhost:5000",
        "http://ckan:5000",
        "https://other.h",
    ],
)
def test_pages_of_a_portal_behind_a_proxy(base: str) -> None:
    """If the next page is the same path of an inner host, then ours is taken."""
    named = [f"{base}/data/catalog.ttl?page=2"]
    assert choose(named) == (f"{URL}?page=2", [Reason.REPAIRED])


def test_pages_of_other_sites_are_not_followed() -> None:
    """If the next page is another path of another host, then it is left."""
    named = ["https://evil.example/x?page=2"]
    assert choose(named) == ("", [Reason.CROSS_SITE])


def test_too_many_pages() -> None:
    """If there are more pages than the limit, then the walk ends by name."""
    found = choose([f"{URL}?page=2"], max_pages=2)
    assert found == ("", [Reason.TOO_MANY_ENTRIES])


@given(st.lists(st.text(max_size=40)))
@settings(max_examples=examples(200), deadline=None)
def test_any_names_are_taken(named: list[str]) -> None:
    """If a page names anything as next, then nothing is raised."""
    for one in requestable_pages(named, URL):
        choose_next([one], URL, FaultLog(), visited=set(), n_pages=1)
