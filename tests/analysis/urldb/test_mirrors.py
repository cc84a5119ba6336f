"""Content on several domains, found in the complete URL database."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.analysis.duplicates import spilled_clusters
from rdfcrawl.analysis.duplicates.clusters import ContentPrint, find_clusters
from rdfcrawl.analysis.urldb.building import build
from rdfcrawl.analysis.urldb.database import UrlDatabase
from rdfcrawl.analysis.urldb.mirrors import MAX_DOMAINS, MirrorSearch
from rdfcrawl.core.sorting import SpillFolder
from rdfcrawl.rdf.fingerprints import content_hash, read_sketch
from tests.support.fingerprints import fingerprint_statements
from tests.support.url_events import (
    NORMAL,
    T0,
    ListedUrl,
    SitemapRead,
    UrlFetched,
    write_events,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rdfcrawl.analysis.urldb.mirrors import MirrorCluster
    from tests.support.url_events import UrlEvent


def fetched(url: str, turtle_like: str, ms: int = T0) -> UrlFetched:
    """Return the fetch of a document, of lines in which `{}` is its own URL.

    Relative IRIs are written as `{site}`.
    """
    lines = turtle_like.replace("{site}", url.rpartition("/")[0]).replace("{}", url)
    found = fingerprint_statements(lines.encode(), url, has_graphs=False)
    facts = [
        ("contentHash", content_hash(turtle_like.encode())),
        ("textHash", found.text_hash),
        ("sketch", found.sketch),
    ]
    return UrlFetched(url, ms, facts=tuple(x for x in facts if x[1]))


def lines_of(numbers: Sequence[int]) -> str:
    """Return a document with a statement for each number."""
    return "".join(f'<{{}}> <urn:x:p> "{n}" .\n' for n in numbers)


def mirrors(
    root: Path, events: Sequence[UrlEvent], memory_bytes: int = 1 << 20
) -> tuple[dict[str, list[str]], MirrorSearch]:
    """Return the members of clusters by their representatives."""
    write_events(root, events)
    build(root, NORMAL)
    with UrlDatabase(root) as database, SpillFolder(root) as spills:
        urls = [each.url for each in database.records()]
        search = MirrorSearch(database, None, spills, memory_bytes)
        found = {each.url: [urls[n] for n in each.numbers] for each in search.find()}
    return found, search


@pytest.mark.parametrize("memory_bytes", [1, 1 << 20])
def test_mirrors_are_equal_nearly_equal_or_redirect(
    tmp_path: Path, memory_bytes: int
) -> None:
    """If content is on two domains, then one URL represents it; else there is none."""
    long = range(100)
    one, two, three = "http://a.example", "http://www.b.example", "http://c.example"
    events: list[UrlEvent] = [
        fetched(f"{one}/equal", lines_of([1, 2])),
        fetched(f"{two}/equal", lines_of([2, 1])),
        fetched(f"{one}/near", lines_of(long)),
        fetched(f"{three}/near", lines_of([*long, 1000])),
        fetched(f"{three}/same", lines_of([*long, 1001])),
        # Only one domain.
        fetched(f"{one}/x", lines_of([7])),
        fetched(f"{one}/y", lines_of([7])),
        fetched(f"{two}/other", lines_of(range(200, 300))),
        UrlFetched(f"{one}/moved", T0, target=f"{two}/here"),
        UrlFetched(f"{two}/here", T0 + 1),
        # What failed since is no mirror.
        fetched(f"{two}/x", lines_of([7])),
        UrlFetched(f"{two}/x", T0 + 9, 404),
        SitemapRead(f"{three}/sitemap.xml", T0, (ListedUrl(f"{three}/same"),)),
    ]
    found, search = mirrors(tmp_path, events, memory_bytes)
    assert found == {
        f"{one}/equal": [f"{one}/equal", f"{two}/equal"],
        f"{three}/same": [f"{one}/near", f"{three}/near", f"{three}/same"],
        f"{two}/here": [f"{one}/moved", f"{two}/here"],
    }
    assert search.n_crowded == search.n_left_out == 0


def test_relative_iris_do_not_hide_a_mirror(tmp_path: Path) -> None:
    """If documents name their neighbours relatively, then equal bytes show a mirror."""
    text = '<{}> <urn:x:next> <{site}/2> .\n<{site}/2> <urn:x:p> "1" .\n'
    events = [fetched(f"http://{x}.example/1", text) for x in "ab"]
    hashes = [dict(each.facts)["textHash"] for each in events]
    assert hashes[0] != hashes[1]
    found, _ = mirrors(tmp_path, events)
    urls = ["http://a.example/1", "http://b.example/1"]
    assert found == {urls[0]: urls}


def test_content_of_many_domains_is_one_cluster(tmp_path: Path) -> None:
    """If hundreds of domains have one page, then it is one cluster with a few names."""
    events = [fetched(f"http://d{n:03}.example/", lines_of([0])) for n in range(300)]
    write_events(tmp_path, events)
    build(tmp_path, NORMAL)
    with UrlDatabase(tmp_path) as database, SpillFolder(tmp_path) as spills:
        search = MirrorSearch(database, None, spills, 1 << 20)
        (found,) = search.find("d299.example")
        (other,) = search.find("e.example")
    assert check(found).is_of_site
    assert not check(other).is_of_site


def check(cluster: MirrorCluster) -> MirrorCluster:
    """Check a cluster of 300 domains."""
    assert cluster.url == "http://d000.example/"
    assert (cluster.n_domains, len(cluster.numbers)) == (300, 300)
    assert cluster.domains == tuple(f"d{n:03}.example" for n in range(MAX_DOMAINS))
    return cluster


def test_crowded_runs_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If more contents share runs than are compared, then the others are counted."""
    monkeypatch.setattr(spilled_clusters, "MAX_CROWD", 10)
    events = [
        fetched(f"http://d{n:02}.example/", lines_of([*range(90), 1000 + n]))
        for n in range(30)
    ]
    found, search = mirrors(tmp_path, events)
    assert search.n_crowded >= 10
    assert search.n_left_out >= 10 * search.n_crowded
    (members,) = found.values()
    assert len(members) >= 10


@pytest.mark.parametrize("seed", range(5))
def test_clusters_are_those_of_one_domain(tmp_path: Path, seed: int) -> None:
    """If documents are drawn by chance, then mirrors are what clusters in memory are.

    Some are equal but for a few statements, of which the resemblance is around 0.9.
    """
    dice = random.Random(seed)
    events, prints = [], []
    for n in range(60):
        begin = 1000 * dice.randrange(6)
        numbers = [*range(begin, begin + dice.choice([8, 30, 200]))]
        for _ in range(dice.randrange(4)):
            numbers[dice.randrange(len(numbers))] = dice.randrange(10**6)
        each = fetched(f"http://d{n:02}.example/", lines_of(numbers))
        events.append(each)
        facts = dict(each.facts)
        prints.append(
            ContentPrint(
                url=each.url,
                text_hash=facts["textHash"],
                sketch=read_sketch(facts["sketch"]),
            )
        )
    found, _ = mirrors(tmp_path, events)
    assert sorted(map(tuple, found.values())) == list(find_clusters(prints))
