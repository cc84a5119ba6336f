"""The reading of one sitemap, and the key of its state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rdfcrawl.harvest.listed_pages import KnownPage, SitemapLook
from rdfcrawl.harvest.sitemap_parts import SitemapState

if TYPE_CHECKING:
    from rdfcrawl.harvest.consent import ForeignEntries
    from rdfcrawl.harvest.response import HarvestedResponse
    from rdfcrawl.sitemaps.revisits import ListedPageClaim
    from rdfcrawl.sitemaps.semantic import SitemapDataset
    from rdfcrawl.tasks.sitemap import SitemapTask


class SitemapReading:
    """The reading of a sitemap: its task, datasets and entries of other sites.

    Attributes:
        key: of the state of the sitemap.
        before: what earlier runs left.
        known: what they know of the pages of a batch.
        claims: about the pages of a batch.
        is_index: the sitemap lists sitemaps.
        n_again: of these, those that are read once more in this run.
        parts: of these, those that are read in this run.
        gone: sitemaps that it lists no more.
    """

    def __init__(
        self, response: HarvestedResponse, task: SitemapTask, foreign: ForeignEntries
    ) -> None:
        self.response = response
        self.document = document = response.document
        self.task = task
        self.key = key_of(document.record.url, task)
        self.log = response.log
        self.before = SitemapState()
        self.known: Mapping[str, KnownPage] = {}
        self.claims: dict[str, ListedPageClaim] = {}
        self.parts: list[str] = []
        self.gone: list[str] = []
        self.datasets: list[SitemapDataset] = []
        self.foreign = foreign
        self.is_index = False
        self.n_again = 0

    def listing(
        self, key: str = "", url: str = "", state: SitemapState | None = None
    ) -> SitemapLook:
        """Return the look at the sitemap, or at another one by what is kept of it."""
        before = self.before if state is None else state
        return SitemapLook(
            key=key or self.key,
            url=url or self.document.record.url,
            depth=self.document.record.depth,
            secs=self.document.response.started_ms // 1000,
            read_secs=before.read_ms // 1000,
            since_run=before.since_run,
            is_pinged=bool(self.task.ping),
        )


def key_of(url: str, task: SitemapTask) -> str:
    """Return the key of a sitemap in the state store, with purpose and hosts."""
    purpose = "asked" if task.is_confirming else "all"
    return " ".join((url, purpose, *sorted(task.robots_hosts)))
