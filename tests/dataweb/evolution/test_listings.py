"""Sitemaps of sites that change: their claims, and their division."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.dataweb.evolution.draws import DAY_SECS
from rdfcrawl.dataweb.evolution.parameters import (
    IndexLastmod,
    LastmodBehaviour,
    SitemapLayout,
)
from rdfcrawl.dataweb.nodes.site import w3c_date
from tests.support.evolving_sites import ask, site

if TYPE_CHECKING:
    from rdfcrawl.dataweb.evolution.node import EvolvingNode

DAYS = st.floats(0, 60)
BUSY: dict[str, Any] = {"n_pages": 30, "rates": (0.0, 0.5), "per_sitemap": 10}


def claims(node: EvolvingNode, day: float) -> dict[str, str]:
    """Return the latest lastmod of each path that the sitemaps of a day list."""
    found: dict[str, str] = {}
    for one in rows(node, "/sitemap.xml", day):
        path = one["loc"].removeprefix(node.origin)
        for row in rows(node, path, day):
            listed = row["loc"].removeprefix(node.origin)
            found[listed] = max(found.get(listed, ""), row.get("lastmod", ""))
    return found


def rows(node: EvolvingNode, path: str, day: float) -> list[dict[str, str]]:
    """Return the entries of a sitemap or an index."""
    answer = ask(node, path, day)
    assert answer.status == 200
    return [
        {part.tag.rpartition("}")[2]: part.text or "" for part in entry}
        for entry in ET.fromstring(answer.body)
    ]


@pytest.mark.parametrize("layout", SitemapLayout)
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), DAYS)
def test_truthful_sitemap_says_when_each_page_changed(
    layout: SitemapLayout, seed: int, day: float
) -> None:
    """If sitemaps are truthful, each URL that they list has its last change."""
    node = site(seed=seed, layouts=(layout,), dropped=0.0, **BUSY)
    at = day * DAY_SECS
    assert claims(node, day) == {
        path.path: w3c_date(node.date(path.page.last_change(at)))
        for path in node.history.paths(at)
        if path.listed.holds(at)
    }


@pytest.mark.parametrize("layout", SitemapLayout)
@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000), DAYS)
def test_late_sitemap_has_the_state_of_days_ago(
    layout: SitemapLayout, seed: int, day: float
) -> None:
    """If sitemaps are late, a change is claimed some days later, with its date."""
    late: Any = {"lastmods": (LastmodBehaviour.LATE,), "delay_days": 3.0}
    node = site(seed=seed, layouts=(layout,), dropped=0.0, **late, **BUSY)
    ago = (day - 3) * DAY_SECS
    found = claims(node, day)
    for path in node.history.paths(day * DAY_SECS):
        if path.path in found:
            then = max(ago, path.page.born)
            told = path.page.last_change(then)
            assert found[path.path] == w3c_date(node.date(told))


def test_lying_sitemaps_are_independent_of_changes() -> None:
    """If lastmod is now, frozen or absent, then changes make no difference to it."""
    now = site(lastmods=(LastmodBehaviour.NOW,), births=0.0, **BUSY)
    assert set(claims(now, 7).values()) == {w3c_date(now.date(7 * DAY_SECS))}
    frozen = site(lastmods=(LastmodBehaviour.FROZEN,), births=0.0, **BUSY)
    assert set(claims(frozen, 7).values()) == {"2024-05-01T00:00:00Z"}
    absent = site(lastmods=(LastmodBehaviour.ABSENT,), **BUSY)
    assert set(claims(absent, 7).values()) == {""}


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), DAYS, DAYS)
def test_full_file_of_a_log_never_changes(seed: int, day: float, other: float) -> None:
    """If sitemaps are a log, then later ones begin with the same full files."""
    node = site(seed=seed, layouts=(SitemapLayout.LOG,), **BUSY)
    first, last = sorted((day, other))
    early = node.listings.files(first * DAY_SECS)
    late = node.listings.files(last * DAY_SECS)
    n_full = sum(1 for one in early if len(one.entries) == 10)
    assert late[:n_full] == early[:n_full]
    for one in early[:n_full]:
        bodies = {ask(node, one.path, at).body for at in (first, last)}
        assert len(bodies) == 1


def test_change_rewrites_all_files_or_one() -> None:
    """If one page changes, then one file of a fixed layout does; else all of them."""
    changed = {}
    for layout in (SitemapLayout.FIXED, SitemapLayout.REWRITTEN):
        node = site(layouts=(layout,), births=0.0, vanishing=0.0, lag_days=0.0, **BUSY)
        # A page of the last file that sitemaps list changes: it goes to the front.
        page = next(
            page
            for page in node.history.pages(0.0)[20:]
            if page.rate and page.paths[0].listed.start == 0
        )
        at = page.changes(60 * DAY_SECS)[0] / DAY_SECS
        before, after = (
            [ask(node, one.path, day).body for one in node.listings.files(0.0)]
            for day in (at - 1e-9, at)
        )
        changed[layout] = [a != b for a, b in zip(before, after, strict=True)]
    assert changed[SitemapLayout.FIXED].count(True) == 1
    assert all(changed[SitemapLayout.REWRITTEN][:2])


def test_index_is_as_truthful_as_configured() -> None:
    """If the index is truthful, it has the changes of its sitemaps; a stale one not."""
    options: Any = {"rates": (1.0,), "n_pages": 20, "births": 0.0, "per_sitemap": 10}
    truthful = site(**options)
    for day in (1, 9):
        files = truthful.listings.files(day * DAY_SECS)
        stated = [row["lastmod"] for row in rows(truthful, "/sitemap.xml", day)]
        assert stated == [w3c_date(truthful.date(one.modified)) for one in files]
        newest = [
            max(row["lastmod"] for row in rows(truthful, f.path, day)) for f in files
        ]
        assert stated == newest
    stale = site(index_lastmods=(IndexLastmod.STALE,), **options)
    assert ask(stale, "/sitemap.xml", 1).body == ask(stale, "/sitemap.xml", 9).body
    absent = site(index_lastmods=(IndexLastmod.ABSENT,), **options)
    assert b"lastmod" not in ask(absent, "/sitemap.xml", 9).body


def test_dropped_pages_leave_the_sitemap_others_stay() -> None:
    """If pages vanish, then the dropped ones are no longer listed."""
    for dropped in (0.0, 1.0):
        node = site(n_pages=60, births=0.0, vanishing=0.1, dropped=dropped)
        listed = {row["loc"] for row in rows(node, "/sitemap-0.xml", 20)}
        gone = {
            node.origin + page.path
            for page in node.history.pages(0.0)
            if page.gone < 20 * DAY_SECS
        }
        assert bool(gone & listed) is (not dropped)


def test_entries_have_the_fields_of_their_site() -> None:
    """If a site states frequency, priority and dates, then all entries have them."""
    node = site(
        has_changefreq=True, has_priority=True, is_day_precise=True, rates=(0.0, 24.0)
    )
    entries = rows(node, "/sitemap-0.xml", 3)
    for row in entries:
        number = int(re.findall(r"/(?:page|data)/(\d+)", row["loc"])[0])
        page = node.history.page(number, 3 * DAY_SECS)
        assert page is not None
        assert row["changefreq"] == ("hourly" if page.rate else "never")
        assert re.fullmatch(r"[01]\.\d", row["priority"])
        assert re.fullmatch(r"2024-05-0\d", row["lastmod"])
    assert len({row["changefreq"] for row in entries}) == 2


def test_behaviours_go_round_the_sites_of_a_web() -> None:
    """If behaviours have several values, then sites of seeds in a row have all."""
    nodes = [site(seed=seed, lastmods=tuple(LastmodBehaviour)) for seed in range(5)]
    assert {node.options.lastmod for node in nodes} == set(LastmodBehaviour)


def test_without_an_index_robots_names_each_sitemap() -> None:
    """If a site has no index, then robots.txt has a line for each of its sitemaps."""
    node = site(has_index=False, n_pages=60, per_sitemap=20)
    assert node.robots.count("Sitemap: http://127.0.0.9/sitemap-") == 3
    assert ask(node, "/sitemap.xml", 0).status == 404
