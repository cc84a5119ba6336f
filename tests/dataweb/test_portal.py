"""A CKAN portal of any size: its search, its walks, its changes, its native DCAT."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlencode

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.dataweb.config import NodeKind
from rdfcrawl.dataweb.messages import NodeRequest
from rdfcrawl.dataweb.nodes.base import NodePlan
from rdfcrawl.dataweb.nodes.portal import PortalNode, PortalOptions
from rdfcrawl.dataweb.nodes.portal_search import BadQuery, parse_order, parse_query
from rdfcrawl.sources.ckan.api import PortalAddress
from tests.support.examples import examples

MODIFIED = "metadata_modified asc, id asc"


def portal(*links: str, **options: Any) -> PortalNode:
    """A portal that is not served."""
    plan = NodePlan(
        index=0,
        kind=NodeKind.PORTAL,
        address="127.0.0.9",
        port=8085,
        access_uri="http://127.0.0.9:8085/",
        links=links,
    )
    return PortalOptions(**options).build(plan)


def call(node: PortalNode, action: str, **parameters: object) -> tuple[int, Any]:
    """Status and JSON of an action."""
    target = f"/api/3/action/{action}?{urlencode(parameters)}"
    response = node.respond(NodeRequest("GET", target))
    return response.status, json.loads(response.body)


def search(node: PortalNode, **parameters: object) -> dict[str, Any]:
    """The result of a search that succeeds."""
    status, value = call(node, "package_search", **parameters)
    assert (status, value["success"]) == (200, True), value
    result: dict[str, Any] = value["result"]
    return result


def walk(node: PortalNode, since: str = "") -> list[dict[str, Any]]:
    """All datasets changed since a time, page by page, in the order of change."""
    found: dict[str, dict[str, Any]] = {}
    while True:
        fq = f"+metadata_modified:[{since} TO *]" if since else ""
        rows = search(node, fq=fq, sort=MODIFIED, rows=1000)["results"]
        if not [one for one in rows if one["id"] not in found]:
            return list(found.values())
        found |= {one["id"]: one for one in rows}
        since = rows[-1]["metadata_modified"][:-3] + "Z"


def test_a_large_portal_is_walked_and_then_only_its_changes() -> None:
    """If 200 of 1,500 change and 100 go, a second walk has 200, the list 1,400."""
    node = portal(n_datasets=1_500)
    first = walk(node)
    assert {one["id"] for one in first} == set(node.ids())
    times = [one["metadata_modified"] for one in first]
    assert times == sorted(times)
    done = node.revise(200, 100)
    assert (len(done.changed), len(done.deleted)) == (200, 100)
    changed = walk(node, "2024-05-01T00:00:00Z")
    assert {one["id"] for one in changed} == done.changed
    assert len(node.ids()) == node.n_datasets == 1_400
    assert not set(node.ids()) & done.deleted
    for gone in sorted(done.deleted)[:3]:
        assert call(node, "package_show", id=gone)[0] == 404
    _, value = call(node, "package_list")
    assert value["result"] == node.names()


def test_datasets_can_be_created() -> None:
    """If datasets come, they are found by list, search and name."""
    node = portal(n_datasets=5)
    done = node.revise(0, 0, created=3)
    assert len(done.created) == 3
    assert done.created < set(node.ids())
    newest = search(node, sort="metadata_modified desc", rows=3)["results"]
    assert {one["id"] for one in newest} == done.created
    for one in newest:
        assert call(node, "package_show", id=one["name"])[1]["result"] == one


def test_equal_seeds_make_equal_revisions() -> None:
    """If two portals are revised by the same seed, their datasets are the same."""
    one, other = portal(), portal()
    assert one.revise(9, 4, seed=5) == other.revise(9, 4, seed=5)
    assert walk(one) == walk(other)
    assert list(one.iter_truth()) == list(other.iter_truth())


def test_rows_are_capped_silently() -> None:
    """If more rows are requested than the portal gives, it gives its most."""
    node = portal(n_datasets=50, rows_cap=20)
    result = search(node, rows=1000)
    assert (result["count"], len(result["results"])) == (50, 20)
    assert len(search(node)["results"]) == 10
    assert len(search(node, rows=30, start=45)["results"]) == 5


def test_refusals_are_those_of_ckan() -> None:
    """If search or list is refused, or a parameter is bad, CKAN's error says so."""
    node = portal(search="refused", lists=False)
    for action in ("package_search", "package_list"):
        status, value = call(node, action)
        assert (status, value["error"]["__type"]) == (403, "Authorization Error")
    node = portal()
    assert call(node, "package_search", rows="x")[0] == 409
    assert call(node, "package_search", fq="id:(")[0] == 409
    assert call(node, "package_search", sort="id")[0] == 409
    assert call(node, "package_show")[0] == 409
    assert call(node, "package_show", id="dataset-9999999")[0] == 404
    assert call(node, "package_show", id="nothing")[0] == 404
    assert call(node, "organization_show", id="x")[0] == 404
    assert node.respond(NodeRequest("GET", "/api/3/action/nothing")).status == 400
    posted = NodeRequest("POST", "/api/3/action/package_show", body=b"[")
    assert node.respond(posted).status == 400


