"""The hint at the end of a crawl that has found nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

_NOTHING = b"<html><title>Nothing</title>"
_HINT = re.compile(r"^hint +(.*)$", re.MULTILINE)


def test_hint_of_hyperlinks_leads_to_the_statements(
    commands: Commands, loopback: Loopback
) -> None:
    """If only hyperlinks lead to data, then the arguments of the hint find it."""
    links = b'<html><A class=x HREF="/d.ttl">d</A> <a href=/e>e</a> <a name=f>'
    server = loopback(
        {
            "/": loopback.response(links, "text/html"),
            "/d.ttl": loopback.response(b"<urn:x:s> <urn:x:p> <urn:x:o> ."),
            "/e": loopback.response(_NOTHING, "text/html"),
        }
    )
    folder = commands.folder()
    arguments = {"seeds": server.url("/")}
    result = commands.crawl(folder=folder, arguments=arguments)
    hint = _HINT.search(result.stderr)
    assert hint, result.stderr
    assert hint[1].startswith("2 hyperlinks of seeds")
    arguments |= dict(re.findall(r"-a (\w+)=(\S+)", hint[1]))
    found = commands.crawl(folder=folder, arguments=arguments)
    assert found.statistics["document/quads"] == 1
    assert not _HINT.search(found.stderr)


def test_crawl_without_statements_names_the_commands_that_show_why(
    commands: Commands, loopback: Loopback
) -> None:
    """If no document has statements and nothing failed, then the hint says so."""
    server = loopback({"/": loopback.response(_NOTHING, "text/html")})
    result = commands.crawl(arguments={"seeds": server.url("/")})
    hint = _HINT.search(result.stderr)
    assert hint, result.stderr
    assert "1 seed is a page without annotation: `look SITE`" in hint[1]


_SCRIPTED = b"<html><script src=/app.js></script><div id=app></div>"


def test_crawl_without_statements_says_why_for_its_seeds(
    commands: Commands, loopback: Loopback
) -> None:
    """If seeds have no statements, then the hint has the reasons and the remedies."""
    server = loopback(
        {
            "/robots.txt": loopback.response(b"User-agent: *\nDisallow: /no", "text/x"),
            "/app": loopback.response(_SCRIPTED, "text/html"),
            "/shop": loopback.response(_SCRIPTED, "text/html"),
            "/no": loopback.response(_NOTHING, "text/html"),
            "/closed": loopback.response(b"", "text/html", status="401 No"),
            "/form": loopback.response(b"<input type=password>", "text/html"),
        }
    )
    seeds = [server.url(path) for path in ("/app", "/shop", "/no")]
    result = commands.crawl(seeds)
    hint = _HINT.search(result.stderr)
    assert hint, result.stderr
    assert "2 seeds are pages that scripts fill: a browser renders them" in hint[1]
    assert "1 seed is disallowed by robots.txt: `look SITE`" in hint[1]
    result = commands.crawl([server.url("/closed"), server.url("/form")])
    hint = _HINT.search(result.stderr)
    assert hint, result.stderr
    assert "2 seeds are behind a login: HTTPAUTH_USER" in hint[1]


def test_hint_of_failed_uris_ends_with_the_failures(
    commands: Commands, loopback: Loopback
) -> None:
    """If the URIs that failed are read in a later run, then no hint names them."""
    data = loopback.response(b"<urn:x:s> <urn:x:p> <urn:x:o> .")
    pages = {"/": data, "/d": loopback.response(b"", status="500 Oops")}
    server, folder = loopback(pages), commands.folder()
    seeds = [server.url("/"), server.url("/d")]
    first = commands.crawl(seeds, folder=folder, RETRY_TIMES=0)
    server.pages["/d"] = data
    hints = _HINT.search(first.stderr)
    second = commands.crawl(seeds, folder=folder, arguments={"retry": "failed"})
    assert len(second.graphs) == 2
    assert "server_error" in second.stderr  # of all runs
    assert hints
    assert not _HINT.search(second.stderr), second.stderr


@pytest.mark.parametrize(
    ("name", "said"), [("want", "nothing wanted was"), ("items", "no items were")]
)
def test_crawl_that_finds_nothing_wanted_says_so(
    commands: Commands, loopback: Loopback, name: str, said: str
) -> None:
    """If nothing is wanted, or no item, then the summary says so, and has advice."""
    server = loopback({"/": loopback.response(b"<urn:x:s> <urn:x:p> <urn:x:o> .")})
    result = commands.crawl([server.url("/")], arguments={name: "schema:Vehicle"})
    hint = _HINT.search(result.stderr)
    assert hint, result.stderr
    assert f"{said} found: `look SITE` lists" in hint[1]
    assert ("0 statements in 0 documents" in result.stderr) == (name == "want")


def test_crawl_of_other_files_names_their_formats(
    commands: Commands, loopback: Loopback
) -> None:
    """If seeds are in no format of RDF, then the hint says so."""
    server = loopback(
        {
            "/text": loopback.response(b"some words", "text/plain"),
            "/picture": loopback.response(b"\x89PNG\r\n\x1a\n", "text/plain"),
        }
    )
    result = commands.crawl([server.url("/text"), server.url("/picture")])
    hint = _HINT.search(result.stderr)
    assert hint, result.stderr
    assert "1 seed is in no known format: `rdf URL`" in hint[1]
    assert "1 seed is of a media type without RDF: `rdf URL`" in hint[1]
