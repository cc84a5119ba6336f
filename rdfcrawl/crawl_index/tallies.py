"""All tallies of the index, in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.crawl_index.datasets import DatasetTally
from rdfcrawl.crawl_index.history import HistoryTally
from rdfcrawl.crawl_index.host_links import HostLinkTally
from rdfcrawl.crawl_index.vocabulary import VocabularyTally

if TYPE_CHECKING:
    from rdfcrawl.crawl_index.building import IndexTally


def all_tallies() -> list[IndexTally]:
    """Return a new tally of each kind."""
    return [HistoryTally(), VocabularyTally(), DatasetTally(), HostLinkTally()]
