"""The DCAT that a portal offers itself, page by page, without loops."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.catalogs.ckan.api import Portal
from rdfcrawl.catalogs.ckan.native import (
    PageFacts,
    PageScan,
    catalogue_urls,
    check_new,
    choose_next,
    dataset_urls,
    following_pages,
    is_catalogue_url,
)
from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.faultlog import FaultLog
from tests.examples import examples

PORTAL = Portal(url="https://h.example/data")
URL = "https://h.example/data/catalog.ttl"
HYDRA = "http://www.w3.org/ns/hydra/core#"
A = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


def facts_of(*lines: str, url: str = URL, n_datasets: int = 1) -> PageFacts:
    """Return the facts of a page with these statements."""
    scan = PageScan(url)
    for number in range(n_datasets):
        one = f"<http://d/{number}> {A} <http://www.w3.org/ns/dcat#Dataset> .\n"
        scan.scan(one.encode())
    for line in lines:
        scan.scan(f"{line} .\n".encode())
    return scan.facts()


def test_where_the_catalogue_is() -> None:
    """If a portal is mounted under a path, then its catalogue is there."""
    assert catalogue_urls(PORTAL)[0] == URL
    assert dataset_urls(PORTAL, "a b")[0] == "https://h.example/data/dataset/a%20b.ttl"
    assert is_catalogue_url(URL + "?page=3")
    assert not is_catalogue_url("https://h.example/catalog.html")


@pytest.mark.parametrize(
    "lines",
    [
        (f"<{URL}?page=1> <{HYDRA}nextPage> <{URL}?page=2>",),
        (f'<{URL}?page=1> <{HYDRA}nextPage> "{URL}?page=2"',),
        (f"_:b0 <{HYDRA}next> <{URL}?page=2>",),
        (
            f"<http://c/> <{HYDRA}view> <{URL}?page=1>",
            f"<{URL}?page=1> <{HYDRA}next> <{URL}?page=2>",
            f"<{URL}?page=7> <{HYDRA}next> <{URL}?page=8>",
        ),
        (
            f"<{URL}> <{HYDRA}next> <{URL}?page=2>",
            f"<{URL}?page=2> <{HYDRA}next> <{URL}?page=3>",
        ),
    ],
)
def test_the_next_page_in_hydra(lines: tuple[str, ...]) -> None:
    """If a page names the next one in any form of Hydra, then it is found."""
    named = following_pages(facts_of(*lines), URL)
    assert named == [f"{URL}?page=2"]


def test_the_next_page_in_a_header() -> None:
    """If only the header `Link` names the next page, then it is taken."""
    header = f'<?page=2>; rel="next", <{URL}?page=9>; rel=last'
    assert following_pages(facts_of(), URL, link_header=header) == [f"{URL}?page=2"]
    assert following_pages(facts_of(), URL) == []


def test_other_pages_of_the_collection_are_not_next() -> None:
    """If a page names first, last and previous, then none of them is next."""
    lines = [
        f"<{URL}> <{HYDRA}{name}> <{URL}?page=9>"
        for name in ("first", "last", "lastPage", "previous", "previousPage")
    ]
    assert facts_of(*lines).following == ()


def choose(named: list[str], url: str = URL, **more: int) -> tuple[str, list[Reason]]:
    """Return the page chosen, and what was wrong."""
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


def test_the_same_datasets_under_a_new_url_are_a_loop() -> None:
    """If any number of page is answered with the same datasets, then it ends."""
    one, two, other = facts_of(), facts_of(url=URL + "?page=2"), facts_of(n_datasets=2)
    assert one.digest == two.digest != other.digest
    check_new(other, {one.digest})
    with pytest.raises(SourceFault) as caught:
        check_new(two, {one.digest})
    assert caught.value.fault.reason is Reason.PAGING_LOOP
    with pytest.raises(SourceFault):
        check_new(facts_of(n_datasets=0), set())


def test_an_endless_catalogue_ends() -> None:
    """If a portal always names one more page, then the walk still ends."""
    digests: set[str] = set()
    visited = {URL}
    url, log = URL, FaultLog()
    for number in range(2, 1000):
        facts = facts_of(
            f"<{url}> <{HYDRA}next> <{URL}?page={number}>",
            url=url,
            n_datasets=min(number, 50),
        )
        if number > 2:
            try:
                check_new(facts, digests)
            except SourceFault:
                break
        digests.add(facts.digest)
        named = following_pages(facts, url)
        url = choose_next(named, url, log, visited=visited, n_pages=len(visited))
        visited.add(url)
    assert number == 51


@given(st.binary(max_size=200), st.text(max_size=40))
@settings(max_examples=examples(200), deadline=None)
def test_any_bytes_are_scanned(data: bytes, header: str) -> None:
    """If a chunk is anything, then nothing is raised and nothing invented."""
    scan = PageScan(URL)
    scan.scan(data)
    scan.scan(f"<a> <{HYDRA}next> ".encode() + data)
    for one in following_pages(scan.facts(), URL, link_header=header):
        choose_next([one], URL, FaultLog(), visited=set(), n_pages=1)
