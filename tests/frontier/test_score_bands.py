"""Links are put into the bands of their scores, and only those that may be."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from scrapy.settings import Settings

from rdfcrawl.analysis.ranking.table import levels_of, open_ranks
from rdfcrawl.analysis.urldb.building import build
from rdfcrawl.analysis.urldb.rank_building import rank
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.records import Urgency
from rdfcrawl.frontier.queue.bands import ScoreBands
from rdfcrawl.frontier.queue.candidate import Candidate
from rdfcrawl.frontier.queue.options import (
    DiscoveryScore,
    ScoreChoice,
    SitemapScore,
)
from rdfcrawl.uri import NormalForm, fingerprint
from tests.support.url_events import LinksFound, UrlFetched, write_events

if TYPE_CHECKING:
    from collections.abc import Sequence

A, B, NEW = (f"http://a.example/{name}" for name in ("a", "b", "new"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the folder of a crawl in which one page links to another."""
    write_events(tmp_path, [UrlFetched(A, 9), LinksFound(A, 9, (B,))])
    build(tmp_path, NormalForm())
    rank(tmp_path)
    return tmp_path


def bands_of(bands: ScoreBands, urls: Sequence[str], band: bytes) -> bytes:
    """Return the bands of links that were in a band before."""
    links = [Candidate(0, "a.example", fingerprint(url), band + b"/") for url in urls]
    return bytes(link.item[0] for link in bands.of_links(links, b"2"))


def test_links_have_the_bands_of_their_scores(root: Path) -> None:
    """If links have scores, then they are in their bands, and unknown ones as before.

    Late URIs stay late, and pages of sitemaps keep the band of their priority.
    """
    choice = ScoreChoice(of_links=DiscoveryScore.INLINKS)
    bands = ScoreBands(open_ranks(root), choice)
    assert bands_of(bands, [A, B, NEW], b"2") == b"762"
    assert bands_of(bands, [A, B, NEW], b"3") == b"333"
    assert bands.of_listed(fingerprint(B), Urgency.LOW) is Urgency.LOW


def test_listed_pages_have_the_urgency_of_their_scores(root: Path) -> None:
    """If listed pages have scores, then stated priorities do not count."""
    for table in (open_ranks(root), None):
        bands = ScoreBands(table, ScoreChoice(SitemapScore.PAGERANK))
        known = bands.of_listed(fingerprint(B), Urgency.LOW)
        assert known is (Urgency.RAISED if table else Urgency.ORDINARY)
        assert bands.of_listed(fingerprint(NEW), Urgency.HIGHEST) is Urgency.ORDINARY
        assert bands_of(bands, [B], b"2") == b"2"


def test_nothing_is_opened_for_what_needs_no_scores() -> None:
    """If no score of a ranking counts, then there is nothing to look up."""
    assert ScoreBands.open(Path("/nowhere"), ScoreChoice()) is None


@pytest.mark.parametrize("name", ["SITEMAP_SCORE", "DISCOVERY_SCORE"])
def test_unknown_score_is_told(name: str) -> None:
    """If a setting names no score, then it is named."""
    with pytest.raises(ConfigError, match=f"{name}='best'"):
        ScoreChoice.from_settings(Settings({name: "best"}))


def test_levels_of_very_many_are_those_of_a_sample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If a host has very many URIs, then some of them stand for all."""
    monkeypatch.setattr("rdfcrawl.analysis.ranking.table._SAMPLED", 100)
    levels = levels_of([float(n) for n in range(1000)])
    assert [levels.count(each) for each in range(6)] == pytest.approx(
        [200, 200, 200, 200, 150, 50], abs=10
    )
    assert list(levels) == sorted(levels)
