"""The truth of a web that changes: its file, freshness, and first sightings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.dataweb.evolution.draws import DAY_SECS, NEVER
from rdfcrawl.dataweb.evolution.freshness import judge_freshness, known_urls
from rdfcrawl.dataweb.evolution.sightings import (
    first_seen_by_links,
    first_seen_by_sitemaps,
)
from rdfcrawl.dataweb.evolution.truth import (
    UrlTruth,
    WebTruth,
    gather_history,
    read_history,
    write_history,
)
from tests.support.evolving_sites import ask, site, truth_of

if TYPE_CHECKING:
    from pathlib import Path

BUSY: dict[str, Any] = {
    "n_pages": 25,
    "rates": (0.0, 0.3, 1.0),
    "births": 1.0,
    "vanishing": 0.03,
    "duplicates": 0.3,
}


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 30), st.floats(0, 30))
def test_truth_says_when_documents_differ(seed: int, day: float, other: float) -> None:
    """If each URL is requested at two times, then it differs if the truth says so."""
    node = site(seed=seed, **BUSY)
    for url, known in truth_of(node).urls.items():
        path = url.removeprefix(node.origin)
        answers = [ask(node, path, at) for at in (day, other)]
        revisions = [known.revision(at * DAY_SECS) for at in (day, other)]
        for answer, revision in zip(answers, revisions, strict=True):
            assert (answer.status == 200) is (revision is not None)
        if None not in revisions:
            equal = answers[0].body == answers[1].body
            assert equal is (revisions[0] == revisions[1])
        for answer, at in zip(answers, (day, other), strict=True):
            if at * DAY_SECS >= known.gone:
                assert answer.status == known.gone_status


def test_failing_hours_are_as_many_as_stated() -> None:
    """If pages fail now and then, it is in the hours listed by the truth."""
    node = site(failing=0.1, vanishing=0.0, births=0.0, n_pages=40)
    truth = truth_of(node, days=10)
    n_failing = 0
    for page in node.history.pages(0.0):
        known = truth.urls[node.origin + page.path]
        n_failing += len(known.failing)
        for hour in (0.0, 1.0, *(at / 3600 for at in known.failing)):
            answer = ask(node, page.path, (hour + 0.5) / 24)
            is_failing = hour * 3600 in known.failing
            assert answer.status == (503 if is_failing else 200)
    assert n_failing == pytest.approx(0.1 * 40 * 241, rel=0.2)


def test_file_of_the_truth_is_read_back(tmp_path: Path) -> None:
    """If the truth is written and read, then nothing of it is lost."""
    node = site(**BUSY)
    path = tmp_path / "history.jsonl"
    write_history(path, [node], begin="2024", horizon=9 * DAY_SECS)
    truth = read_history(path)
    assert (truth.begin, truth.horizon) == ("2024", 9 * DAY_SECS)
    direct = truth_of(node, days=9)
    assert (truth.urls, truth.listings, truth.links) == (
        direct.urls,
        direct.listings,
        direct.links,
    )
    assert truth.sites[node.origin]["layout"] == "fixed"
    later = truth_of(node, days=30)
    for url, known in truth.urls.items():
        for day in (0.0, 4.5, 9.0):
            assert known.revision(day * DAY_SECS) == later.urls[url].revision(
                day * DAY_SECS
            )
    write_history(tmp_path / "none", [], begin="", horizon=1)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("line", [{"type": "url"}, {}])
def test_file_that_is_no_truth_is_refused(line: dict[str, str]) -> None:
    """If lines do not begin as those of a web, or are of no type, that is an error."""
    with pytest.raises(ValueError, match="first line"):
        gather_history([line])
    with pytest.raises(ValueError, match="type 'x'"):
        gather_history([{"type": "web", "begin": "", "horizon": 1}, {"type": "x"}])


def test_clusters_are_the_urls_of_a_page_on_all_hosts() -> None:
    """If pages have duplicates and a mirror, each cluster is all of a page's URLs."""
    node = site(**BUSY)
    mirror = site("127.0.0.10", mirror_of=node.origin, **BUSY)
    clusters = truth_of(node, mirror).clusters(3 * DAY_SECS)
    for page in node.history.pages(3 * DAY_SECS):
        urls = {one.origin + path.path for one in (node, mirror) for path in page.paths}
        found = clusters.get(node.origin + page.path)
        assert found == (urls if page.is_there(3 * DAY_SECS) else None)
    assert clusters[mirror.origin + "/"] == {mirror.origin + "/"}


