"""Facts of a domain with the clusters of its pages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rdfcrawl.analysis.measures.domain_clusters import PageContent, with_clusters
from rdfcrawl.analysis.measures.uri_facts import UriFacts, UriFetch, UriListing
from rdfcrawl.rdf.fingerprints import read_sketch
from tests.support.fingerprints import fingerprint_text
from tests.support.measuring import iter_coverage

DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def page(
    url: str,
    text_hash: str = "",
    *,
    content_hash: str = "",
    status: str = "SUCCESSFUL",
    priority: float | None = None,
    is_listed: bool = False,
) -> UriFacts:
    """Return a page that was fetched, with the hash of its text."""
    listing = UriListing(sitemap="map", first_ms=1, priority=priority)
    fetch = UriFetch(
        started_ms=1,
        status=status,
        content_hash=content_hash,
        text_hash=text_hash,
        n_statements=1,
    )
    return UriFacts(
        domain="a.example",
        url=url,
        fetches=(fetch,),
        listings=(listing,) if is_listed else (),
    )


def clusters(
    *facts: UriFacts, contents: dict[str, PageContent] | None = None
) -> list[str]:
    """Return the representative of each page."""
    return [each.cluster for each in with_clusters(facts, contents)]


def test_equal_texts_are_represented_by_the_listed_url() -> None:
    """If pages have one text, then the one that a sitemap lists represents them."""
    pages = (page("a", "1"), page("b-long", "1", is_listed=True), page("c", "2"))
    assert clusters(*pages) == ["b-long", "b-long", ""]
    (found,) = iter_coverage(with_clusters(pages))
    assert (found.both.unique, found.listed.unique) == (2, 1)
    assert found.unique_coverage.value == 0.5


def test_pages_without_text_are_told_by_their_bytes() -> None:
    """If pages show no text, then only those of equal bytes are one cluster."""
    hashes = {"a": "1", "b": "1", "c": "2"}
    no_text = fingerprint_text(" ").text_hash
    pages = [page(url, no_text, content_hash=x) for url, x in hashes.items()]
    assert clusters(*pages) == ["a", "a", ""]


def test_greatest_priority_of_several_sitemaps_counts() -> None:
    """If both pages are listed, then the greater priority decides."""
    low = page("a", "1", is_listed=True, priority=0.1)
    high = page("b", "1", is_listed=True, priority=0.9)
    assert clusters(low, high) == ["b", "b"]


def test_sketches_redirects_and_canonical_links_are_used() -> None:
    """If contents are known, then near-duplicates and redirects are clusters, too."""
    near = "B" + DIGITS[1:]
    contents = {
        "a": PageContent(sketch=read_sketch(DIGITS), canonical="bb"),
        "bb": PageContent(sketch=read_sketch(near)),
        "c": PageContent(redirects_to=("d", "elsewhere")),
    }
    pages = (page("a"), page("bb"), page("c", status="REDIRECTED"), page("d"))
    assert clusters(*pages, contents=contents) == ["bb", "bb", "d", "d"]


@pytest.mark.parametrize("status", ["FAILED", "REDIRECTED"])
def test_failures_are_no_duplicates(status: str) -> None:
    """If pages failed, then their texts are not known, and not equal."""
    assert clusters(page("a", "1", status=status), page("b", "1")) == ["", ""]


def test_unchanged_page_has_the_text_of_before() -> None:
    """If the last fetch was a 304, then the text is that of the fetch before."""
    fetches = (*page("a", "1").fetches, UriFetch(started_ms=2, status="UNCHANGED"))
    again = UriFacts(domain="a.example", url="a", fetches=fetches)
    assert clusters(again, page("b", "1")) == ["a", "a"]


def test_pages_that_were_not_crawled_are_in_no_cluster() -> None:
    """If a URL was only seen, then it has no duplicates, though others lead to it."""
    seen = UriFacts(domain="a.example", url="s")
    contents = {"a": PageContent(redirects_to=("s",))}
    assert clusters(page("a"), seen, contents=contents) == ["", ""]


def test_copies_of_missed_content_are_those_that_clusters_have_not() -> None:
    """If missed pages resemble others or name them as canonical, then copies are known.

    Not of pages that represent the other, of redirects, and of what is listed; and what
    was not read, or is in the same cluster, is no copy.
    """
    less = read_sketch(DIGITS[9::-1] + DIGITS[10:])
    other = DIGITS[::-1]
    contents = {
        "p?listed": PageContent(sketch=read_sketch(DIGITS)),
        "p": PageContent(sketch=less),
        "q": PageContent(sketch=less),
        "long": PageContent(canonical="s"),
        "lost": PageContent(canonical="gone"),
        "one": PageContent(sketch=read_sketch(other)),
        "other": PageContent(sketch=read_sketch(other[:50] + "A" * 14)),
        "moved": PageContent(sketch=less, redirects_to=("q",)),
    }
    pages = (
        page("p?listed", "1", is_listed=True),
        page("p", "2"),
        page("q", "3"),
        page("long", "4"),
        page("s", "5"),
        page("lost", "6"),
        page("gone", status="FAILED"),
        page("one", "7"),
        page("other", "8"),
        replace(page("moved", "9"), redirects_to="q"),
    )
    found = {each.url: each.copies for each in with_clusters(pages, contents)}
    assert {url: some for url, some in found.items() if some} == {
        "q": ("p?listed",),  # which represents p and what redirects to it
        "long": ("s",),
        "other": ("one",),
    }


def test_equal_few_words_of_a_host_are_error_pages() -> None:
    """If five URLs of a host have the same few words alone, then these say nothing.

    Statements, images, more words, another host or fewer URLs speak against it.
    """

    def few(name: str, text: str, *, n: int = 5, host: str = "a.example") -> list[str]:
        urls = [f"http://{host}/{name}/{number}" for number in range(n)]
        texts.update(dict.fromkeys(urls, text))
        return urls

    texts: dict[str, str] = {}
    errors, data, images = few("e", "1"), few("data", "2"), few("images", "3")
    long = few("long", "4")
    few("rare", "5", n=4)
    few("rare", "5", n=4, host="b.example")
    said = few("said", "6", n=1)
    pages = {url: page(url, text) for url, text in texts.items()}
    empty = UriFetch(started_ms=1, text_hash="1")
    for url in pages.keys() - set(data):
        fetch = replace(empty, text_hash=texts[url])
        pages[url] = replace(pages[url], fetches=(fetch,))
    for url in images:
        pages[url] = replace(pages[url], n_images=1)
    pages[said[0]] = replace(pages[said[0]], is_error_page=True)
    sizes = dict.fromkeys(texts, 42) | dict.fromkeys(long, 43)
    contents = {
        url: PageContent(sketch=read_sketch(DIGITS[n] * 64), n_shingles=sizes[url])
        for n, url in enumerate(texts)
    }
    found = {
        x.url for x in with_clusters(list(pages.values()), contents) if x.is_error_page
    }
    assert found == {*errors, *said}


def test_parts_of_longer_pages_are_told() -> None:
    """If a missed page is part of another one, then it has a containment.

    Not of what is listed, a copy, or in one cluster with it.
    """

    def half(n: int, canonical: str = "") -> PageContent:
        """Return half a content: a resemblance of 1/2, and 40 of 80 shingles."""
        sketch = read_sketch(DIGITS[:33] + DIGITS[n] * 31)
        return PageContent(sketch=sketch, n_shingles=40, canonical=canonical)

    contents = {
        "whole": PageContent(sketch=read_sketch(DIGITS), n_shingles=80),
        "part": half(1),
        "listed": half(2),
        "named": half(3, "whole"),
        "other": half(4),
    }
    pages = [page("whole", "1"), page("part", "2"), page("listed", "3", is_listed=True)]
    pages += [page("named", "4"), page("other", "1")]  # its text is that of the whole
    found = {x.url: x for x in with_clusters(pages, contents)}
    shares = {url: x.containment for url, x in found.items() if x.containment}
    assert shares == {"part": 1.0}
    assert found["named"].copies == ("whole",)
