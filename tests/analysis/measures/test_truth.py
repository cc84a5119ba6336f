"""Measures of crawls of the Data Web, beside counts of what its bodies show."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from html import unescape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.dataweb.evolution.draws import DAY_SECS
from rdfcrawl.dataweb.messages import NodeRequest
from tests.support.evolving_sites import site, truth_of
from tests.support.measuring import (
    count_first_seen,
    iter_coverage,
    judge_lastmod,
    measure_copies,
)
from tests.support.true_facts import KnownFetch, true_facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.dataweb.evolution.node import EvolvingNode

_find_links = re.compile(r'<a[^>]* href="([^"]+)"|<([^>]+)> \.$', re.MULTILINE).finditer
_find_entries = re.compile(
    r"<url><loc>(.*?)</loc>(?:<lastmod>(.*?)</lastmod>)?"
).findall
_find_title = re.compile(rb"Page ([0-9]+), revision ([0-9]+)").search


@dataclass
class BodyReader:
    """A crawler that reads bodies, without any truth, and keeps all that it saw.

    Each of its passes reads all sitemaps and follows all links and entries that are
    not among those it leaves out: every fifth page.
    """

    node: EvolvingNode
    fetches: list[KnownFetch] = field(default_factory=list)
    listed: dict[str, int] = field(default_factory=dict)  # first seen, seconds
    linked: dict[str, int] = field(default_factory=dict)
    pages: dict[str, list[tuple[int, bytes]]] = field(default_factory=dict)
    lastmods: dict[str, list[tuple[int, str]]] = field(default_factory=dict)

    def crawl(self, at: int) -> None:
        """Make one pass at a time of the web."""
        front = f"{self.node.origin}/"
        self.linked.setdefault(front, at)
        number, body = 0, self._get(self._sitemap(0), at)
        while body is not None:
            for url, lastmod in _find_entries(body.decode()):
                self.listed.setdefault(url, at)
                self.lastmods.setdefault(url, []).append((at, lastmod))
            number += 1
            body = self._get(self._sitemap(number), at)
        queue = dict.fromkeys([front, *self.listed, *self.linked])
        visited: set[str] = set()
        while left := [url for url in queue if url not in visited]:
            visited.update(left)
            for url in left:
                if not self._leaves_out(url):
                    queue |= dict.fromkeys(self._visit(url, at))

    def _sitemap(self, number: int) -> str:
        return f"{self.node.origin}/sitemap-{number}.xml"

    def _leaves_out(self, url: str) -> bool:
        return bool(re.search(r"/\d*[37](\?|$)", url)) and "/list/" not in url

    def _visit(self, url: str, at: int) -> Iterator[str]:
        body = self._get(url, at)
        if body is None:
            return
        self.pages.setdefault(url, []).append((at, body))
        for match in _find_links(body.decode()):
            target = unescape(match[1] or match[2])
            target = self.node.origin + target if target[0] == "/" else target
            if not target.startswith("urn:"):
                self.linked.setdefault(target, at)
                yield target

    def _get(self, url: str, at: int) -> bytes | None:
        path = url.removeprefix(self.node.origin)
        answer = self.node.respond_at(NodeRequest("GET", path), at)
        self.fetches.append(KnownFetch(url, at, answer.status))
        return answer.body if answer.status == 200 else None


def crawled_site(seed: int) -> BodyReader:
    """Return what was read of a site in three passes."""
    options: dict[str, Any] = {"duplicates": 0.4, "vanishing": 0.03, "per_sitemap": 100}
    node = site(seed=seed, n_pages=40, rates=(0.0, 0.1, 1.0), births=3.0, **options)
    reader = BodyReader(node)
    for day in (0, 3, 9):
        reader.crawl(int(day * DAY_SECS))
    # What is behind the last sitemap was asked for, too; that is no page of the crawl.
    reader.fetches = [
        one for one in reader.fetches if "sitemap" not in one.url or one.status == 200
    ]
    return reader


SEEDS = [1, 2, 3]


@pytest.mark.parametrize("seed", SEEDS)
def test_coverage_is_what_bodies_show(seed: int) -> None:
    """If a site is crawled, then formulas (1), (2), (3), (5) equal counts of bodies."""
    reader = crawled_site(seed)
    facts = true_facts([reader.node], truth_of(reader.node), reader.fetches)
    (found,) = iter_coverage(facts)
    seen_s, seen_d = set(reader.listed), set(reader.linked)
    crawled = {one.url for one in reader.fetches if "sitemap" not in one.url}
    last = {one.url: one.status for one in reader.fetches}
    group = {  # duplicates have the same number of their page
        url: match[1] if match and last[url] == 200 else url.encode()
        for url in crawled
        for match in [
            _find_title(reader.pages[url][-1][1]) if url in reader.pages else None
        ]
    }
    unique = set(group.values())
    unique_s = {group[url] for url in crawled & seen_s}
    indexed = {one for one in unique if one.isdigit()}
    assert (found.both.seen, found.listed.seen, found.linked.seen) == (
        len(seen_s | seen_d),
        len(seen_s),
        len(seen_d),
    )
    for measure, part, whole in (
        (found.coverage, len(crawled & seen_s), len(crawled)),
        (found.unique_coverage, len(unique_s), len(unique)),
        (found.index_coverage, len(unique_s & indexed), len(indexed)),
        (found.both.signal_to_noise, len(unique), len(seen_s | seen_d)),
    ):
        assert (measure.numerator, measure.denominator) == (part, whole)
        assert measure.value == float(Fraction(part, whole))
        assert 0 < part < whole
    assert len(unique) < len(crawled)


@pytest.mark.parametrize("seed", SEEDS)
def test_first_seen_is_what_bodies_show(seed: int) -> None:
    """If a site is crawled, then formula (6) and its figures equal counts of bodies."""
    reader = crawled_site(seed)
    facts = true_facts([reader.node], truth_of(reader.node), reader.fetches)
    found = count_first_seen(facts)
    both = reader.listed.keys() & reader.linked.keys()
    deltas = [reader.linked[url] - reader.listed[url] for url in both]
    assert found.delta_secs == sum(deltas)
    assert found.n_both == len(both)
    assert found.n_listed_first == sum(1 for delta in deltas if delta > 0) > 0
    assert found.n_linked_first == sum(1 for delta in deltas if delta < 0) > 0
    assert found.listed_days == Counter(at // 86_400 for at in reader.listed.values())
    assert found.linked_days == Counter(at // 86_400 for at in reader.linked.values())


@pytest.mark.parametrize("seed", SEEDS)
def test_lastmods_and_freshness_are_what_bodies_show(seed: int) -> None:
    """If pages are refetched, accuracy of lastmod and freshness equal the bodies'."""
    reader = crawled_site(seed)
    facts = true_facts([reader.node], truth_of(reader.node), reader.fetches)
    accuracy, copies = judge_lastmod(facts, 10_000), measure_copies(facts)
    n_changed = n_claimed = n_both = n_all = 0
    for url, versions in reader.pages.items():
        for (begin, one), (end, other) in pairwise(versions):
            stated = dict(reader.lastmods.get(url, []))
            before, after = stated.get(begin, ""), stated.get(end, "")
            is_claimed = bool(before) and after > before
            after_fetch = f"{reader.node.date(begin):%Y-%m-%dT%H:%M:%SZ}"
            is_claimed |= after > after_fetch
            n_all += 1
            n_changed += one != other
            n_claimed += is_claimed
            n_both += one != other and is_claimed
    assert (accuracy.n_changed, accuracy.n_claimed) == (n_changed, n_claimed)
    assert accuracy.precision.value == n_both / n_claimed
    assert accuracy.recall.value == n_both / n_changed
    assert copies.freshness.value == (n_all - n_changed) / n_all
    assert 0 < n_changed < n_all
