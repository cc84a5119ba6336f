"""SPARQL endpoints that take queries in one way only."""

from __future__ import annotations

import io
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import pyoxigraph as ox
import pytest

from rdfcrawl.rdf.results import write_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.crawl_fixtures import Commands

TERM = "<urn:x:r> <urn:x:q> <<( <urn:x:s> <urn:x:p> 'x'@ar--rtl )>> <urn:x:g> .\n"
DATA = TERM.replace("'", '"') + "".join(
    f'<urn:x:s{n}> <urn:x:p> "v{n}"{tag} <urn:x:g> .\n'
    for n in range(60)
    for tag in ("", "@ar--rtl")
)
PAGE = b"<!DOCTYPE html><html><body>A form for queries</body></html>"
Fields = dict[str, list[str]]
Reply = tuple[str, tuple[str, str], bytes]


def refuses_all(fields: Fields, _method: str) -> str:
    """Accept nothing without the parameter `format`."""
    wanted = "application/sparql-results+json"
    return "" if fields.get("format") == [wanted] else "406 Not Acceptable"


def shows_pages(fields: Fields, _method: str) -> str:
    """Give a page without the parameter `output`."""
    return "" if fields.get("output") == ["json"] else "200 OK"


def is_only(wanted: str) -> Callable[[Fields, str], str]:
    """Return a rule for one method."""
    return lambda fields, method: (
        "" if method == wanted or not fields else "405 Method Not Allowed"
    )


# Path of the endpoint, redirect of another path to it, and who gets no results.
WAYS: dict[str, tuple[str, str, Callable[[Fields, str], str]]] = {
    "406": ("/sparql", "", refuses_all),
    "page": ("/sparql", "", shows_pages),
    "only-post": ("/sparql", "", is_only("POST")),
    "only-get": ("/sparql", "", is_only("GET")),
    "301": ("/sparql/", "301 Moved Permanently", lambda *_: ""),
    "302": ("/sparql/", "302 Found", lambda *_: ""),
    "303": ("/sparql/", "303 See Other", lambda *_: ""),
    "307": ("/sparql/", "307 Temporary Redirect", lambda *_: ""),
    "308": ("/sparql/", "308 Permanent Redirect", lambda *_: ""),
    "301-and-406": ("/sparql/", "301 Moved Permanently", refuses_all),
    "302-and-post": ("/sparql/", "302 Found", is_only("POST")),
}


class Endpoint(ThreadingHTTPServer):
    """An endpoint that gives results in one way only.

    Attributes:
        n_refused: queries that had no results.
    """

    daemon_threads = True

    def __init__(self, way: str) -> None:
        super().__init__(("127.94.8.1", 0), _Handler)
        self.path, self.moved, self.refuse = WAYS[way]
        self.store = ox.Store()
        self.store.extend(ox.parse(DATA.encode(), format=ox.RdfFormat.N_QUADS))
        self.n_refused = 0

    def respond(self, method: str, target: str, body: str) -> Reply:
        """Return status line, headers and body for a request."""
        path, _, text = target.partition("?")
        if path == "/sparql" and self.moved:
            self.n_refused += "query" in text + body
            return self.moved, ("Location", "/sparql/"), b""
        html = ("Content-Type", "text/html")
        if path != self.path:
            return "404 Not Found", html, b""
        fields = parse_qs(text) | parse_qs(body)
        alone = "400 Bad Request"
        refused = self.refuse(fields, method) if "query" in fields else alone
        if refused:
            self.n_refused += "query" in fields
            return refused, html, PAGE
        found = self.store.query(fields["query"][0])
        assert isinstance(found, ox.QuerySolutions)
        names, file = [x.value for x in found.variables], io.StringIO()
        write_json(names, ([row[i] for i in range(len(names))] for row in found), file)
        media_type = "application/sparql-results+json"
        return "200 OK", ("Content-Type", media_type), file.getvalue().encode()


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_GET(self) -> None:
        n_bytes = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(n_bytes).decode()
        status, header, content = self.server.respond(self.command, self.path, body)
        self.send_response(int(status[:3]), status[4:])
        self.send_header(*header)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_GET  # noqa: N815 (named by the library)

    def log_message(self, *_: object) -> None:
        """Write nothing to the terminal."""


@pytest.fixture
def endpoint(request: pytest.FixtureRequest) -> Iterator[Endpoint]:
    """Yield a running endpoint."""
    with Endpoint(request.param) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.in_turn(3, rooms=("sources",))
@pytest.mark.parametrize("endpoint", WAYS, indirect=True)
def test_endpoints_are_read_in_the_way_that_they_take(
    commands: Commands, endpoint: Endpoint
) -> None:
    """If an endpoint takes queries in one way only, then that one is found.

    A seed that refuses requests without a query has not failed.
    """
    url = f"http://127.94.8.1:{endpoint.server_port}/sparql"
    result = commands.crawl(arguments={"endpoints": url}, spider="sparql")
    assert result.code == 0, result.stderr
    found = [quad for quad in result.quads if quad[1].startswith("urn:x:")]
    assert len(found) == 121
    assert sum("--rtl" in quad[2] for quad in found) == 61
    assert "fault/bad_answer" not in result.statistics
    assert "fault/incomplete" not in result.statistics
    assert "seed failed" not in result.stderr
    assert endpoint.n_refused <= 2
