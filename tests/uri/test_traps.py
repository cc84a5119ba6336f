"""URLs that are made up for ever, and those of large sites, which are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.uri.traps import (
    MAX_CACHED,
    LinkVerdict,
    TrapLimits,
    UrlForms,
    form_of,
    is_endless,
)
from tests.support.cpu_time import takes_at_most

LIMITS = TrapLimits()
OFF = TrapLimits(repeats=0, segments=0, of_form=0)


@pytest.mark.parametrize(
    "rest",
    [
        "/a/a/a/a/",
        "/x/a/b/a/b/a/b/a/b",
        "/x/a/b/c/a/b/c/a/b/c/a/b/c/index.html?q=1",
        "/de/foo/de/foo/de/foo/de/foo/de/foo",
        "/" + "/".join(f"s{n}" for n in range(41)),
        "/en/news/en/about/news/news/about/en/about/en",
        "/search?s=ab&s=ab&s=ab&s=ab&s=ab",
        "/search?" + "&".join(f"f{n}={n}" for n in range(41)),
    ],
)
def test_urls_that_grow(rest: str) -> None:
    """If runs of a path or parameters occur too often, then a URL is endless."""
    assert is_endless(f"https://a.example{rest}", LIMITS)
    assert not is_endless(f"https://a.example{rest}", OFF)


@pytest.mark.parametrize(
    "rest",
    [
        "/",
        "/resource/100000",
        "/a/a/a",
        "/a/b/a/b/a/b",
        "/2031/01/01/01/01/01/01",
        "/1/1/1/1/1/1",
        "/a/a/a/ab/c/d",
        "/" + "/".join(f"s{n}" for n in range(30)),
        "/sparql?query=a&default-graph-uri=b&format=c&timeout=d&x=e&y=f",
        "/m/i/s/s/i/s/s/i/p/p/i",
        "/en/data/en/page/data/en/page",
        "/x?path=/a/a/a/a/a/a/a",
        "/tree/c/a/t/e/g/o/r/y",
    ],
)
def test_urls_of_honest_sites(rest: str) -> None:
    """If a URL is long, deep or regular as those of sites with data, it is fine."""
    assert not is_endless(f"https://a.example{rest}", LIMITS)


@given(st.lists(st.sampled_from(["a", "b", "", "1", "cc"]), max_size=60))
def test_any_path_is_judged(segments: list[str]) -> None:
    """If a path is a run of one segment with letters four times, it is endless."""
    url = "https://a.example/" + "/".join(segments)
    text = "/" + "/".join(segments) + "/"
    grows = any(f"/{x}" * 4 + "/" in text for x in ("a", "b", "cc"))
    assert is_endless(url, LIMITS) or not grows


def test_forms_of_urls() -> None:
    """If URLs differ in numbers, keys or sessions, then they have one form."""
    urls = [
        "https://a.example/item/1?page=2",
        "https://a.example/item/20?page=345",
    ]
    assert len(set(map(form_of, urls))) == 1
    keys = [
        "https://a.example/p?s=0af7651916cd43dd8448eb211c80319c",
        "https://a.example/p?s=b7ad6b7169203331a0f9e1d2c3b4a596",
        "https://a.example/p?s=10a20b30c40d5060708090a011223344",
    ]
    assert len(set(map(form_of, keys))) == 1
    assert form_of("https://a.example/about") != form_of("https://a.example/news")


def test_long_word_is_looked_at_once() -> None:
    """If a URL has one very long word, then its form takes no longer than others'."""
    word = "a-" * 1000
    with takes_at_most(1.0):
        forms = {form_of(f"https://a.example/{n}/2/3/4/5/{word}") for n in range(400)}
    assert forms == {f"https://a.example/#/#/#/#/#/{word}"}


def test_large_forms_differ_from_small_ones() -> None:
    """If a host has very many URLs of one form, then others of it are not of it."""
    forms = UrlForms(TrapLimits(of_form=10))
    found = [forms.is_large(f"https://a.example/r/{n}") for n in range(40)]
    assert found[-1]
    assert not any(found[:10])
    assert not forms.is_large("https://a.example/about")
    assert not forms.is_large("https://b.example/r/1")
    judged = [
        forms.judge(f"https://b.example/r/{n}", "b.example", "") for n in range(20)
    ]
    assert judged == [LinkVerdict.ORDINARY] * 19 + [LinkVerdict.LATER]
    never = UrlForms(OFF)
    assert not any(never.is_large(f"https://a.example/r/{n}") for n in range(40))


def test_hosts_without_number_are_not_all_remembered() -> None:
    """If a crawl meets ever more hosts, then the first ones are forgotten."""
    forms = UrlForms(TrapLimits(of_form=1))

    def verdict(host: str) -> LinkVerdict:
        return forms.judge(f"https://{host}/", host, "")

    assert [verdict("a.example") for _ in range(3)][2] is LinkVerdict.LATER
    found = {verdict(f"{n}.example") for n in range(MAX_CACHED)}
    assert found == {LinkVerdict.ORDINARY}
    assert verdict("a.example") is LinkVerdict.ORDINARY


@pytest.mark.parametrize("rest", ["/a/b/c", "/?a=1&b=2&c=3"])
def test_few_segments_may_be_allowed(rest: str) -> None:
    """If fewer segments are allowed than repeats, then that still holds."""
    assert is_endless(f"https://a.example{rest}", TrapLimits(segments=2))
    assert not is_endless(f"https://a.example{rest}", TrapLimits(segments=3))
