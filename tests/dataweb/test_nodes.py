"""Responses of each kind of node, without a network."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import random
import tarfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph as ox
import pytest
import rdflib
from pyRdfa import Options, pyRdfa
from rdflib.compare import to_isomorphic

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.dataweb.config import DumpProfile, NodeKind, WebConfig, parse_weights
from rdfcrawl.dataweb.messages import NodeRequest
from rdfcrawl.dataweb.negotiation import RDF_NEGOTIATOR
from rdfcrawl.dataweb.nodes.base import NodePlan, WebNode
from rdfcrawl.dataweb.nodes.ckan import CkanNode
from rdfcrawl.dataweb.nodes.dereferencing import DereferencingNode
from rdfcrawl.dataweb.nodes.dump import DumpFormat, DumpNode, draw_dump_format
from rdfcrawl.dataweb.nodes.packings import PACKINGS, DumpPacking
from rdfcrawl.dataweb.nodes.pages import make_pages
from rdfcrawl.dataweb.nodes.rdfa import ENTRANCE_PATH, RdfaNode, RdfaPage
from rdfcrawl.dataweb.nodes.serializations import SERIALIZATIONS, DumpSerialization
from rdfcrawl.dataweb.nodes.suite import read_suite_pages
from rdfcrawl.dataweb.web import build_web
from tests.support.web_nodes import LINKS, OBJECTS, ORIGIN, fields, get, plan, triples

if TYPE_CHECKING:
    from tests.support.conformance_suites import Suites


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", "text/turtle"),
        ("*/*", "text/turtle"),
        ("text/*", "text/turtle"),
        ("application/*", "application/n-triples"),
        ("application/rdf+xml", "application/rdf+xml"),
        ("text/rdf+n3", "text/n3"),
        ("APPLICATION/LD+JSON; profile=x", "application/ld+json"),
        ("application/trig;q=0.3, application/n-quads;q=0.7", "application/n-quads"),
        ("application/trig, application/n-quads", "application/trig"),
        ("text/html, application/rdf+xml;q=0.1", "application/rdf+xml"),
        ("text/turtle;q=0, */*;q=0.1", "application/n-triples"),
        ("text/turtle;q=0.2, */*;q=0.5", "application/n-triples"),
        ("text/html", None),
        ("text/turtle;q=0", None),
        ("text/turtle;q=high", None),
        (",;,", None),
    ],
)
def test_negotiation(accept: str, expected: str | None) -> None:
    """If `Accept` is given, RFC 9110 12.5.1 decides; ties go to the first."""
    chosen = RDF_NEGOTIATOR.choose(accept)
    assert (chosen.media_type if chosen else None) == expected


@pytest.mark.parametrize(
    "media_type",
    [
        "application/n-triples",
        "application/n-quads",
        "text/turtle",
        "application/trig",
        "application/rdf+xml",
        "application/ld+json",
        "text/n3",
    ],
)
def test_a_resource_says_the_same_in_every_format(media_type: str) -> None:
    """If a resource is requested in a format, the body parses to its triples."""
    node = DereferencingNode(plan(NodeKind.DEREFERENCING), OBJECTS)
    response = get(node, "/dataset-0/resource-0", media_type)
    assert fields(response)["Content-Type"] == media_type
    rdf_format = ox.RdfFormat.from_media_type(media_type)
    found = {quad.triple for quad in ox.parse(response.body, format=rdf_format)}
    base = f"{ORIGIN}/dataset-0"
    assert found == {
        ox.Triple(
            ox.NamedNode(f"{base}/resource-0"),
            ox.NamedNode(f"{base}/property-0"),
            ox.NamedNode(f"{base}/resource-{k}"),
        )
        for k in (1, 2)
    }
    assert get(node, "/dataset-0/resource-0", media_type) is response


@pytest.mark.parametrize(
    ("target", "accept", "status"),
    [
        ("/dataset-0/resource-3", "", 200),
        ("/dataset-0/resource-3", "image/png", 406),
        ("/dataset-0/resource-4", "", 404),
        ("/dataset-0/resource-4", "image/png", 404),
        ("/dataset-0/resource-01", "", 404),
        ("/dataset-0/property-0", "", 404),
        ("/robots.txt", "", 404),
        ("/", "", 404),
    ],
)
def test_status_of_a_dereferencing_node(target: str, accept: str, status: int) -> None:
    """If a URL is no resource it is 404, if no format suits it is 406."""
    node = DereferencingNode(plan(NodeKind.DEREFERENCING), OBJECTS)
    response = get(node, target, accept)
    assert response.status == status
    assert not {"ETag", "Last-Modified", "Cache-Control"} & fields(response).keys()


def test_robots_states_delay_and_disallowed() -> None:
    """If there are a delay and disallowed resources, robots.txt names both."""
    node = DereferencingNode(
        plan(NodeKind.DEREFERENCING), OBJECTS, n_disallowed=1, delay_secs=0.5
    )
    assert get(node, "/robots.txt").body.decode() == (
        "User-agent: *\nCrawl-delay: 0.5\nDisallow: /dataset-0/resource-3\n"
    )
    disallowed = get(node, "/dataset-0/resource-3", "application/n-triples")
    assert (disallowed.status, disallowed.body) == (200, b"")


def unpack(name: str, body: bytes) -> bytes:
    """Decompress the dump of a dump node."""
    if name == ".gz":
        return gzip.decompress(body)
    if name == ".bz2":
        return bz2.decompress(body)
    if name == ".zip":
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            (entry,) = archive.namelist()
            assert Path(entry).suffix == ".dump"
            return archive.read(entry)
    if name in (".tar", ".tar.gz"):
        with tarfile.open(fileobj=io.BytesIO(body)) as tar:
            (member,) = tar.getmembers()
            stream = tar.extractfile(member)
            assert stream is not None
            return stream.read()
    return body


@pytest.mark.parametrize(
    "packing",
    [
        None,
        *dict.fromkeys(
            (*PACKINGS[DumpProfile.ORCA_2020], *PACKINGS[DumpProfile.ORCA_2021])
        ),
    ],
    ids=lambda one: one.extension if one else "plain",
)
@pytest.mark.parametrize(
    "serialization", SERIALIZATIONS[DumpProfile.ORCA_2020], ids=lambda s: s.extension
)
def test_a_dump_decodes_to_the_truth(
    serialization: DumpSerialization, packing: DumpPacking | None
) -> None:
    """If a dump is unpacked and parsed, it holds exactly the node's triples."""
    dump_format = DumpFormat(serialization, packing)
    node = DumpNode(plan(NodeKind.DUMP), OBJECTS, dump_format=dump_format)
    response = get(node, dump_format.path)
    expected_type = (packing or serialization).media_type
    assert fields(response)["Content-Type"] == expected_type
    body = unpack(packing.extension if packing else "", response.body)
    rdf_format = ox.RdfFormat.from_extension(serialization.extension)
    assert rdf_format is not None
    quads = ox.parse(body, format=rdf_format)
    assert {quad.triple for quad in quads} == triples(node)
    assert get(node, "/other.ttl").status == 404
    assert get(node, "/robots.txt").status == 404


