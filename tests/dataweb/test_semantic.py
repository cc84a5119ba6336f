"""Sites with Semantic Sitemaps: every way to the data gives the same data."""

from __future__ import annotations

import gzip
import json
from itertools import combinations
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

import pyoxigraph as ox
import pytest

from rdfcrawl.dataweb.config import NodeKind
from rdfcrawl.dataweb.messages import NodeRequest, NodeResponse
from rdfcrawl.dataweb.nodes.base import NodePlan, to_ntriples
from rdfcrawl.dataweb.nodes.semantic import (
    DatasetWay,
    DumpKind,
    SemanticNode,
    SemanticOptions,
)
from rdfcrawl.dataweb.nodes.semantic_sitemap import DatasetNames, DatasetPlace

WAYS = [ways for n in (1, 2, 3, 4) for ways in combinations(DatasetWay, n)]


def site(index: int = 0, **options: Any) -> SemanticNode:
    """A site that is not served."""
    plan = NodePlan(
        index=index,
        kind=NodeKind.SEMANTIC,
        address=f"127.0.0.{index + 9}",
        port=8085,
        access_uri=f"http://127.0.0.{index + 9}:8085/",
    )
    return SemanticOptions(**options).build(plan)


def ask(node: SemanticNode, url: str, accept: str = "") -> NodeResponse:
    """The answer at a URL."""
    return node.respond(NodeRequest("GET", url.removeprefix(node.origin), accept))


def elements(node: SemanticNode) -> list[dict[str, list[str]]]:
    """The datasets of a sitemap: texts by the local names of elements."""
    root = ET.fromstring(ask(node, node.sitemap_url).body)
    datasets = [one for one in root if one.tag.endswith("}dataset")]
    found: list[dict[str, list[str]]] = []
    for one in datasets:
        names: dict[str, list[str]] = {}
        for each in one:
            names.setdefault(each.tag.partition("}")[2], []).append(each.text or "")
        found.append(names)
    return found


def canonical(data: bytes, rdf_format: ox.RdfFormat = ox.RdfFormat.N_TRIPLES) -> str:
    """A graph as text that does not depend on labels and order."""
    quads = ox.parse(data, format=rdf_format)
    graph = ox.Dataset(ox.Quad(*one.triple) for one in quads)
    graph.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return "\n".join(sorted(map(str, graph)))


@pytest.mark.parametrize("ways", WAYS, ids="+".join)
@pytest.mark.parametrize("names", DatasetNames)
def test_the_sitemap_declares_just_the_ways_that_there_are(
    names: DatasetNames, ways: tuple[DatasetWay, ...]
) -> None:
    """If a site offers some ways, its sitemap has these, in the revision's words."""
    node = site(names=names, ways=ways, slicing="cbd")
    (found,) = elements(node)
    endpoint, fragment = {
        DatasetNames.FIRST: ("sparqlEndpointLocation", "dataFragmentDump"),
        DatasetNames.SECOND: ("sparqlEndpointLocation", "dataDumpLocation"),
        DatasetNames.EXAMPLES: ("sparqlEndPoint", "dataFragmentDumpLocation"),
    }[names]
    assert (endpoint in found) == (DatasetWay.SPARQL in ways)
    assert ("linkedDataPrefix" in found) == (DatasetWay.PREFIX in ways)
    if DatasetWay.FRAGMENTS in ways:
        assert found[fragment] == list(node.fragment_urls)
    is_merged = names is DatasetNames.SECOND and DatasetWay.FRAGMENTS in ways
    assert (node.dump_url in found.get("dataDumpLocation", [])) == (
        DatasetWay.DUMP in ways and not is_merged
    )
    assert found["sampleURI"] == list(node.samples())
    statuses = {
        DatasetWay.DUMP: ask(node, node.dump_url).status,
        DatasetWay.FRAGMENTS: ask(node, node.fragment_urls[0]).status,
        DatasetWay.SPARQL: ask(node, node.origin + "/sparql").status,
        DatasetWay.PREFIX: ask(node, node.uri(0)).status,
    }
    assert statuses == {way: 200 if way in ways else 404 for way in DatasetWay}


@pytest.mark.parametrize("dump", DumpKind)
def test_dump_and_fragments_are_the_dataset(dump: DumpKind) -> None:
    """If dump or all fragments are read, they are the triples of the dataset."""
    node = site(dump=dump, n_uris=12)
    truth = canonical(to_ntriples(node.iter_truth()))
    body = ask(node, node.dump_url).body
    if dump.endswith(".gz"):
        body = gzip.decompress(body)
    form = {
        DumpKind.RDF_XML: ox.RdfFormat.RDF_XML,
        DumpKind.NQUADS_GZ: ox.RdfFormat.N_QUADS,
    }.get(dump, ox.RdfFormat.N_TRIPLES)
    assert canonical(body, form) == truth
    parts = [ask(node, url).body for url in node.fragment_urls]
    assert canonical(b"".join(parts)) == truth
    assert ask(node, node.origin + "/dump-9.nt").status == 404


