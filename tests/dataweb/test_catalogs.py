"""Sites that describe datasets, and collections in pages."""

from __future__ import annotations

import gzip
import json
import re
from typing import Any
from urllib.parse import urlencode

import pyoxigraph as ox
import pytest

from rdfcrawl.dataweb.config import NodeKind
from rdfcrawl.dataweb.messages import NodeRequest, NodeResponse
from rdfcrawl.dataweb.nodes.base import NodePlan, WebNode, to_ntriples
from rdfcrawl.dataweb.nodes.catalog import CatalogNode, CatalogOptions, DatasetOffer
from rdfcrawl.dataweb.nodes.paged import PagedNode, PagedOptions, PagingStyle

NTRIPLES = "application/n-triples"


def plan(kind: NodeKind) -> NodePlan:
    """A plan at a separate address, with a link."""
    return NodePlan(
        index=0,
        kind=kind,
        address="127.0.0.9",
        port=8085,
        access_uri="http://127.0.0.9:8085/",
        links=("http://127.0.0.1/x",),
    )


def catalog(**options: Any) -> CatalogNode:
    """A site with descriptions that is not served."""
    return CatalogOptions(**options).build(plan(NodeKind.CATALOG))


def paged(**options: Any) -> PagedNode:
    """A site with collections that is not served."""
    return PagedOptions(**options).build(plan(NodeKind.PAGED))


def ask(node: WebNode, url: str, accept: str = "") -> NodeResponse:
    """The answer at a URL."""
    return node.respond(
        NodeRequest("GET", url.removeprefix(node.plan.origin) or "/", accept)
    )


def triples(data: bytes, form: ox.RdfFormat = ox.RdfFormat.N_TRIPLES) -> set[str]:
    """The triples of a document as text."""
    return {str(one.triple) for one in ox.parse(data, format=form)}


def dataset(node: CatalogNode, offer: DatasetOffer) -> set[str]:
    """The triples of a dataset as text."""
    return triples(to_ntriples(node.dataset(offer)))


def descriptions(node: CatalogNode) -> str:
    """The texts of all descriptions."""
    urls = (node.void_url, node.catalog_url, node.plan.origin + "/datasets.html")
    return "".join(ask(node, url).body.decode() for url in urls)


@pytest.mark.parametrize("offer", DatasetOffer)
def test_a_dataset_is_got_by_just_the_ways_that_are_stated(offer: DatasetOffer) -> None:
    """If a dataset is described, its dump, endpoint or links give all of it."""
    node = catalog(offers=(offer,))
    text, truth = descriptions(node), dataset(node, offer)
    dump = ask(node, node.dump_url(offer))
    assert (dump.status == 200) == (node.dump_url(offer) in text)
    if dump.status == 200:
        assert triples(gzip.decompress(dump.body)) == truth
    query = urlencode({"query": "CONSTRUCT WHERE { ?s ?p ?o }"})
    endpoint = ask(node, f"{node.endpoint_url(offer)}?{query}", NTRIPLES)
    assert (endpoint.status == 200) == (node.endpoint_url(offer) in text)
    if endpoint.status == 200:
        assert triples(endpoint.body) == truth
    root = f"{node.plan.origin}/data/{offer}/"
    linked = [ask(node, f"{root}{n}") for n in range(node.options.n_resources)]
    assert {one.status for one in linked} == {200 if root in text else 404}
    if root in text:
        found = [triples(one.body, ox.RdfFormat.TURTLE) for one in linked]
        assert set().union(*found) == truth


def test_each_description_is_of_its_vocabulary() -> None:
    """If all ways are offered, VoID, DCAT and the page have their own datasets."""
    node = catalog()
    void = ask(node, node.void_url).body.decode()
    dcat = ask(node, node.catalog_url).body.decode()
    page = ask(node, node.plan.origin + "/datasets.html").body.decode()
    value = json.loads(re.findall(r'ld\+json">(.*?)</script', page)[0])
    assert len(value["@graph"]) == 2
    for offer in DatasetOffer:
        name = f"#{offer}>"
        assert (name in void) == (offer.startswith("void") or offer is DatasetOffer.ALL)
        assert (name in dcat) == (offer.startswith("dcat") or offer is DatasetOffer.ALL)
    n_truth = sum(len(node.dataset(one)) for one in DatasetOffer)
    assert len(list(node.iter_truth())) == n_truth