@pytest.mark.parametrize("profile", [DumpProfile.ORCA_2020, DumpProfile.ORCA_2021])
def test_dump_formats_follow_the_profile(profile: DumpProfile) -> None:
    """If dumps are drawn, each profile uses all of its compressions and no other."""
    config = WebConfig(profile=profile, compressed=0.5)
    rng = random.Random(1)
    drawn = [draw_dump_format(config, rng, nth) for nth in range(400)]
    assert {one.packing for one in drawn} == {None, *PACKINGS[profile]}
    assert {one.serialization for one in drawn} == set(SERIALIZATIONS[profile])
    n_packed = sum(one.packing is not None for one in drawn)
    assert 150 < n_packed < 250


def test_extended_profile_has_every_combination() -> None:
    """If there are enough dumps, every serialization is in every compression."""
    config = WebConfig(profile=DumpProfile.EXTENDED)
    serializations = SERIALIZATIONS[DumpProfile.EXTENDED]
    packings = (None, *PACKINGS[DumpProfile.EXTENDED])
    n = len(serializations) * len(packings)
    drawn = {draw_dump_format(config, random.Random(1), nth) for nth in range(n)}
    assert drawn == {DumpFormat(s, p) for s in serializations for p in packings}


def test_ckan_lists_shows_and_pages() -> None:
    """If the API is paged, the pages together hold each package once."""
    node = CkanNode(plan(NodeKind.CKAN))
    listed = json.loads(get(node, "/api/3/action/package_list").body)
    assert listed["success"] is True
    assert len(listed["result"]) == 2
    found = []
    for start in range(3):
        target = f"/api/3/action/package_search?rows=1&start={start}"
        page = json.loads(get(node, target).body)["result"]
        assert page["count"] == 2
        found += [package["name"] for package in page["results"]]
    assert found == listed["result"]
    shown = json.loads(get(node, f"/api/3/action/package_show?id={found[0]}").body)
    assert shown["result"]["title"].startswith("Dataset http://127.42.0.")
    assert shown["result"]["resources"][0]["url"] in LINKS
    by_id = node.respond(
        NodeRequest(
            "POST",
            "/api/3/action/package_show",
            content_type="application/json",
            body=json.dumps({"id": shown["result"]["id"]}).encode(),
        )
    )
    assert json.loads(by_id.body)["result"] == shown["result"]


