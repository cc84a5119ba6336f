"""Sites that change, over loopback: validators, duplicates, mirrors."""

from __future__ import annotations

import http.client
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pyoxigraph as ox
import pytest

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.dataweb.config import DumpProfile, NodeKind, WebConfig
from rdfcrawl.dataweb.evolution.draws import DAY_SECS
from rdfcrawl.dataweb.evolution.node import EvolvingOptions
from rdfcrawl.dataweb.evolution.parameters import ValidatorBehaviour
from rdfcrawl.dataweb.evolution.truth import read_history
from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.process import run_dataweb
from rdfcrawl.dataweb.web import build_web
from tests.support.evolving_sites import ask, site

if TYPE_CHECKING:
    from pathlib import Path

    from rdfcrawl.dataweb.evolution.node import EvolvingNode

SMALL = WebConfig(
    n_nodes=5,
    degree=2,
    triples=320,
    profile=DumpProfile.EXTENDED,
    weights={NodeKind.EVOLVING: 1.0},
    n_mirrors=1,
    port=0,
    first_address="127.93.0.1",
)
Answer = tuple[int, http.client.HTTPMessage, bytes]


def get(url: str, **fields: str) -> Answer:
    """Return status, fields and body of one GET."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=60)
    headers = {name.replace("_", "-"): value for name, value in fields.items()}
    try:
        connection.request("GET", url.partition(parts.netloc)[2], headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def ask_again(url: str, answer: Answer) -> Answer:
    """Send the validators of an earlier response."""
    fields = {
        asked: answer[1][name]
        for asked, name in (
            ("If_None_Match", "ETag"),
            ("If_Modified_Since", "Last-Modified"),
        )
        if answer[1][name]
    }
    return get(url, **fields)


def changing(node: EvolvingNode) -> tuple[str, float]:
    """Return the URL of a page, and when it changes first."""
    page = next(one for one in node.history.pages(0.0) if one.rate)
    return node.origin + page.path, page.changes(60 * DAY_SECS)[0]


@pytest.mark.parametrize(
    ("behaviour", "names", "unchanged", "changed"),
    [
        ("correct", {"ETag", "Last-Modified"}, 304, 200),
        ("etag", {"ETag"}, 304, 200),
        ("modified", {"Last-Modified"}, 304, 200),
        ("none", set(), 200, 200),
        ("ever-new", {"ETag", "Last-Modified"}, 200, 200),
        ("stuck", {"ETag", "Last-Modified"}, 304, 304),
    ],
)
def test_host_handles_conditions_as_configured(
    behaviour: str, names: set[str], unchanged: int, changed: int
) -> None:
    """If a page is requested with its validators, the host is right, or it lies."""
    options: dict[str, Any] = {"rates": (0.0, 0.1), "vanishing": 0.0}
    options["validators"] = (ValidatorBehaviour(behaviour),)
    with LocalWeb(first_address="127.93.1.1") as web:
        node = web.start(EvolvingOptions(**options))
        url, first_change = changing(node)
        answer = get(url)
        assert {n for n in ("ETag", "Last-Modified") if answer[1][n]} == names
        clock = node.options.clock
        clock.advance(first_change - 1)
        assert ask_again(url, answer)[0] == unchanged
        clock.advance(2)
        assert ask_again(url, answer)[0] == changed
        assert get(url)[2] != answer[2]


def test_sitemap_and_lists_answer_304_until_they_change() -> None:
    """If nothing happened to a sitemap or a list of links, 304; else the new one."""
    node = site(rates=(1.0,), births=2.0, vanishing=0.05)
    for path in ("/", "/list/0", "/sitemap.xml", "/sitemap-0.xml"):
        first = ask(node, path, 2)
        head = first.head.decode()
        (tag,) = [line[6:] for line in head.split("\r\n") if line.startswith("ETag: ")]
        (date,) = [
            line[15:]
            for line in head.split("\r\n")
            if line.startswith("Last-Modified: ")
        ]
        for fields in ({"If_None_Match": tag}, {"If_Modified_Since": date}):
            assert ask(node, path, 2 + 1e-9, **fields).status == 304
            later = ask(node, path, 20, **fields)
            assert (later.status, later.body != first.body) == (200, True)


def test_duplicates_and_mirrors_have_the_bytes_of_the_page() -> None:
    """If a page has a second URL or a mirror, both equal it, or differ by a number."""
    options: dict[str, Any] = {"duplicates": 1.0, "vanishing": 0.0, "rates": (0.3,)}
    node = site(**options)
    mirror = site("127.0.0.10", mirror_of=node.origin, **options)
    kinds = set()
    for page in node.history.pages(0.0):
        own, other = page.paths
        kinds.add(other.duplicate)
        body = ask(node, own.path, 9).body
        assert ask(mirror, own.path, 9).body == body
        second = ask(node, other.path, 9)
        assert (second.body == body) is (other.duplicate == "exact")
        canonical = node.origin + page.path
        if page.is_html:
            assert f'<link rel="canonical" href="{canonical}">'.encode() in second.body
        else:
            assert f'Link: <{canonical}>; rel="canonical"' in second.head.decode()
    assert kinds == {"exact", "near"}
    bare = site(has_canonical=False)
    answers = [ask(bare, page.path, 0) for page in bare.history.pages(0.0)]
    assert not any(b"canonical" in one.head + one.body for one in answers)


def test_near_duplicates_are_near_and_other_pages_are_not() -> None:
    """If a document differs by a number, most of its shingles of 8 words are equal."""
    node = site(duplicates=1.0, near=1.0, html=1.0, n_pages=6, births=0.0)
    found = []
    for page in node.history.pages(0.0):
        bodies = [ask(node, one.path, 0).body.split() for one in page.paths]
        found.append([{tuple(b[n : n + 8]) for n in range(len(b) - 7)} for b in bodies])
    for own, near in found:
        assert len(own & near) / len(own | near) > 0.9
    assert all(len(a[0] & b[0]) < 20 for a in found for b in found if a is not b)


def test_near_duplicates_have_the_configured_additions() -> None:
    """If a sixth of a document is added, then six of seven shingles are equal."""
    node = site(duplicates=1.0, near=1.0, added=1 / 6, n_pages=6, births=0.0)
    for page in node.history.pages(0.0):
        own, near = (ask(node, path.path, 0).body.split() for path in page.paths)
        if page.is_html:
            assert len(near) - len(own) == 40 - 1  # the first is in an element
        else:
            assert len(near) - len(own) == 10 * 4  # terms and dot of a statement


def test_truth_equals_the_served_pages() -> None:
    """If all linked pages are read, then they match the truth."""
    node = site(html=0.0, n_pages=40, births=1.0, vanishing=0.02)
    node.options.clock.advance(20 * DAY_SECS)
    now, graph = 20 * DAY_SECS, ox.Store()
    for path in node.history.paths(now):
        if not path.duplicate and any(
            span.holds(now)
            for one in path.page.paths
            for span in (one.listed, one.linked)
        ):
            answer = ask(node, path.path, 20)
            if answer.status == 200:
                graph.load(answer.body, format=ox.RdfFormat.N_TRIPLES)
    told = "".join(f"{s} {p} {o} .\n" for s, p, o in node.iter_truth())
    wanted = ox.Store()
    wanted.load(told.encode(), format=ox.RdfFormat.N_TRIPLES)
    assert len(wanted) > 500
    assert set(graph) == set(wanted)


def test_web_of_changing_sites_runs_as_a_process(tmp_path: Path) -> None:
    """If time is moved on from outside, the process answers as a web built here."""
    with run_dataweb(SMALL, tmp_path) as web:
        truth = read_history(web.history_path)
        assert truth.horizon == 30 * DAY_SECS
        at = web.clock.advance(12.5 * DAY_SECS)
        here = build_web(replace(SMALL, port=web.port), web.clock).evolving
        assert [node.options.mirror_of for node in here] == [
            *[""] * 4,
            here[0].origin,
        ]
        for node in here:
            assert node.now == at
            for path in ("/", "/sitemap.xml", "/list/0", "/data/1", "/page/2"):
                mine = ask(node, path, 12.5)
                status, _, body = get(node.origin + path)
                assert (status, body) == (mine.status, mine.body)
        assert set(truth.sites) == {node.origin for node in here}
        web.clock.advance(30 * DAY_SECS)
        with pytest.raises(ConfigError, match="do not change"):
            web.change(0)
    assert read_history(web.history_path).horizon == 42.5 * DAY_SECS
    with run_dataweb(SMALL, tmp_path) as web:
        assert web.clock.now() == 42.5 * DAY_SECS


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"speed": -1.0}, "speed is -1"),
        ({"begin": "yesterday"}, "begin is 'yesterday'"),
        ({"begin": "0001-01-01"}, "year of begin is 1"),
        ({"horizon_days": 1e9}, "horizon is 1"),
        ({"n_mirrors": 3}, "mirrors is 3, allowed are 0 to 2"),
    ],
)
def test_bad_times_of_a_web_are_refused(values: dict[str, Any], message: str) -> None:
    """If a parameter of the time is out of its range, then the message names it."""
    with pytest.raises(ConfigError, match=message):
        replace(SMALL, **values)


def test_mirrors_need_sites_to_mirror() -> None:
    """If there are fewer changing sites than two for each mirror, that is refused."""
    config = replace(
        SMALL,
        port=80,
        n_mirrors=2,
        weights={NodeKind.EVOLVING: 1.0, NodeKind.DEREFERENCING: 2.0},
    )
    with pytest.raises(ConfigError, match="mirrors is 2, but 3 nodes evolve"):
        build_web(config)


def test_begin_is_the_date_at_time_zero() -> None:
    """If a web begins on a given date, then its pages have it."""
    config = replace(SMALL, port=80, begin="2026-02-03T04:05:06")
    node = build_web(config).evolving[0]
    page = node.history.pages(0.0)[0]
    assert b"Tue, 03 Feb 2026 04:05:06 GMT" in ask(node, page.path, 0).head
