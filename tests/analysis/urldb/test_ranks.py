"""URIs are ranked as the logs say, in bounded memory, and the same each time."""

from __future__ import annotations

import fcntl
import random
import shutil
import tempfile
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.analysis.ranking.table import FOLDER, TABLE_NAME, RankTable
from rdfcrawl.analysis.urldb import rank_graph
from rdfcrawl.analysis.urldb.building import build
from rdfcrawl.analysis.urldb.database import UrlDatabase
from rdfcrawl.analysis.urldb.rank_building import rank, weights_of
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.namespaces import RC
from rdfcrawl.core.records import RankScore
from rdfcrawl.uri import fingerprint
from tests.analysis.urldb.test_building import made_events, run_until
from tests.support.domain_graph import DomainGraph
from tests.support.exact_ranks import exact_ranks
from tests.support.examples import examples
from tests.support.url_events import (
    NORMAL,
    T0,
    LinksFound,
    ListedUrl,
    SitemapRead,
    UrlEvent,
    UrlFetched,
    write_events,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SITES = ("http://a.example", "http://b.example")
PAGES = st.builds("{}/{}".format, st.sampled_from(SITES), st.integers(0, 6))
SITEMAPS = st.builds("{}/s{}.xml".format, st.sampled_from(SITES), st.integers(0, 2))
TIMES = st.integers(T0, T0 + 5)
ENTRIES = st.builds(
    ListedUrl, PAGES, priority=st.sampled_from([None, None, 0.1, 0.8, 1.0])
)
EVENTS = st.lists(
    st.one_of(
        st.builds(
            LinksFound, PAGES, st.integers(T0, T0 + 5), st.lists(PAGES).map(tuple)
        ),
        st.builds(
            SitemapRead,
            SITEMAPS,
            st.integers(T0, T0 + 5),
            st.lists(ENTRIES, min_size=1, unique_by=lambda x: x.url).map(tuple),
        ),
    ),
    min_size=1,
    max_size=25,
    unique_by=lambda event: (event.url, event.ms),
)


def ranked(root: Path, events: Sequence[UrlEvent], **options: Any) -> RankTable:
    """Return the scores of a crawl in which this has happened."""
    write_events(root, events)
    build(root, NORMAL)
    return rank(root, **options).table


def scores(table: RankTable, urls: Sequence[str], name: RankScore) -> list[float]:
    """Return a score of each URL, all of which are known."""
    found = [table.score(fingerprint(url), name) for url in urls]
    return [x for x in found if x is not None] if None not in found else []


def by_last(events: Sequence[Any], kind: type[Any]) -> dict[str, Any]:
    """Return the last event of a kind for each URL."""
    ordered = sorted(events, key=lambda event: event.ms)
    return {each.url: each for each in ordered if isinstance(each, kind)}


def dense_pagerank(links: Mapping[str, set[str]], urls: Sequence[str]) -> list[float]:
    """Return PageRank by a matrix of all pairs, to machine precision."""
    n, place = len(urls), {url: number for number, url in enumerate(urls)}
    matrix = np.full((n, n), 1 / n)
    for source, targets in links.items():
        if inside := [place[x] for x in targets if x != source]:
            matrix[:, place[source]] = 0
            matrix[inside, place[source]] = 1 / len(inside)
    return list(np.linalg.solve(np.eye(n) - 0.85 * matrix, np.full(n, 0.15 / n)))


@settings(max_examples=examples(60), deadline=None)
@given(EVENTS)
def test_ranks_are_those_of_the_whole_graph(events: list[UrlEvent]) -> None:
    """If logs have links and sitemaps, then scores equal those of graphs in memory."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(rank_graph, "_CHUNK_BYTES", 64)
        table = ranked(Path(name) / "crawl", events, memory_bytes=2000)
        with UrlDatabase(Path(name) / "crawl") as database:
            urls = [record.url for record in database.records()]
    documents, lists = by_last(events, LinksFound), by_last(events, SitemapRead)
    # A document that nothing links to or lists is known by its links alone: no URI.
    links = {
        url: set(each.targets) for url, each in documents.items() if url in set(urls)
    }
    wanted = dense_pagerank(links, urls) if urls else []
    linked = {x for url, targets in links.items() for x in targets - {url}}
    expected = [x if url in linked else 0 for url, x in zip(urls, wanted, strict=True)]
    assert scores(table, urls, RankScore.PAGERANK) == pytest.approx(expected, abs=1e-5)
    n_incoming = [sum(x in to - {u} for u, to in links.items()) for x in urls]
    assert scores(table, urls, RankScore.INLINKS) == n_incoming
    for site in SITES:
        own = [url for url in urls if url.startswith(site)]
        # Without sitemaps, a front page that nothing leads to is no node.
        has_sitemap = any(url.startswith(site) for url in lists)
        graph = DomainGraph(f"{site}/" if has_sitemap or not own else own[0])
        for url in own:
            graph.add_page(url, [x for x in links.get(url, ()) if x.startswith(site)])
        for url, each in lists.items():
            if url.startswith(site):
                graph.add_top_sitemap(url)
                inside = [x for x in each.entries if x.url.startswith(site)]
                graph.add_sitemap(url, {x.url: x.priority for x in inside})
        known = graph.priority_rank()
        assert scores(table, own, RankScore.PRIORITYRANK) == pytest.approx(
            [known[url] for url in own], abs=1e-5
        )


A, B, C, D = (f"{SITES[0]}/{name}" for name in "abcd")


def inlinks(table: RankTable, *urls: str) -> list[float | None]:
    """Return the number of incoming links of each URL; None if unknown."""
    return [table.score(fingerprint(url), RankScore.INLINKS) for url in urls]


def test_which_links_count(tmp_path: Path) -> None:
    """If a document changes its links, then those of its last version count.

    Links to itself count for nothing, nor those without its vouching, in any spelling.
    """
    events: list[UrlEvent] = [
        LinksFound(
            A, T0 + 9, (A, B, f"{B}?sid=1", "urn:isbn:1", "HTTP://A.example:80/b")
        ),
        LinksFound(A, T0, (C, D)),
        LinksFound(B, T0, (A,)),
        LinksFound(C, T0, (B, D), f"{RC}nofollow"),
    ]
    table = ranked(tmp_path, events)
    assert inlinks(table, A, B, C, D) == [1, 1, 0, 0]
    assert table.facts["n_links"] == 2
    assert inlinks(table, "http://unknown.example/") == [None]
    assert table.scores(0) is None


def test_links_to_redirects(tmp_path: Path) -> None:
    """If a URI redirects, then it has one link, to the end."""
    other, end = f"{SITES[1]}/other", f"{SITES[0]}/unknown"
    events: list[UrlEvent] = [
        LinksFound(A, T0, (B, C, D)),
        UrlFetched(B, T0, target=C),
        UrlFetched(D, T0, target=end),
        LinksFound(end, T0, (A, D)),
        UrlFetched(other, T0 + 1, chain=(f"{SITES[0]}/away",)),
        LinksFound(C, T0, (f"{SITES[0]}/away",)),
    ]
    table = ranked(tmp_path, events)
    assert inlinks(table, A, B, C, D, end) == [1, 1, 2, 2, 1]
    assert inlinks(table, f"{SITES[0]}/away", other) == [1, 1]


def test_priority_rank_by_the_equations(tmp_path: Path) -> None:
    """If priorities are stated, then four nodes have the ranks of the equations.

    Nodes: 0 front page, 1 page, 2 sitemap, 3 listed page without in-links.
    """
    root, sitemap = f"{SITES[0]}/", f"{SITES[0]}/map.xml"
    entries = ListedUrl(A, priority=0.2), ListedUrl(B, priority=0.6)
    events: list[UrlEvent] = [
        LinksFound(root, T0, (A, root)),
        LinksFound(A, T0, (root,)),
        SitemapRead(sitemap, T0, entries),
    ]
    weights = {
        0: {1: Fraction(1, 2), 2: Fraction(1, 2)},
        1: {0: Fraction(1)},
        2: {1: Fraction(1, 4), 3: Fraction(3, 4)},
    }
    found = scores(
        ranked(tmp_path, events), [root, A, sitemap, B], RankScore.PRIORITYRANK
    )
    assert found == pytest.approx(exact_ranks(weights, 4), abs=1e-6)


def test_indexes_and_dropped_entries(tmp_path: Path) -> None:
    """If an index lists sitemaps, then only it is linked from the front page.

    What a sitemap lists no more, or on another domain, gets nothing from it.
    """
    index, child = f"{SITES[0]}/index.xml", f"{SITES[0]}/child.xml"
    events: list[UrlEvent] = [
        SitemapRead(index, T0, (ListedUrl(child, is_sitemap=True),)),
        SitemapRead(child, T0, (ListedUrl(A), ListedUrl(B))),
        SitemapRead(child, T0 + 9, (ListedUrl(B), ListedUrl(f"{SITES[1]}/"))),
        UrlFetched(child, T0 + 20, 304),
        UrlFetched(f"{SITES[0]}/robots.txt", T0, facts=(("task", "robots()"),)),
    ]
    table = ranked(tmp_path, events)
    graph = DomainGraph("front")
    graph.add_page(A)
    graph.add_index(index, [child])
    graph.add_top_sitemap(index)
    graph.add_sitemap(child, {B: None})
    known = graph.priority_rank()
    names = [A, B, index, child]
    assert scores(table, names, RankScore.PRIORITYRANK) == pytest.approx(
        [known[each] for each in names], abs=1e-6
    )
    assert inlinks(table, f"{SITES[0]}/robots.txt") == [None]


def test_level_among_the_pages_of_a_host(tmp_path: Path) -> None:
    """If pages of a host are linked to more than others, then they have higher levels.

    Sitemaps and other hosts do not count, nor do equal scores.
    """
    pages = [f"{SITES[0]}/{n}" for n in range(20)]
    events: list[UrlEvent] = [
        LinksFound(f"{SITES[1]}/{n}", T0, tuple(pages[n:])) for n in range(20)
    ]
    others = tuple(f"{SITES[1]}/{n}" for n in range(20))
    events.append(LinksFound("http://c.example/", T0, others))
    events.append(SitemapRead(f"{SITES[0]}/map.xml", T0, (ListedUrl(pages[0]),)))
    table = ranked(tmp_path, events)

    def levels(urls: Sequence[str]) -> list[int | None]:
        return [table.level(fingerprint(url), RankScore.INLINKS) for url in urls]

    assert levels(pages) == [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4 + [4] * 3 + [5]
    assert set(levels(others)) == {2}
    assert levels(["http://new.example/"]) == [None]


def ranks_of(root: Path) -> dict[str, bytes]:
    """Return the content of the folder of the ranks."""
    folder = root / FOLDER
    paths = folder.iterdir() if folder.is_dir() else ()
    return {path.name: path.read_bytes() for path in paths}


def test_kill_at_each_step_leaves_the_ranks_before_or_after(tmp_path: Path) -> None:
    """If a ranking is killed at any step, then nothing else is left.

    The next one writes the same bytes, and one after it nothing.
    """
    root = tmp_path / "crawl"
    write_events(root, made_events(random.Random(3), n_events=40, n_urls=30))
    build(root, NORMAL)
    whole = tmp_path / "whole"
    shutil.copytree(root, whole)
    rank(whole)
    step = n_before = 0
    while True:
        part = tmp_path / "part"
        shutil.copytree(root, part)
        ranking = partial(rank, part, memory_bytes=2000, scratch=part)
        was_killed = run_until(step, ranking)
        left = {path.name for path in part.iterdir()}
        assert left <= {"quads", "provenance", "links", "urldb", FOLDER}
        found = ranks_of(part).get(TABLE_NAME)
        n_before += found is None
        assert found in (None, ranks_of(whole)[TABLE_NAME])
        assert rank(part).is_new == (found is None)
        assert ranks_of(part) == ranks_of(whole)
        assert not rank(part).is_new
        shutil.rmtree(part)
        if not was_killed:
            break
        step += 1
    assert n_before > 5


def test_rank_is_refused_if_another_runs_or_the_table_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a ranking runs for long, or its file is damaged, then one line says so."""
    with pytest.raises(ConfigError, match="run `urldb build`"):
        rank(tmp_path)
    table = ranked(tmp_path, [UrlFetched(A, T0), LinksFound(A, T0, (B,))])
    write_events(tmp_path, [LinksFound(B, T0, (C,))], "x")
    build(tmp_path, NORMAL)
    with (tmp_path / FOLDER / "lock").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        monkeypatch.setattr("rdfcrawl.analysis.urldb.rank_building.WAIT_SECS", 0)
        with pytest.raises(ConfigError, match="is being written already"):
            rank(tmp_path)
    path = tmp_path / FOLDER / TABLE_NAME
    content = path.read_bytes()
    begun = content.index(b"{")
    for damaged in (
        b"",
        content[:-1],
        b"x" + content[1:],
        content[:begun] + b"[" + content[begun + 1 :],
    ):
        path.unlink()
        path.write_bytes(damaged)
        with pytest.raises(ConfigError, match="is damaged"):
            rank(tmp_path)
    assert inlinks(table, B) == [1]  # what was mapped stays


@pytest.mark.parametrize(
    ("stated", "weights"),
    [
        ([None, None], None),
        ([0.0, 0.0], None),
        ([0.5, None], [0.5, 0.5]),
        ([0.9, 0.1, 0.0], [0.9, 0.1, 0.0]),
        ([], None),
    ],
    ids=["unstated", "zero", "one unstated", "stated", "empty"],
)
def test_weights(stated: list[float | None], weights: list[float] | None) -> None:
    """If any priority is stated and they are not all 0, then they are the weights."""
    assert weights_of(stated) == (None if weights is None else pytest.approx(weights))


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=20))
def test_weights_sum_to_one(stated: list[float | None]) -> None:
    """If links have weights, then the sitemap passes on its full rank."""
    weights = weights_of(stated)
    assert weights is None or sum(weights) == pytest.approx(1)