def test_freshness_by_hand() -> None:
    """If four copies are judged, then each counts by its own fate."""
    changes = {"a": [10.0, 20.0], "b": [30.0], "c": [], "d": [5.0]}
    truth = WebTruth(begin="", horizon=100.0)
    for url, times in changes.items():
        gone = 25.0 if url == "c" else NEVER
        truth.urls[url] = UrlTruth(
            url=url, role="front", born=0.0, gone=gone, changes=times
        )
    report = judge_freshness(truth, {"a": 12.0, "b": 12.0, "c": 12.0, "x": 12.0}, 28.0)
    assert (report.n_fresh, report.n_stale, report.n_gone) == (1, 1, 1)
    assert (report.n_missing, report.n_unknown) == (1, 1)
    assert report.freshness == 1 / 3
    assert report.mean_age == (8.0 + 0.0 + 3.0) / 3
    assert report.late == {"a", "c"}
    empty = judge_freshness(truth, {}, 28.0)
    assert (empty.freshness, empty.mean_age, empty.n_missing) == (None, None, 3)
    with pytest.raises(ValueError, match="beyond the horizon"):
        judge_freshness(truth, {}, 101.0)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 30), st.floats(0, 30))
def test_freshness_matches_a_comparison_of_bodies(
    seed: int, day: float, other: float
) -> None:
    """If all documents of a day are kept, the fresh ones equal those of a later day."""
    node = site(seed=seed, **BUSY)
    first, last = sorted((day, other))
    truth = truth_of(node)
    kept = {}
    for url in truth.urls:
        answer = ask(node, url.removeprefix(node.origin), first)
        if answer.status == 200:
            kept[url] = answer.body
    fresh = {
        url
        for url, body in kept.items()
        if ask(node, url.removeprefix(node.origin), last).body == body
    }
    report = judge_freshness(
        truth, dict.fromkeys(kept, first * DAY_SECS), last * DAY_SECS
    )
    assert report.n_fresh == len(fresh)
    assert report.late == kept.keys() - fresh
    assert report.n_unknown == 0


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.floats(0, 30), min_size=1, max_size=3))
def test_first_seen_matches_reading(seed: int, days: list[float]) -> None:
    """If lists and sitemaps are read at times, then URLs are seen at these times."""
    node = site(seed=seed, per_sitemap=10, **BUSY)
    truth = truth_of(node)
    sources = [url for url in truth.urls if "/list/" in url or url.endswith("9/")]
    sitemaps = [f"{node.origin}/sitemap-{n}.xml" for n in range(6)]
    fetches = [(url, day * DAY_SECS) for day in days for url in sources + sitemaps]
    by_links, by_sitemaps = dict[str, float](), dict[str, float]()
    for url, at in fetches:
        answer = ask(node, url.removeprefix(node.origin), at / DAY_SECS)
        seen = by_sitemaps if "sitemap" in url else by_links
        for target in truth.urls if answer.status == 200 else ():
            ways = f'href="{target.removeprefix(node.origin)}"', f"<loc>{target}</loc>"
            if any(way.encode() in answer.body for way in ways):
                seen[target] = min(at, seen.get(target, at))
    assert first_seen_by_links(truth, fetches) == by_links
    assert first_seen_by_sitemaps([node], fetches) == by_sitemaps
    for url, at in by_links.items():
        assert truth.first_linked(url) <= at
    for url, at in by_sitemaps.items():
        assert truth.first_listed(url) <= at
    assert by_links.keys() <= known_urls(truth, truth.horizon) | {
        url for url, known in truth.urls.items() if known.gone < truth.horizon
    }
