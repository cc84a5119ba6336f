"""All tallies of the index, in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.crawl_index.faults import FaultTally
from rdfcrawl.crawl_index.history import HistoryTally
from rdfcrawl.crawl_index.host_tally import HostTally

if TYPE_CHECKING:
    from rdfcrawl.crawl_index.building import IndexTally


def all_tallies() -> list[IndexTally]:
    """Return a new tally of each kind."""
    return [HistoryTally(), FaultTally(), HostTally()]
