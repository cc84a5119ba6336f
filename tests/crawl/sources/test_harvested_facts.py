"""Documents of portals and endpoints have hashes and sketches in the provenance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdfcrawl.analysis.urldb.building import build
from rdfcrawl.analysis.urldb.database import UrlDatabase
from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.nodes.endpoint import EndpointOptions
from rdfcrawl.dataweb.nodes.portal import PortalOptions
from rdfcrawl.rdf.fingerprints import Fingerprint
from rdfcrawl.stores.log.crawl_log import iter_latest
from rdfcrawl.uri import NormalForm
from tests.support.fingerprints import fingerprint_statements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.crawl_fixtures import Commands, CrawlResult


@pytest.fixture
def web() -> Iterator[LocalWeb]:
    """Yield a server of portals and endpoints."""
    with LocalWeb(first_address="127.81.9.1", n_hosts=4) as web:
        yield web


def stored(result: CrawlResult, part: str) -> set[Fingerprint]:
    """Return the fingerprints of stored documents with a text in their names."""
    return {
        fingerprint_statements(piece.quads, piece.graph)
        for piece in iter_latest(result.folder / "quads")
        if part in piece.graph
    }


def told(result: CrawlResult) -> set[tuple[str, str, int]]:
    """Return the fingerprints in the provenance."""
    rows = result.provenance.query(
        "PREFIX rc: <urn:rdfcrawl:vocab#> SELECT ?text ?sketch ?n { GRAPH ?g"
        " { ?a rc:textHash ?text ; rc:sketch ?sketch ; rc:shingles ?n } }"
    )
    return {(x["text"].value, x["sketch"].value, int(x["n"].value)) for x in rows}  # type: ignore[union-attr]


def test_datasets_of_a_portal_are_compared(commands: Commands, web: LocalWeb) -> None:
    """If a portal is harvested, then each dataset has its own hash and sketch.

    Its URL in the database has none of them: it stands for all.
    """
    portal = web.start(PortalOptions(n_datasets=12))
    result = commands.crawl(arguments={"portals": portal.origin}, spider="ckan")
    wanted = stored(result, "/dataset/")
    assert len(wanted) == 12
    assert wanted <= told(result)
    build(result.folder, NormalForm())
    with UrlDatabase(result.folder) as database:
        record = database.find(portal.origin)
    assert record is not None
    assert not any(each.text_hash for each in record.fetches)
    assert "sketch" not in record.latest


@pytest.mark.parametrize(("n_triples", "is_small"), [(300, True), (20_000, False)])
def test_answers_of_an_endpoint_are_compared_up_to_a_size(
    commands: Commands, web: LocalWeb, n_triples: int, *, is_small: bool
) -> None:
    """If an answer has at most 1 MiB of statements, it has a hash; others count."""
    node = web.start(EndpointOptions(n_triples=n_triples, n_named=1))
    result = commands.crawl(arguments={"endpoints": node.endpoint_url}, spider="sparql")
    assert result.statistics["document/quads"] > n_triples
    n_stored = result.statistics["document/stored"]
    n_left_out = result.statistics["document/not_hashed"]
    assert len(told(result)) == n_stored - n_left_out > 0
    assert (n_left_out == 0) is is_small


def test_without_facts_nothing_is_hashed(commands: Commands, web: LocalWeb) -> None:
    """If no facts are wanted, then datasets have no hashes, and none is counted."""
    portal = web.start(PortalOptions(n_datasets=3))
    result = commands.crawl(
        arguments={"portals": portal.origin}, spider="ckan", FACTS=False
    )
    assert told(result) == set()
    assert result.statistics["document/not_hashed"] == 0