def test_a_busy_portal_says_when_to_come_again() -> None:
    """If every third call is refused, it is a 503 with Retry-After."""
    node = portal(unavailable_every=3)
    request = NodeRequest("GET", "/api/3/action/status_show")
    answers = [node.respond(request) for _ in range(6)]
    assert [one.status for one in answers] == [200, 200, 503] * 2
    assert b"Retry-After: 1" in answers[2].head


def test_robots_are_those_of_ckan() -> None:
    """If a portal is like CKAN's own, robots.txt forbids the API; or it does not."""
    assert "Disallow: /api/" in portal(delay_secs=10).robots
    assert "Crawl-Delay: 10" in portal(delay_secs=10).robots
    assert "/api/" not in portal(forbids_api=False).robots


def test_the_truth_equals_the_datasets() -> None:
    """If datasets are shown, the truth has their titles, resources, files, links."""
    links = tuple(f"http://127.0.0.1/{n}" for n in range(7))
    node = portal(*links, n_datasets=5, rdf_every=2)
    truth = list(node.iter_truth())
    objects = {obj for _, _, obj in truth}
    shown = [call(node, "package_show", id=one)[1]["result"] for one in node.ids()]
    assert {f'"{one["title"]}"' for one in shown} <= objects
    resources = [one for each in shown for one in each["resources"]]
    assert {f"<{one['url']}>" for one in resources} <= objects
    assert set(links) <= {one["url"] for one in resources}
    own = [one for one in resources if one["url"].startswith(node.origin)]
    for one in own:
        path = one["url"].removeprefix(node.origin)
        assert node.respond(NodeRequest("GET", path)).status == 200
    assert sum(one["format"] == "TTL" for one in own) == 3
    assert sum('"Thing' in obj for obj in objects) == 3


def test_a_dataset_may_have_very_many_resources() -> None:
    """If one dataset should have 10,000 resources, it has, and the others few."""
    node = portal(n_datasets=3, n_wide=10_000)
    sizes = [one["num_resources"] for one in search(node, sort="id asc")["results"]]
    assert sorted(sizes) == [2, 3, 10_000]


@pytest.mark.parametrize(
    ("dcat", "extension"), [("hydra", "ttl"), ("link", "rdf"), ("looping", "jsonld")]
)
def test_native_dcat_has_all_datasets_in_pages(dcat: Any, extension: str) -> None:
    """If pages of the native catalogue are followed, all datasets are in them."""
    node = portal(n_datasets=25, dcat=dcat, dcat_page=10)
    url, seen, store = f"/catalog.{extension}?page=1", [], ox.Store()
    while url and url not in seen:
        seen.append(url)
        response = node.respond(NodeRequest("GET", url))
        rdf_format = ox.RdfFormat.from_extension(extension)
        store.bulk_load(response.body, format=rdf_format)
        found: Any = store.query(
            "SELECT ?n WHERE { ?p <http://www.w3.org/ns/hydra/core#nextPage> ?n ."
            f" FILTER(STRENDS(STR(?p), '{url}')) }}"
        )
        linked = re.findall(rb"Link: <([^>]*)>", response.head)
        following = [row["n"].value for row in found] or [
            one.decode() for one in linked
        ]
        url = following[0].removeprefix(node.origin) if following else ""
    assert len(seen) == 3
    assert bool(url) == (dcat == "looping")
    found = store.query(
        "SELECT ?i WHERE { ?d a <http://www.w3.org/ns/dcat#Dataset> ;"
        " <http://purl.org/dc/terms/identifier> ?i }"
    )
    assert {row["i"].value for row in found} == set(node.ids())
    alone = f"/dataset/{node.id_of(3)}.{extension}"
    assert node.respond(NodeRequest("GET", alone)).status == 200
    assert portal().respond(NodeRequest("GET", alone)).status == 404