def test_the_well_known_uri_may_be_missing() -> None:
    """If there is no /.well-known/void, the front page leads to the description."""
    node = catalog(has_well_known=False)
    assert ask(node, node.plan.origin + "/.well-known/void").status == 404
    assert node.void_url.encode() in ask(node, node.plan.origin).body
    bare = catalog(links_pages=False)
    assert b"describedby" not in ask(bare, bare.plan.origin).body


def following(style: PagingStyle, response: NodeResponse, page: str) -> list[str]:
    """The URLs that a page leads to, in the way of its style."""
    if style is PagingStyle.LINK:
        return re.findall(r'Link: <([^>]*)>; rel="next"', response.head.decode())
    names = {
        PagingStyle.HYDRA: "http://www.w3.org/ns/hydra/core#next",
        PagingStyle.HYDRA_OLD: "http://www.w3.org/ns/hydra/core#nextPage",
    }
    path = f"<{names[style]}>" if style in names else "tree:relation/tree:node"
    store = ox.Store()
    store.bulk_load(response.body, format=ox.RdfFormat.N_TRIPLES)
    found: Any = store.query(
        "PREFIX tree: <https://w3id.org/tree#> "
        f"SELECT ?n WHERE {{ <{page}> {path} ?n }}"
    )
    return [row["n"].value for row in found]


@pytest.mark.parametrize("style", PagingStyle)
@pytest.mark.parametrize("loops", [False, True])
def test_pages_lead_to_all_members(style: PagingStyle, loops: bool) -> None:
    """If pages are followed in the way of their style, all members are in them."""
    node = paged(n_members=45, loops=loops)
    seen: dict[str, set[str]] = {}
    waiting = [node.first_url(style)]
    while waiting:
        url = waiting.pop()
        if url in seen:
            assert loops
            continue
        response = ask(node, url, NTRIPLES)
        assert response.status == 200
        seen[url] = triples(response.body)
        waiting += following(style, response, url)
    assert sorted(seen) == sorted(node.page_urls(style))
    assert len(seen) == 5
    members = triples(to_ntriples(node.members(style)))
    assert members <= set().union(*seen.values())


def test_full_pages_of_an_event_stream_never_change() -> None:
    """If members are added, full pages stay unchanged, and only these say so."""
    node = paged(n_members=25, styles=(PagingStyle.LDES,))
    before = {url: ask(node, url, NTRIPLES) for url in node.page_urls(PagingStyle.LDES)}
    are_full = [b"immutable" in one.head for one in before.values()]
    assert are_full == [True, True, False]
    node.revise(20)
    for url, response in before.items():
        is_same = ask(node, url, NTRIPLES).body == response.body
        assert is_same == (b"immutable" in response.head)
    assert len(node.page_urls(PagingStyle.LDES)) == 5


def test_the_front_page_names_each_collection() -> None:
    """If a crawler begins at the front page, it finds each collection."""
    node = paged()
    body = ask(node, node.plan.origin, NTRIPLES).body.decode()
    assert all(f"<{node.first_url(style)}>" in body for style in PagingStyle)
    assert "http://127.0.0.1/x" in "".join(o for _, _, o in node.iter_truth())


def test_pages_that_are_not_there_are_404() -> None:
    """If a page beyond the last, or another style, is requested, it is not there."""
    node = paged(styles=(PagingStyle.HYDRA,))
    for path in ("/hydra?page=9", "/hydra?page=1", "/hydra?page=0", "/tree", "/x"):
        assert ask(node, node.plan.origin + path).status == 404
    assert ask(node, node.first_url(PagingStyle.HYDRA), "image/png").status == 406
