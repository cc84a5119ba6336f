"""A Source of ResourceSync: its documents agree with its resources at every time."""

from __future__ import annotations

import hashlib
import io
import zipfile
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from rdfcrawl.dataweb.config import NodeKind
from rdfcrawl.dataweb.messages import NodeRequest
from rdfcrawl.dataweb.nodes.base import NodePlan
from rdfcrawl.dataweb.nodes.resourcesync import ResourceSyncNode, ResourceSyncOptions

RS = "{http://www.openarchives.org/rs/terms/}"
Item = tuple[str, dict[str, str], list[dict[str, str]]]  # loc, rs:md, rs:ln


def source(**options: Any) -> ResourceSyncNode:
    """A source that is not served."""
    plan = NodePlan(
        index=0,
        kind=NodeKind.RESOURCESYNC,
        address="127.0.0.9",
        port=8085,
        access_uri="http://127.0.0.9:8085/",
        links=("http://127.0.0.1/x",),
    )
    return ResourceSyncOptions(**options).build(plan)


def get(node: ResourceSyncNode, url: str) -> bytes:
    """The body at a URL; it has to be there."""
    response = node.respond(NodeRequest("GET", url.removeprefix(node.origin)))
    assert response.status == 200, url
    return response.body


def read(body: bytes) -> tuple[dict[str, str], list[Item]]:
    """The `rs:md` of a document, and its items."""
    root = ET.fromstring(body)
    items = []
    for one in root:
        if one.tag.startswith(RS):
            continue
        loc = next(each.text or "" for each in one if each.tag.endswith("}loc"))
        md = one.find(f"{RS}md")
        links = [dict(link.attrib) for link in one.findall(f"{RS}ln")]
        items.append((loc, {} if md is None else dict(md.attrib), links))
    md = root.find(f"{RS}md")
    return ({} if md is None else dict(md.attrib)), items


def entries(node: ResourceSyncNode, name: str) -> list[Item]:
    """All items of a list, or of the lists that its index names."""
    body = get(node, f"{node.origin}/resync/{name}.xml")
    _, items = read(body)
    if b"<sitemapindex" not in body:
        return items
    return [item for loc, _, _ in items for item in read(get(node, loc))[1]]


def is_sound(body: bytes, md: dict[str, str]) -> bool:
    """Whether bytes match an `rs:md`."""
    hashes = dict(one.split(":") for one in md["hash"].split())
    return len(body) == int(md["length"]) and all(
        hashlib.new(name.replace("-", "", name == "sha-1"), body).hexdigest() == value
        if name != "sha-256"
        else hashlib.sha256(body).hexdigest() == value
        for name, value in hashes.items()
    )


def replay(node: ResourceSyncNode, state: dict[str, bytes]) -> dict[str, bytes]:
    """Do the changes of a change dump to a copy of an older state."""
    state = dict(state)
    for loc, _, _ in entries(node, "changedump"):
        package = zipfile.ZipFile(io.BytesIO(get(node, loc)))
        md, items = read(package.read("manifest.xml"))
        assert md["capability"] == "changedump-manifest"
        for url, facts, _ in items:
            if facts["change"] == "deleted":
                del state[url]
            else:
                body = package.read(facts["path"][1:])
                assert is_sound(body, facts)
                assert (facts["change"] == "created") == (url not in state)
                state[url] = body
    return state


def test_everything_is_found_from_the_description() -> None:
    """If one begins at the well-known URI, each document is linked, with its kind."""
    node = source()
    md, items = read(get(node, node.description_url))
    assert (md["capability"], items[0][0]) == ("description", node.capability_list_url)
    md, items = read(get(node, node.capability_list_url))
    assert md["capability"] == "capabilitylist"
    for loc, facts, _ in items:
        assert read(get(node, loc))[0]["capability"] == facts["capability"]
    assert len(items) == 4
    assert "Sitemap: " + items[0][0] in node.robots
    assert b'<link rel="resourcesync"' in get(node, node.origin + "/")
    path = entries(node, "resourcelist")[0][0].removeprefix(node.origin)
    assert b'rel="resourcesync"' in node.respond(NodeRequest("GET", path)).head


@pytest.mark.parametrize("size", [1000, 7])
def test_the_resource_list_has_all_resources_with_their_hashes(size: int) -> None:
    """If lists are cut in parts or not, each resource is there, with sound hashes."""
    node = source(n_resources=30, list_size=size, hashes=("md5", "sha-1", "sha-256"))
    node.evolve(25)
    listed = entries(node, "resourcelist")
    state = node.state()
    assert {loc for loc, _, _ in listed} == state.keys()
    for loc, md, _ in listed:
        assert get(node, loc) == state[loc]
        assert is_sound(state[loc], md)