@pytest.mark.parametrize(
    ("target", "status", "kind"),
    [
        ("package_show?id=nothing", 404, "Not Found Error"),
        ("package_show", 409, "Validation Error"),
        ("package_search?rows=-1", 409, "Validation Error"),
        ("package_search?start=x", 409, "Validation Error"),
    ],
)
def test_ckan_errors_have_the_envelope(target: str, status: int, kind: str) -> None:
    """If an action fails, `success` is false and the error has a type."""
    response = get(CkanNode(plan(NodeKind.CKAN)), f"/api/3/action/{target}")
    answer = json.loads(response.body)
    assert response.status == status
    assert answer["success"] is False
    assert answer["error"]["__type"] == kind


def test_ckan_status_front_page_and_unknown_action() -> None:
    """If a client looks for the software, API and front page say CKAN."""
    node = CkanNode(plan(NodeKind.CKAN))
    status = json.loads(get(node, "/api/3/action/status_show").body)["result"]
    assert status["ckan_version"] == "2.8.1"
    assert b'name="generator" content="ckan 2.8.1"' in get(node, "/").body
    assert get(node, "/api/3/action/package_fly").status == 400
    assert get(node, "/dataset").status == 404


def test_ckan_names_are_unique() -> None:
    """If two URLs strip to the same name, both are packages."""
    links = ("http://127.42.1.12:1/", "http://127.42.11.2:1/")
    plan_ = NodePlan(
        index=0,
        kind=NodeKind.CKAN,
        address="127.42.0.9",
        port=1,
        access_uri="",
        links=links,
    )
    result = json.loads(get(CkanNode(plan_), "/api/3/action/package_list").body)
    assert len(result["result"]) == 2


def extract(page: RdfaPage, origin: str) -> rdflib.Graph:
    """Read a page with a parser of RDFa that is not ours."""
    text = page.body.decode()
    is_xhtml = "<?xml" in text[:600] or "xhtml" in text[:600].lower()
    parser = pyRdfa(
        Options(output_default_graph=True, output_processor_graph=False),
        base=origin + page.path,
        media_type="application/xhtml+xml" if is_xhtml else "text/html",
        rdfa_version="1.1",
    )
    source = io.BytesIO(page.body) if is_xhtml else io.StringIO(text)
    graph: rdflib.Graph = parser.graph_from_source(source)
    return graph


def expected(page: RdfaPage, origin: str) -> rdflib.Graph:
    """The triples that a page is said to have."""
    graph = rdflib.Graph()
    quads = ox.parse(
        page.turtle,
        format=ox.RdfFormat.TURTLE,
        base_iri=origin + page.path,
        lenient=True,
    )
    graph.parse(data=ox.serialize(quads, format=ox.RdfFormat.N_TRIPLES), format="nt")
    return graph


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("page", make_pages(ORIGIN), ids=lambda page: page.path)
def test_own_rdfa_pages_have_their_triples(page: RdfaPage) -> None:
    """If another parser reads a page, it finds the triples the page claims."""
    assert to_isomorphic(extract(page, ORIGIN)) == to_isomorphic(expected(page, ORIGIN))


