"""Records for the samples of a dataset: single URIs to look up."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from rdfcrawl.core.records import FollowUp, Kind, Record
from rdfcrawl.core.tasks import SamplePage
from rdfcrawl.sources.access import DEFAULT_GRAPH
from rdfcrawl.sources.sitemaps.semantic import ALL_GRAPHS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfcrawl.sources.harvest.known_datasets import KnownDataset


def describe_url(endpoint: str, uri: str, graphs: Sequence[str]) -> str:
    """Return the URL of a DESCRIBE query for a URI (SPARQL 1.1 Protocol 2.1).

    >>> describe_url("http://a.example/sparql", "http://a.example/1", ["default"])
    'http://a.example/sparql?query=DESCRIBE+%3Chttp%3A%2F%2Fa.example%2F1%3E'
    """
    named = [x for x in graphs if x not in (DEFAULT_GRAPH, ALL_GRAPHS)]
    fields = [("query", f"DESCRIBE <{uri}>")]
    fields += [("default-graph-uri", graph) for graph in named]
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(fields)}"


def sample_of(dataset: KnownDataset, uri: str, depth: int, parent: str) -> FollowUp:
    """Return the page of a URI in a dataset, to compare with its dump."""
    page = SamplePage(dataset.name, uri)
    sample = Record(uri, Kind.PAGE, depth, parent, task=page)
    return FollowUp(sample, is_part_of_source=True)
