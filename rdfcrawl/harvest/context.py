"""The context of harvesters and discoverers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rdfcrawl.arguments.crawl import CrawlArguments
    from rdfcrawl.frontier.options import CrawlOptions
    from rdfcrawl.frontier.session import CrawlSession
    from rdfcrawl.frontier.state_store import StateStore
    from rdfcrawl.harvest.datasets import DatasetRegistry
    from rdfcrawl.harvest.options import HarvestOptions


@dataclass(frozen=True, slots=True)
class HarvestContext:
    """The crawl as harvesters see it, with all of their state.

    Attributes:
        arguments: of the spider that queued the record.
        crawl: the settings of the crawl and of this worker.
        options: the settings of the harvesters.
        session: the worker's connection to the crawl.
        datasets: registry of the known datasets.
    """

    arguments: CrawlArguments
    crawl: CrawlOptions
    options: HarvestOptions
    session: CrawlSession
    datasets: DatasetRegistry

    @property
    def state_store(self) -> StateStore:
        """Tables that the responses and runs of a source share."""
        return self.session.state_store

    @property
    def run(self) -> int:
        """Number of the run: how often the crawl was finished before."""
        return self.session.run
