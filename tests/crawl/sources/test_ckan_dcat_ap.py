"""Harvests of a CKAN portal, judged by the shapes of DCAT-AP 3.0."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.nodes.portal import PortalOptions
from rdfcrawl.stores.log.crawl_log import iter_latest
from tests.support.shapes import DCAT_AP
from tests.support.shapes import violations as judged

if TYPE_CHECKING:
    from tests.conftest import RawRequest, RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

DCAT = "http://www.w3.org/ns/dcat#"
DCT = "http://purl.org/dc/terms/"

PACKAGE: dict[str, Any] = {
    "id": "7d1c0000-0000-4000-8000-000000000001",
    "name": "roads",
    "title": "Roads",
    "notes": "All roads.",
    "type": "dataset",
    "state": "active",
    "url": "https://city.example/roads",
    "license_id": "odd",
    "license_title": "An odd licence",
    "maintainer": "Office",
    "maintainer_email": "office@city.example",
    "author": "Ada",
    "metadata_created": "2024-01-01T00:00:00.000000",
    "metadata_modified": "2024-02-01T00:00:00.000000",
    "organization": {"id": "city", "name": "city", "title": "City"},
    "tags": [{"name": "road", "display_name": "road"}],
    "groups": [{"name": "traffic", "title": "Traffic"}],
    "extras": [
        {"key": "frequency", "value": "when it rains"},
        {"key": "language", "value": "Klingon"},
        {"key": "conforms_to", "value": "A standard"},
        {"key": "access_rights", "value": "for all"},
        {"key": "provenance", "value": "drawn by hand"},
        {"key": "alternate_identifier", "value": "R-1"},
        {"key": "temporal_start", "value": "2020-01-01"},
        {"key": "temporal_end", "value": "2021-01-01"},
        {"key": "spatial_text", "value": "Ulm"},
    ],
    "resources": [
        {"id": "r1", "url": "https://f.example/1.csv", "format": "CSV"},
        {"id": "r2", "url": "https://f.example/2", "format": "Odd", "size": 12},
        {
            "id": "r3",
            "url": "https://f.example/3",
            "download_url": "https://f.example/3",
            "mimetype": "odd",
            "license": "odd",
            "rights": "some",
            "hash": "md5:" + "0" * 32,
        },
    ],
}


def violations(result: CrawlResult) -> list[str]:
    """Return the violations of the shapes: shape, path, node and value."""
    from rdflib import Graph

    data = Graph()
    for piece in iter_latest(result.folder / "quads"):
        graph = piece.quads.replace(b" <" + piece.graph.encode() + b"> .", b" .")
        data.parse(data=graph, format="nt")
    return judged(data, DCAT_AP)


def objects(result: CrawlResult, subject: str, predicate: str) -> set[str]:
    """Return the present statements about a subject."""
    quads = result.latest_quads
    return {o for s, p, o, _ in quads if (s, p) == (subject, predicate)}


@pytest.fixture(scope="module")
def made() -> LocalWeb:
    """Yield a server of portals."""
    return LocalWeb(first_address="127.81.9.1", n_hosts=1)


def test_synthetic_portal_is_dcat_ap(commands: Commands, made: LocalWeb) -> None:
    """If a portal is harvested, then the shapes of DCAT-AP find nothing wrong."""
    with made as web:
        portal = web.start(PortalOptions(n_datasets=12))
        result = commands.crawl(
            arguments={"portals": portal.origin, "harvest": "none"}, spider="ckan"
        )
    assert violations(result) == []
    front = f"{portal.origin}/"
    assert objects(result, front, f"{DCT}title") == {'"CKAN"'}
    assert len(objects(result, front, f"{DCAT}dataset")) == 12


@pytest.mark.parametrize("tells", ["all", "nothing"])
def test_words_of_its_own_are_dcat_ap(
    commands: Commands, loopback: Loopback, tells: str
) -> None:
    """If a portal uses words that no vocabulary has, then it is DCAT-AP even so."""
    status = {"site_title": "Open", "site_description": "Data", "locale_default": "de"}

    def reply(request: RawRequest) -> bytes:
        action = urlsplit(request.target).path.rpartition("/")[2]
        result: Any = {"count": 1, "results": [PACKAGE]}
        if action == "status_show" and tells == "all":
            result = status
        elif action != "package_search":
            return loopback.response(b"", status="403 No")
        body = json.dumps({"success": True, "result": result}).encode()
        return loopback.response(body, "application/json")

    server: RawServer = loopback({"*": reply}, host="127.81.9.20")
    arguments = {"portals": server.url("/"), "depth": 0}
    result = commands.crawl(arguments=arguments, spider="ckan")
    assert violations(result) == []
    front = server.url("/")
    title = '"Open"' if tells == "all" else '"127.81.9.20"'
    assert objects(result, front, f"{DCT}title") == {title}
    assert len(objects(result, front, f"{DCT}publisher")) == 1
    description = '"Data"' if tells == "all" else title
    assert objects(result, front, f"{DCT}description") == {description}


def test_shapes_notice() -> None:
    """If a catalogue lacks mandatory properties, then the shapes say so."""
    from rdflib import Graph

    text = f"<urn:x:c> a <{DCAT}Catalog> ; <{DCAT}dataset> <urn:x:d> ."
    found = judged(Graph().parse(data=text, format="turtle"), DCAT_AP)
    assert len(found) == 4  # title, description, publisher, class of the dataset
