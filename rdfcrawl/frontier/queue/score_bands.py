"""The bands of URIs by the scores of the last ranking.

The table is memory-mapped and used for each queued URI; there is none unless a setting
uses scores.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options.table import OptionsTable, one_of
from rdfcrawl.core.records import DiscoveryScore, RankScore, SitemapScore, Urgency

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rdfcrawl.analysis.ranking.table import RankTable
    from rdfcrawl.frontier.queue.candidate import Candidate

logger = logging.getLogger(__name__)

_URGENCIES: Final = (
    *(Urgency.LOW, Urgency.LOWERED, Urgency.ORDINARY),
    *(Urgency.RAISED, Urgency.HIGH, Urgency.HIGHEST),
)  # by level
_MIDDLE_LEVEL: Final = _URGENCIES.index(Urgency.ORDINARY)


@dataclass(frozen=True, slots=True)
class ScoreChoice(OptionsTable):
    """The scores by which URIs are ordered."""

    of_sitemaps: SitemapScore = one_of("SITEMAP_SCORE", "priority", SitemapScore)
    """what orders the pages of sitemaps within a host: the priority that is stated, or
    a [score](urldb.md#scores) of the last `scrapy urldb rank`; see
    [frontier](../explanation/frontier.md#the-order-of-uris)"""
    of_links: DiscoveryScore = one_of("DISCOVERY_SCORE", "first-seen", DiscoveryScore)
    """what orders links within a host: which was found first, or a score"""


class ScoreBands:
    """The urgency of URIs by score; unknown URIs get the middle one.

    Args:
        table: of the last ranking; None if there was none.
        choice: which of its scores count.
    """

    def __init__(self, table: RankTable | None, choice: ScoreChoice) -> None:
        self._table = table
        self._of_sitemaps = _ranked(choice.of_sitemaps)
        self._of_links = _ranked(choice.of_links)

    @classmethod
    def open(cls, root: Path, choice: ScoreChoice) -> ScoreBands | None:
        """Return the bands of a crawl; None if it uses no scores.

        Args:
            root: `CRAWL_DIR/<CRAWL_ID>`.
            choice: of the crawl.

        Raises:
            ConfigError: the table is damaged or unreadable.
        """
        if _ranked(choice.of_sitemaps) is _ranked(choice.of_links) is None:
            return None
        from rdfcrawl.analysis.ranking.table import open_ranks

        try:
            table = open_ranks(root)
        except OSError as error:
            raise ConfigError(f"SITEMAP_SCORE, DISCOVERY_SCORE: {error}") from error
        if table is None:
            logger.warning(
                "SITEMAP_SCORE, DISCOVERY_SCORE: no URI of this crawl has a score yet;"
                " scrapy urldb rank computes them"
            )
        return cls(table, choice)

    def of_listed(self, fingerprint: int, stated: Urgency) -> Urgency:
        """Return the urgency of a URI of a sitemap, with its stated priority."""
        if self._of_sitemaps is None:
            return stated
        return self._urgency(fingerprint, self._of_sitemaps)

    def of_links(self, links: Iterable[Candidate], band: bytes) -> list[Candidate]:
        """Return links with their bands; `band` is that of ordinary ones."""
        if self._table is None or self._of_links is None:
            return list(links)
        (ordinary,) = band
        found = []
        for link in links:
            item = link.item
            if item[0] == ordinary:  # others are late anyway
                urgency = self._urgency(link.fingerprint, self._of_links)
                shifted = ordinary + urgency - Urgency.ORDINARY
                item = bytes((shifted,)) + item[1:]
            found.append(link._replace(item=item))
        return found

    def _urgency(self, fingerprint: int, score: RankScore) -> Urgency:
        level = None
        if self._table is not None:
            level = self._table.level(fingerprint, score)
        return _URGENCIES[_MIDDLE_LEVEL if level is None else level]


def _ranked(score: SitemapScore | DiscoveryScore) -> RankScore | None:
    """Return the ranking score of a setting; None for other kinds of score."""
    try:
        return RankScore(score.value)
    except ValueError:
        return None
