"""Crawls of sites that change, epoch after epoch, without waiting: the clock steps.

In each epoch a command runs to its end while the time of the web stands still; then the
time moves on. Requests and stored copies are recorded by epoch, and judged.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rdfcrawl.dataweb.evolution.clock import WebClock
from rdfcrawl.dataweb.evolution.draws import DAY_SECS
from rdfcrawl.dataweb.evolution.freshness import judge_freshness
from rdfcrawl.dataweb.evolution.node import EvolvingOptions
from rdfcrawl.dataweb.evolution.truth import gather_history, iter_history
from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.stores.log.crawl_log import iter_latest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from rdfcrawl.dataweb.evolution.freshness import FreshnessReport
    from rdfcrawl.dataweb.evolution.node import EvolvingNode
    from rdfcrawl.dataweb.evolution.truth import WebTruth
    from rdfcrawl.dataweb.nodes.accesslog import LoggedRequest
    from tests.support.crawl_fixtures import CrawlResult

_find_revision = re.compile(rb'"Page [0-9]+, revision ([0-9]+)"').search
_is_page = re.compile(r"/(page|data)/").search


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlEpoch:
    """One run of a command against the web of one time.

    Attributes:
        at: time of the web.
        result: of the command.
        asked: URLs with the status of each response, in order.
        stored: of each page in the store, the time of the web at which the copy was
            fetched.
        revisions: of each page in the store, the revision in its statements.
        freshness: of the store.
    """

    at: float
    result: CrawlResult
    asked: list[tuple[str, int]]
    stored: Mapping[str, float]
    revisions: Mapping[str, int]
    freshness: FreshnessReport

    def pages(self, *statuses: int) -> list[str]:
        """Return the requested pages, with one of some statuses, or any."""
        return [
            url
            for url, status in self.asked
            if _is_page(url) and (not statuses or status in statuses)
        ]


class EpochWeb:
    """Sites that change, served in a thread of this process, with one clock.

    Args:
        web: that serves them.
        sites: options of each site; they have the seeds 1, 2, ... unless they say.
            `mirror_of` is the number of a site before it, from 0 on.

    Attributes:
        clock: of all of them.
        nodes: the sites.
    """

    def __init__(self, web: LocalWeb, *sites: Mapping[str, Any]) -> None:
        self._web = web
        self.clock = WebClock()
        self.nodes: list[EvolvingNode] = []
        for n, options in enumerate(sites, start=1):
            given = {"seed": n, **options}
            if "mirror_of" in given:  # the number of a site before it
                original = self.nodes[given["mirror_of"]]
                given |= {"mirror_of": original.origin, "seed": original.options.seed}
            self.nodes.append(web.start(EvolvingOptions(clock=self.clock, **given)))

    @property
    def fronts(self) -> str:
        """The front pages of the sites, with commas between them."""
        return ",".join(f"{node.origin}/" for node in self.nodes)

    def n_asked(self) -> int:
        """Return how many requests there were since the last run began."""
        return sum(len(self._web.requests(node)) for node in self.nodes)

    def requests(self, node: EvolvingNode) -> tuple[LoggedRequest, ...]:
        """Return the requests of a site since the last run began."""
        return self._web.requests(node)

    def listed(self, at: float) -> set[str]:
        """Return the entries of the sitemaps at a time."""
        return {
            node.origin + entry.path.path
            for node in self.nodes
            for file in node.listings.files(at)
            for entry in file.entries
        }

    def truth(self, at: float) -> WebTruth:
        """Return the events up to a time."""
        return gather_history(iter_history(self.nodes, begin="", horizon=at))

    def forget(self) -> None:
        """Drop the requests so far."""
        self._web.forget()

    def pages(self) -> set[str]:
        """Return the pages that were requested since the last run began."""
        return {
            node.origin + one.target
            for node in self.nodes
            for one in self._web.requests(node)
            if _is_page(one.target)
        }

    def run(self, command: Callable[[], CrawlResult]) -> CrawlEpoch:
        """Run a command to its end, and judge the result."""
        self._web.forget()
        at, result = self.clock.now(), command()
        truth = self.truth(at)
        copies = dict(self._copies(result.folder, truth))
        stored = {url: when for url, (when, _) in copies.items()}
        return CrawlEpoch(
            at=at,
            result=result,
            asked=[
                (node.origin + one.target, one.status)
                for node in self.nodes
                for one in self._web.requests(node)
            ],
            stored=stored,
            revisions={url: revision for url, (_, revision) in copies.items()},
            freshness=judge_freshness(truth, stored, at),
        )

    def epochs(
        self, command: Callable[[], CrawlResult], *, n: int, days: float
    ) -> Iterator[CrawlEpoch]:
        """Yield `n` runs of a command, with some days of the web between them."""
        for epoch in range(n):
            if epoch:
                self.clock.advance(days * DAY_SECS)
            yield self.run(command)

    def _copies(
        self, folder: Path, truth: WebTruth
    ) -> Iterator[tuple[str, tuple[float, int]]]:
        """Yield URL, time of the fetch and revision of the pages in a store."""
        for piece in iter_latest(folder / "quads"):
            revision = _find_revision(piece.quads)
            if revision is not None and piece.graph in truth.urls:
                when = self.clock.web_time(piece.version_ms / 1000)
                yield piece.graph, (when, int(revision[1]))


@contextmanager
def changing_web(address: str, *sites: Mapping[str, Any]) -> Iterator[EpochWeb]:
    """Serve sites that change from an address on, while the context is open."""
    with LocalWeb(first_address=address, n_hosts=len(sites)) as web:
        yield EpochWeb(web, *sites)