def test_rdfa_entrance_links_to_all() -> None:
    """If the entrance is read, it names each page and each link, and so the truth."""
    node = RdfaNode(plan(NodeKind.RDFA), make_pages(ORIGIN))
    page = get(node, ENTRANCE_PATH)
    assert page.status == 200
    urls = [o[1:-1] for _, p, o in node.iter_truth() if "seeAlso" in p]
    assert set(urls) >= {*LINKS}
    assert len(urls) == len(set(urls)) == len(make_pages(ORIGIN)) + len(LINKS)
    assert all(f'href="{url}"'.encode() in page.body for url in urls)
    local = [url.removeprefix(ORIGIN) for url in urls if url.startswith(ORIGIN)]
    assert {get(node, path).status for path in local} == {200}
    assert get(node, "/pages/none.html").status == 404


_SUITE_PAGE = """<!DOCTYPE html><html prefix="e: http://vocab.example/ns#"><body>
<p about="photo.jpg" property="e:by">Ada</p>
<a rel="e:see" href="http://www.example.org/x">x</a>
<p property="dc:date">2010</p></body></html>"""
_SUITE_TURTLE = """@prefix e: <http://vocab.example/ns#> .
<photo.jpg> e:by "Ada" .
<http://rdfa.info/test-suite/test-cases/rdfa1.1/html5/0001.html>
  e:see <http://www.example.org/x> ; <http://purl.org/dc/terms/date> "2010" ."""


def write_suite(root: Path) -> None:
    """A test suite with one case of each sort."""
    folder = root / "any" / "test-suite" / "test-cases" / "rdfa1.1" / "html5"
    folder.mkdir(parents=True)
    case = {"versions": ["rdfa1.1"], "hostLanguages": ["html5"]}
    case |= {"classification": "http://x#required"}  # type: ignore[dict-item]
    cases = [
        case | {"num": "0001", "expectedResults": True},
        case | {"num": "0002", "expectedResults": False},
        case | {"num": "0003", "queryParam": "rdfagraph=processor"},
        case | {"num": "0004"},
    ]
    manifest = root / "any" / "test-suite" / "manifest.jsonld"
    manifest.write_text(json.dumps({"@graph": cases}))
    for number in ("0001", "0002", "0003"):
        (folder / f"{number}.html").write_text(_SUITE_PAGE)
        (folder / f"{number}.ttl").write_text(_SUITE_TURTLE)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_suite_pages_stay_on_the_node(tmp_path: Path) -> None:
    """If a suite is served, positive cases are, with other hosts rewritten."""
    write_suite(tmp_path)
    (page,) = read_suite_pages(str(tmp_path), ORIGIN)
    assert page.path == "/test-suite/test-cases/rdfa1.1/html5/0001.html"
    assert b"example" not in page.body + page.turtle
    assert f'href="{ORIGIN}/x"'.encode() in page.body
    # dc: is of the initial context, the page cannot rename it.
    assert b"http://purl.org/dc/terms/date" in page.turtle
    assert to_isomorphic(extract(page, ORIGIN)) == to_isomorphic(expected(page, ORIGIN))


def test_a_folder_without_suite_is_an_error(tmp_path: Path) -> None:
    """If there is no suite in the folder, that is a ConfigError."""
    with pytest.raises(ConfigError, match="no RDFa test suite"):
        read_suite_pages(str(tmp_path), ORIGIN)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_published_suite_survives_rewriting(suites: Suites) -> None:
    """If the published suite is served, at most 12 of 677 pages differ from pyRdfa."""
    folder = str(suites.checkout("rdfa"))
    pages = read_suite_pages(folder, ORIGIN)
    assert len(pages) == 677
    sample = pages[::25]
    n_equal = sum(
        to_isomorphic(extract(page, ORIGIN)) == to_isomorphic(expected(page, ORIGIN))
        for page in sample
    )
    assert n_equal >= len(sample) - 1
    hosts = {node.plan.kind for node in _suite_web(folder)}
    assert NodeKind.RDFA in hosts


def _suite_web(directory: str) -> tuple[WebNode, ...]:
    config = WebConfig(
        n_nodes=2, degree=1, weights=parse_weights("rdfa=1"), rdfa_dir=directory
    )
    return build_web(config).nodes
