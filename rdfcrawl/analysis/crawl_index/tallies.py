"""The list of all tallies of the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.analysis.crawl_index.datasets import DatasetTally
from rdfcrawl.analysis.crawl_index.faults import FaultTally
from rdfcrawl.analysis.crawl_index.history import HistoryTally
from rdfcrawl.analysis.crawl_index.host_links import HostLinkTally
from rdfcrawl.analysis.crawl_index.host_tally import HostTally
from rdfcrawl.analysis.crawl_index.recent import RecentTally
from rdfcrawl.analysis.crawl_index.uri_places import UriPlaceTally
from rdfcrawl.analysis.crawl_index.vocabulary import VocabularyTally

if TYPE_CHECKING:
    from rdfcrawl.analysis.crawl_index.building import IndexTally
    from rdfcrawl.uri import NormalForm


def all_tallies(normal_form: NormalForm) -> list[IndexTally]:
    """Return a new tally of each kind.

    Args:
        normal_form: of the crawl; an index with another normal form is rebuilt.
    """
    return [
        HistoryTally(),
        FaultTally(),
        HostTally(),
        UriPlaceTally(normal_form),
        RecentTally(),
        VocabularyTally(),
        DatasetTally(),
        HostLinkTally(),
    ]
