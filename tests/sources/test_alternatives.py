"""Which files have the same data, and what URI spaces cover."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.sources.access import space_of, space_of_pattern
from rdfcrawl.sources.alternatives import group_alternatives
from tests.support.examples import examples

A = "http://a.example"


@pytest.mark.parametrize(
    ("names", "groups"),
    [
        (["/x.rdf", "/x.ttl.gz", "/x.nt"], [["/x.nt", "/x.ttl.gz", "/x.rdf"]]),
        (["/x.nt", "/x.nt.bz2"], [["/x.nt.bz2", "/x.nt"]]),
        (["/part-1.nt", "/part-2.nt"], [["/part-1.nt"], ["/part-2.nt"]]),
        (["/en.1.nt.gz", "/de.1.nt.gz"], [["/en.1.nt.gz"], ["/de.1.nt.gz"]]),
        (["/a/x.nt", "/b/x.ttl"], [["/a/x.nt"], ["/b/x.ttl"]]),
        (
            ["/e?id=1&format=rdf", "/e?id=1&format=text%2Fturtle", "/e?id=2&format=nt"],
            [["/e?id=1&format=text%2Fturtle", "/e?id=1&format=rdf"],
             ["/e?id=2&format=nt"]],
        ),
        (["/x.2024", "/x.2025"], [["/x.2024"], ["/x.2025"]]),
        (["/X.TTL", "/X.NT"], [["/X.NT", "/X.TTL"]]),
        ([], []),
    ],
)  # fmt: skip
def test_files_that_differ_in_format_alone_are_alternatives(
    names: list[str], groups: list[list[str]]
) -> None:
    """If URLs differ in format and packing alone, then they are of one group."""
    found = group_alternatives(A + name for name in names)
    assert [list(group) for group in found] == [[A + x for x in g] for g in groups]


@given(st.lists(st.text(st.characters(codec="ascii"), max_size=12), max_size=6))
@settings(max_examples=examples(300), deadline=None)
def test_no_url_is_lost_or_invented(names: list[str]) -> None:
    """If URLs are of any form, then each is in one group, unchanged."""
    urls = [f"{A}/{name}" for name in names]
    try:
        list(map(urlsplit, urls))
    except ValueError:
        return
    found = [url for group in group_alternatives(urls) for url in group]
    assert sorted(found) == sorted(set(urls))


@pytest.mark.parametrize(
    ("text", "space"),
    [
        (f"{A}/r/", f"{A}/r/"),
        (f"{A}/r", f"{A}/r"),
        (A, ""),  # of a.example.org as well
        (f"{A}/r#", ""),
        ("urn:x:", ""),
        ("", ""),
    ],
)
def test_space_is_a_prefix_of_urls(text: str, space: str) -> None:
    """If a URI space is of URLs on one host, then it is a prefix of them."""
    assert space_of(text) == space


@pytest.mark.parametrize(
    ("pattern", "space"),
    [
        (r"^http://a\.example/r/.*", f"{A}/r/"),
        (r"^http://a\.example/r/.+$", f"{A}/r/"),
        (r"^http://a\.example/r/(.*)$", f"{A}/r/"),
        (r"http:\/\/a\.example\/r\/", f"{A}/r/"),
        (r"^http://a\.example/r/[0-9]+$", ""),
        (r"^http://a\.example/r/\d+", ""),
        (r"^http://a\.example/r/$", ""),
        (r"^http://(a|b)\.example/.*", ""),
        (r"^http://.*", ""),
        (".*", ""),
        ("", ""),
        ("(" * 1000, ""),
    ],
)
def test_pattern_counts_only_if_it_is_a_prefix(pattern: str, space: str) -> None:
    """If a pattern matches less than all with a prefix, then it covers nothing."""
    assert space_of_pattern(pattern) == space