def test_descriptions_and_endpoint_are_the_dataset() -> None:
    """If all URIs are resolved, or the endpoint is queried, it is the dataset."""
    node = site(n_uris=12)
    truth = canonical(to_ntriples(node.iter_truth()))
    accept = "application/n-triples"
    bodies = [ask(node, node.uri(n), accept).body for n in range(12)]
    assert canonical(b"".join(bodies)) == truth
    query = urlencode({"query": "CONSTRUCT WHERE { ?s ?p ?o }"})
    body = ask(node, f"{node.origin}/sparql?{query}", accept).body
    assert canonical(body) == truth
    assert ask(node, node.uri(12)).status == 404
    assert ask(node, node.uri(1), "image/png").status == 406


@pytest.mark.parametrize(
    ("slicing", "n_statements", "has_part", "has_incoming"),
    [
        ("subject", 4, False, False),
        ("subject-object", 6, False, True),
        ("cbd", 6, True, False),
        ("scbd", 7, True, True),
        ("msg", 7, True, True),
    ],
)
def test_descriptions_are_cut_as_the_slicing_says(
    slicing: str, n_statements: int, has_part: bool, has_incoming: bool
) -> None:
    """If a slicing is declared, the description of a URI follows it."""
    node = site(slicing=slicing, n_uris=12)
    found = node.description(5)
    assert len(found) == n_statements
    label_of_part = '"Part of thing 5"'
    assert (label_of_part in [obj for _, _, obj in found]) == has_part
    incoming = [s for s, _, o in found if o == f"<{node.uri(5)}>" and "/id/4" in s]
    assert bool(incoming) == has_incoming


def test_mirrors_have_priorities_and_serve_the_same() -> None:
    """If a mirror confirms a claim about it, both sitemaps have one dataset."""
    main = site(mirrors=(DatasetPlace("http://127.0.0.10:8085", 0),), dump_priority=10)
    mirror = site(1, mirrors_of=main)
    text = ask(main, main.sitemap_url).body.decode()
    assert f'priority="0">{mirror.origin}{main.dump_path}<' in text
    assert 'priority="10"' in text
    assert elements(mirror) == elements(main)
    dump = ask(main, main.dump_url).body
    assert ask(mirror, mirror.origin + main.dump_path).body == dump
    assert ask(mirror, mirror.uri(0)).status == 404
    assert list(mirror.iter_truth()) == []
    assert elements(site(1, mirrors_of=main, confirms=False)) == []
    second = site(mirrors=main.options.mirrors, names=DatasetNames.SECOND)
    assert b"priority=" not in ask(second, second.sitemap_url).body


def test_broken_ways_fail_though_they_are_declared() -> None:
    """If a way is broken, it answers 500, and is as before when it is mended."""
    node = site(broken=tuple(DatasetWay))
    urls = (node.dump_url, node.fragment_urls[1], node.uri(3), node.origin + "/sparql")
    assert [ask(node, url).status for url in urls] == [500] * 4
    node.broken.clear()
    assert [ask(node, url).status for url in urls] == [200] * 4


def test_samples_may_differ_from_the_dump() -> None:
    """If samples differ, each lacks a triple of the dump and has one beyond it."""
    node = site(samples_differ=True, n_uris=9, n_samples=2)
    truth = set(node.iter_truth())
    for number in range(9):
        found = set(node.description(number))
        assert len(found - truth) == (1 if number < 2 else 0)


def test_claims_are_datasets_of_other_hosts() -> None:
    """If a site claims dumps of others, they are declared, and not in the truth."""
    claim = "http://127.0.0.1/dump.nt"
    node = site(claims=(claim,), claimed_prefix="http://127.0.0.1/")
    _, found = elements(node)
    assert found["dataDumpLocation"] == [claim]
    assert found["linkedDataPrefix"] == ["http://127.0.0.1/"]
    assert not any("127.0.0.1/" in one for s in node.iter_truth() for one in s)


def test_the_endpoint_has_the_graph_that_is_named() -> None:
    """If a graph name is declared, the data are in this graph of the endpoint."""
    name = "http://127.0.0.9:8085/things"
    node = site(names=DatasetNames.SECOND, graph_name=name)
    assert elements(node)[0]["sparqlGraphName"] == [name]
    query = urlencode({"query": "SELECT DISTINCT ?g WHERE { GRAPH ?g { ?s ?p ?o } }"})
    body = json.loads(ask(node, f"{node.origin}/sparql?{query}").body)
    assert [one["g"]["value"] for one in body["results"]["bindings"]] == [name]


def test_a_revision_shows_in_data_and_lastmod() -> None:
    """If a site is revised, dump, endpoint and lastmod are other ones."""
    node = site(names=DatasetNames.SECOND, ways=(DatasetWay.DUMP, DatasetWay.SPARQL))
    before = ask(node, node.dump_url).body, elements(node)[0]["lastmod"]
    node.revise()
    after = ask(node, node.dump_url).body, elements(node)[0]["lastmod"]
    assert before[0] != after[0]
    assert before[1] != after[1]


def test_robots_name_the_sitemap_or_do_not() -> None:
    """If the sitemap is not named, it is at its usual place all the same."""
    assert "Sitemap: " in site().robots
    node = site(in_robots=False)
    assert "Sitemap" not in node.robots
    assert ask(node, node.sitemap_url).status == 200
