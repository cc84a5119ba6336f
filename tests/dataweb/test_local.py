"""Nodes that are started one by one, their log, their validators, their process."""

from __future__ import annotations

import http.client
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.dataweb.config import (
    ORCA_KINDS,
    DumpProfile,
    NodeKind,
    WebConfig,
    parse_config,
)
from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.nodes.sitemap import SitemapOptions
from rdfcrawl.dataweb.process import run_dataweb
from rdfcrawl.dataweb.recall import judge
from rdfcrawl.dataweb.sources import parse_sources
from rdfcrawl.dataweb.web import build_web

if TYPE_CHECKING:
    from pathlib import Path

NEW_KINDS = tuple(kind for kind in NodeKind if kind not in ORCA_KINDS)
ALL = WebConfig(
    n_nodes=14,
    triples=60,
    profile=DumpProfile.EXTENDED,
    weights=dict.fromkeys(NodeKind, 1.0),
    port=0,
    first_address="127.92.0.1",
)


def fetch(url: str, **fields: str) -> tuple[int, http.client.HTTPMessage, bytes]:
    """Status, fields and body of one GET."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=60)
    try:
        headers = {name.replace("_", "-"): value for name, value in fields.items()}
        connection.request("GET", url.partition(parts.netloc)[2], headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def test_nodes_are_started_one_by_one_at_given_addresses() -> None:
    """If two nodes are started, each is where `origins` said, with its own log."""
    with LocalWeb(first_address="127.92.1.1", n_hosts=2) as web:
        origins = web.origins(2)
        one, other = (web.start(SitemapOptions(n_pages=3)) for _ in range(2))
        assert (one.origin, other.origin) == origins
        fetch(one.page_url(1), User_Agent="probe", Accept="text/turtle")
        (asked,) = web.requests(one)
        assert (asked.method, asked.target, asked.status) == ("GET", "/page/1", 200)
        assert (asked.user_agent, asked.accept) == ("probe", "text/turtle")
        assert web.requests(other) == ()
        assert web.figures(one).n_requests == 1
        web.forget()
        assert web.targets(one) == []
        with pytest.raises(ConfigError, match="no address is left"):
            web.start(SitemapOptions())


def test_conditional_requests_get_304_until_a_change() -> None:
    """If a page has not changed, its validators give 304; after a change, 200."""
    with LocalWeb(first_address="127.92.1.1") as web:
        site = web.start(SitemapOptions(n_pages=3))
        _, fields, body = fetch(site.page_url(0))
        tag, date = fields["ETag"], fields["Last-Modified"]
        for asked in ({"If_None_Match": tag}, {"If_Modified_Since": date}):
            status, _, nothing = fetch(site.page_url(0), **asked)
            assert (status, nothing) == (304, b"")
        assert [one.is_conditional for one in web.requests(site)] == [False, True, True]
        assert fetch(site.page_url(0), If_None_Match='"other"')[0] == 200
        site.revise(3)
        for asked in ({"If_None_Match": tag}, {"If_Modified_Since": date}):
            status, _, changed = fetch(site.page_url(0), **asked)
            assert status == 200
            assert changed != body


def test_a_range_gives_the_rest_if_the_document_is_still_the_same() -> None:
    """If a range is requested with the right tag, 206 has the rest; else 200 all."""
    with LocalWeb(first_address="127.92.1.1") as web:
        site = web.start(SitemapOptions(n_pages=1))
        _, fields, body = fetch(site.page_url(0))
        tag = fields["ETag"]
        status, fields, rest = fetch(site.page_url(0), Range="bytes=10-", If_Range=tag)
        assert (status, rest) == (206, body[10:])
        assert fields["Content-Range"] == f"bytes 10-{len(body) - 1}/{len(body)}"
        status, _, whole = fetch(site.page_url(0), Range="bytes=10-", If_Range='"x"')
        assert (status, whole) == (200, body)


def test_a_web_of_all_kinds_runs_as_a_process_and_changes(tmp_path: Path) -> None:
    """If nodes of a process change, the file of the truth is that of now."""
    with run_dataweb(ALL, tmp_path) as web:
        hosts = web.log().hosts
        assert {host.kind for host in hosts} == set(NodeKind)
        index = {host.kind: host.index for host in hosts}
        fetch(f"{hosts[index['portal']].origin}/robots.txt")
        (asked,) = web.requests(index["portal"])
        assert asked.target == "/robots.txt"
        before = web.truth_path.read_bytes()
        changed = web.change(index["portal"], changed=2, deleted=1)
        assert [len(changed[name]) for name in ("changed", "deleted")] == [2, 1]
        assert web.change(index["resourcesync"], n=5)
        assert web.truth_path.read_bytes() != before
        with pytest.raises(ConfigError, match="do not change"):
            web.change(index["deref"])
        with pytest.raises(ConfigError, match="unexpected keyword"):
            web.change(index["portal"], other=1)
        with pytest.raises(ConfigError, match="no node"):
            web.requests(99)
        for kind in NEW_KINDS:
            if kind not in (NodeKind.CATALOG, NodeKind.EVOLVING):
                web.change(index[kind])
    assert judge(tmp_path / "truth.nq", [str(tmp_path / "truth.nq")]).micro == 1.0


def test_equal_parameters_give_equal_nodes_of_all_kinds() -> None:
    """If a web of all kinds is made twice, the truth is the same to the byte."""
    config = replace(ALL, port=8085)
    one, other = build_web(config), build_web(parse_config(config.to_json()))
    assert list(one.iter_truth()) == list(other.iter_truth())
    assert one.seeds == other.seeds
    linked = {uri for node in one.nodes for uri in node.plan.links}
    truth = "".join(one.iter_truth())
    assert [uri for uri in linked if f"<{uri}>" not in truth] == []


def test_further_kinds_are_of_the_extended_profile() -> None:
    """If a profile of ORCA is wanted, nodes of other kinds are refused."""
    with pytest.raises(ConfigError, match="portal nodes are of the extended profile"):
        WebConfig(weights={NodeKind.PORTAL: 1.0})
    assert set(WebConfig(profile=DumpProfile.EXTENDED).weights) == set(ORCA_KINDS)


@pytest.mark.parametrize("text", ["portal", "deref.a=1", "portal.=1", "portal.rows"])
def test_bad_source_options_are_refused(text: str) -> None:
    """If an option of a source is not KIND.OPTION=VALUE, then it is refused."""
    with pytest.raises(ConfigError, match="is not KIND"):
        parse_sources([text])


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (NodeKind.PORTAL, {"unknown": 1}, "no option"),
        (NodeKind.SEMANTIC, {"mirrors_of": "x"}, "no option"),
        (NodeKind.PORTAL, {"n_datasets": "many"}, "cannot be"),
        (NodeKind.PORTAL, {"lists": "perhaps"}, "cannot be"),
        (NodeKind.SITEMAP, {"formats": "urlset,odt"}, "cannot be"),
    ],
)
def test_options_that_a_kind_has_not_are_refused(
    kind: NodeKind, options: dict[str, Any], message: str
) -> None:
    """If a source has no such option or value, then the message names it."""
    config = replace(
        ALL, port=1, n_nodes=1, degree=0, weights={kind: 1.0}, sources={kind: options}
    )
    with pytest.raises(ConfigError, match=message):
        build_web(config)


def test_options_of_sources_are_read_from_texts() -> None:
    """If the command line has options, numbers, lists and names are distinguished."""
    sources = parse_sources(
        ["sitemap.formats=text,atom", "sitemap.n_pages=4", "sitemap.has_lastmod=false"]
    )
    config = replace(
        ALL,
        port=1,
        n_nodes=1,
        degree=0,
        weights={NodeKind.SITEMAP: 1.0},
        sources=sources,
    )
    (node,) = build_web(config).nodes
    options: Any = getattr(node, "options", None)
    assert options == SitemapOptions(
        n_pages=4, formats=options.formats, has_lastmod=False
    )
    assert [str(one) for one in options.formats] == ["text", "atom"]
