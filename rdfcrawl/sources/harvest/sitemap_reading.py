"""The reading of one sitemap, and the key of its state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rdfcrawl.sources.harvest.listed_pages import KnownPage, ListedSitemap
from rdfcrawl.sources.harvest.sitemap_parts import SitemapState
from rdfcrawl.sources.sitemaps.addresses import may_list
from rdfcrawl.uri.parse import is_of_web

if TYPE_CHECKING:
    from rdfcrawl.core.source_tasks import SitemapTask
    from rdfcrawl.sources.harvest.consent import ForeignEntries
    from rdfcrawl.sources.harvest.listed_pages import ListedPageClaim
    from rdfcrawl.sources.harvest.response import HarvestedResponse
    from rdfcrawl.sources.sitemaps.entry import SitemapEntry
    from rdfcrawl.sources.sitemaps.semantic import SitemapDataset
    from rdfcrawl.uri.hosts import HostNames


class SitemapReading:
    """The reading of a sitemap: its task, datasets and entries of other sites.

    Attributes:
        key: of the state of the sitemap.
        before: state of earlier runs.
        known: knowledge of earlier runs about the pages of a batch.
        claims: about the pages of a batch.
        is_index: the sitemap lists sitemaps.
        n_rereads: number of these that are read once more in this run.
        parts: those of these that are read in this run.
        gone: sitemaps that it no longer lists.
        sitemaps: in a batch, with a flag for those of the same site.
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
        self.sitemaps: list[tuple[SitemapEntry, bool]] = []
        self.datasets: list[SitemapDataset] = []
        self.foreign = foreign
        self.is_index = False
        self.n_rereads = 0

    def is_own(self, url: str, trust: HostNames) -> bool:
        """Return whether the sitemap may list a URL."""
        final = self.document.response.requested[-1]
        return may_list(url, final, self.task.robots_hosts) or trust.covers(url)

    def may_consent(self, url: str) -> bool:
        """Return whether the site of a URL could consent by a robots.txt."""
        return not self.task.is_confirming and is_of_web(url)

    def listing(
        self, key: str = "", url: str = "", state: SitemapState | None = None
    ) -> ListedSitemap:
        """Return the listing of the sitemap, or of another one by its stored state."""
        before = self.before if state is None else state
        return ListedSitemap(
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