def test_sections_count_their_datasets() -> None:
    """If datasets of an organization or group are requested, the counts agree."""
    node = portal(n_datasets=100)
    for section, field in (("organization", "organization"), ("group", "groups")):
        _, value = call(node, f"{section}_list")
        total = 0
        for name in value["result"]:
            shown = call(node, f"{section}_show", id=name)[1]["result"]
            found = search(node, fq=f"{field}:{name}")["count"]
            assert shown["package_count"] == found
            total += found
        assert total == 100


def test_requests_of_our_own_client_are_understood() -> None:
    """If the CKAN client searches by scope and by ids, the portal finds the same."""
    node = portal(n_datasets=200)
    ids = node.ids()[:3]
    asked = PortalAddress(url=node.origin).search_ids(ids, rows=10)
    target = asked.url.removeprefix(node.origin)
    found = json.loads(node.respond(NodeRequest("GET", target)).body)["result"]
    assert sorted(one["id"] for one in found["results"]) == sorted(ids)


@pytest.mark.parametrize(
    ("query", "holds"),
    [
        ("a:1", True),
        ("a:2", False),
        ("-a:2", True),
        ("NOT a:1", False),
        ("a:1 b:x", True),
        ("a:1 AND b:y", False),
        ("a:2 OR b:x", True),
        ("+(a:2 OR b:(y OR x)) -a:3", True),
        ('b:"x"', True),
        ('a:"\\1"', True),
        ("a:[0 TO 1]", True),
        ("a:[0 TO 1}", False),
        ("a:{1 TO *]", False),
        ("a:[* TO *]", True),
        ("*:*", True),
        ("b:*", True),
        ("c:*", False),
        ("wor", True),
        ("other", False),
        ("", True),
    ],
)
def test_queries_have_the_meaning_of_solr(query: str, holds: bool) -> None:
    """If a query is parsed, it holds for just the rows that it should."""
    row = {"a": ["1"], "b": ["x"], "": ["Some words"]}
    assert parse_query(query).holds(lambda field: row.get(field, [])) is holds


@pytest.mark.parametrize("query", ["(", "a:(1", "1)", "-", "+ ", "a:[1 2]", "(" * 50])
def test_bad_queries_are_refused(query: str) -> None:
    """If a query is none, then it is refused."""
    with pytest.raises(BadQuery):
        parse_query(query)


@settings(max_examples=examples(200), deadline=None)
@given(st.text(alphabet='ab:()[]{}*"\\+-! TOANDR01', max_size=30))
def test_any_query_is_parsed_or_refused(text: str) -> None:
    """If a query is any text, it is either understood or refused."""
    try:
        assert parse_query(text).holds(lambda _: ["1"]) in (True, False)
        parse_order(text)
    except BadQuery:
        pass


def test_pages_lists_and_paths_that_are_not_there() -> None:
    """If pages are requested, they are CKAN's; all others are 404."""
    node = portal(n_datasets=30, dcat="hydra")
    assert b"ckan 2.10" in node.respond(NodeRequest("GET", "/")).body
    assert (
        b"A dataset"
        in node.respond(NodeRequest("GET", "/dataset/dataset-0000003")).body
    )
    assert json.loads(node.respond(NodeRequest("GET", "/api/3")).body) == {"version": 3}
    rows = call(node, "current_package_list_with_resources", limit=20, offset=15)[1]
    assert [one["id"] for one in rows["result"]] == node.ids()[15:]
    names = call(node, "package_list", limit=4, offset=2)[1]["result"]
    assert names == node.names()[2:6]
    assert "dcat" in call(node, "status_show")[1]["result"]["extensions"]
    for path in (
        "/none",
        "/dataset/none",
        "/catalog.ttl?page=0",
        "/catalog.ttl?page=9",
        "/files/99/0.csv",
        "/files/1/0.ttl",
        "/files/1/9.csv",
    ):
        assert node.respond(NodeRequest("GET", path)).status == 404, path
    assert portal().respond(NodeRequest("GET", "/catalog.ttl")).status == 404
    assert node.delay_secs == 0
    assert node.dataset(3)["name"] == "dataset-0000003"