def test_the_resource_dump_is_the_state() -> None:
    """If the packages of the dump are unpacked, they are the resources of now."""
    node = source(n_resources=30, package_size=8)
    node.evolve(10)
    found = {}
    for loc, _, _ in entries(node, "resourcedump"):
        package = zipfile.ZipFile(io.BytesIO(get(node, loc)))
        for url, facts, _ in read(package.read("manifest.xml"))[1]:
            found[url] = package.read(facts["path"][1:])
    assert found == node.state()


def test_changes_lead_from_the_old_state_to_the_new() -> None:
    """If the change dump is replayed on an old state, it becomes that of now."""
    node = source(n_resources=60, package_size=50, list_size=50)
    old = node.state()
    made = node.evolve(150, seed=1) + node.evolve(150, seed=2)
    assert made.total() == 300
    assert set(made) == {"created", "updated", "deleted", "moved"}
    assert replay(node, old) == node.state()
    listed = entries(node, "changelist")
    assert len(listed) == len(node.changes()) == 300 + made["moved"]
    times = [md["datetime"] for _, md, _ in listed]
    assert times == sorted(set(times))
    assert [(loc, md["change"]) for loc, md, _ in listed] == [
        (one.url, one.kind) for one in node.changes()
    ]


def test_equal_seeds_make_equal_changes() -> None:
    """If two sources evolve by one seed, they are equal; by another, they differ."""
    one, other, third = (source(n_resources=30) for _ in range(3))
    for node, seed in ((one, 3), (other, 3), (third, 4)):
        node.evolve(40, seed=seed)
    assert one.digests() == other.digests() != third.digests()
    assert list(one.iter_truth()) == list(other.iter_truth())


def test_a_closed_change_list_says_until_when() -> None:
    """If changes are in several lists, all but the last have `until`."""
    node = source(n_resources=10, list_size=10)
    node.evolve(30)
    _, items = read(get(node, f"{node.origin}/resync/changelist.xml"))
    assert len(items) > 2
    assert ["until" in md for _, md, _ in items] == [True] * (len(items) - 1) + [False]
    for (_, md, _), (_, following, _) in pairwise(items):
        assert md["until"] == following["from"]


def test_some_hashes_are_wrong() -> None:
    """If hashes should be wrong, they are, of just the named resources."""
    node = source(n_resources=12, n_wrong=2)
    state = node.state()
    listed = entries(node, "resourcelist")
    unsound = {loc for loc, md, _ in listed if not is_sound(state[loc], md)}
    assert unsound == node.wrong_urls
    assert len(unsound) == 2


def test_mirrors_and_patches_are_linked() -> None:
    """If there are mirrors and patches, entries lead to them, in their order."""
    mirrors = ("http://127.0.0.2", "http://127.0.0.3")
    node = source(n_resources=60, mirrors=mirrors, has_patches=True)
    for loc, _, links in entries(node, "resourcelist"):
        duplicates = [one for one in links if one["rel"] == "duplicate"]
        path = loc.removeprefix(node.origin)
        assert [one["href"] for one in duplicates] == [m + path for m in mirrors]
        assert [one["pri"] for one in duplicates] == ["1", "2"]
    node.evolve(100)
    patches = [
        one["href"]
        for _, _, links in entries(node, "changelist")
        for one in links
        if one["rel"].endswith("/patch")
    ]
    assert patches
    assert b'"replace"' in get(node, patches[0])


def test_omitted_parts_are_not_there() -> None:
    """If a source has no dumps or is not announced, then nothing says otherwise."""
    node = source(has_dumps=False, found_by=())
    assert len(read(get(node, node.capability_list_url))[1]) == 2
    for path in (
        "/.well-known/resourcesync",
        "/resync/resourcedump.xml",
        "/resync/resourcedump-0.zip",
        "/patch/1",
        "/resync/none",
    ):
        assert node.respond(NodeRequest("GET", path)).status == 404
    assert "Sitemap" not in node.robots
    only_dumps = source(has_lists=False)
    assert len(read(get(only_dumps, only_dumps.capability_list_url))[1]) == 2
    assert (
        only_dumps.respond(NodeRequest("GET", "/resync/resourcedump-9.zip")).status
        == 404
    )
