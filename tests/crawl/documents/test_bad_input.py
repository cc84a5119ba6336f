"""Crawls of documents with everything wrong that a server can do."""

from __future__ import annotations

import gzip
import socket
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import Reason

if TYPE_CHECKING:
    from tests.conftest import RawServer, Reply
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

GOOD = b"<http://example.org/s> <http://example.org/p> <http://example.org/o> .\n"
BEHIND = b"<http://example.org/s> <http://example.org/p> <http://example.org/no> .\n"
BINARY = bytes(range(256)) * 8
TRIPLE = ("http://example.org/s", "http://example.org/p", "http://example.org/o")
MAX_BYTES = 300_000
UNRESOLVED = "http://no-such-host.invalid/x"
BAD_SEEDS = ("not a URL", "sftp://example.org/x", "http://[::1/x", "http://\udcff/")
TURTLE = "text/turtle"
HTML = b"<!DOCTYPE html>\n<html><head><title>t</title></head><body>x</body></html>"
RDF_XML = b"""<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
         xmlns:e="http://example.org/">
<rdf:Description rdf:about="http://example.org/s">
<e:p rdf:resource="http://example.org/o"/></rdf:Description></rdf:RDF>"""
BOMB = b"".join(
    b'<!ENTITY a%d "%s">' % (n, b"&a%d;" % (n - 1) * 4) for n in range(1, 20)
)
JSON_LD = b"""{"@id": "http://example.org/s",
"http://example.org/p": {"@id": "http://example.org/o"}}"""

FAULTS = {
    "/404": {Reason.NOT_FOUND},
    "/410": {Reason.GONE},
    "/403": {Reason.CLIENT_ERROR},
    "/500": {Reason.SERVER_ERROR},
    "/501": {Reason.SERVER_ERROR},
    "/206": {Reason.TRUNCATED_BODY},
    "/300": {Reason.REDIRECT_BAD_TARGET},
    "/loop/a": {Reason.REDIRECT_LOOP},
    "/loop/self": {Reason.REDIRECT_LOOP},
    "/long/0": {Reason.REDIRECT_LIMIT},
    "/to/nowhere": {Reason.REDIRECT_BAD_TARGET},
    "/to/mailto": {Reason.REDIRECT_BAD_TARGET},
    "/to/file": {Reason.REDIRECT_BAD_TARGET},
    "/length/too-long": {Reason.TRUNCATED_BODY},
    "/length/two": {Reason.BAD_HTTP},
    "/no-http": {Reason.BAD_HTTP},
    "/closes": {Reason.BAD_HTTP},
    "/resets": {Reason.BAD_HTTP},
    "/coding/unknown": {Reason.BAD_CONTENT_ENCODING},
    "/coding/broken": {Reason.BAD_CONTENT_ENCODING},
    "/coding/cut-off": {Reason.TRUNCATED_BODY},
    "/coding/bomb": {Reason.TOO_LARGE},
    "/too-large": {Reason.TOO_LARGE},
    "/too-large/chunked": {Reason.TOO_LARGE},
    "/empty": {Reason.EMPTY},
    "/empty/204": {Reason.EMPTY},
    "/blank": set[Reason](),
    "/garbage": {Reason.UNKNOWN_FORMAT},
    "/garbage/untyped": {Reason.UNKNOWN_FORMAT},
    "/png": {Reason.UNSUPPORTED_FORMAT},
    "/html": set[Reason](),
    "/html/as-turtle": {Reason.UNSUPPORTED_FORMAT},
    "/json": {Reason.UNSUPPORTED_FORMAT},
    "/turtle/broken": {Reason.BAD_TERM},
    "/xml/broken": {Reason.SYNTAX},
    "/xml/entities": {Reason.ENTITY_EXPANSION},
    "/json-ld/remote": {Reason.REMOTE_CONTEXT},
    "/nul": {Reason.BAD_TERM},
    "/utf8": {Reason.BAD_CHARSET},
    "/iris": {Reason.SYNTAX},
    "/charset": {Reason.BAD_CHARSET},
    "/lie/html-as-nothing": {Reason.REPAIRED},
    "/lie/jsonld-as-turtle": {Reason.REPAIRED},
    "/lie/rdfxml-as-turtle": {Reason.REPAIRED},
    "/lie/turtle-as-rdfxml": {Reason.REPAIRED},
}
# Consequences of a body that is cut off, or that cannot be decoded.
CONSEQUENCES = {Reason.SYNTAX, Reason.EMPTY}
KEPT = (
    "/206", "/charset", "/coding/cut-off", "/coding/gzip", "/coding/not-applied",
    "/coding/not-gzip", "/iris", "/length/negative", "/length/too-long",
    "/length/too-short", "/lie/html-as-nothing", "/lie/jsonld-as-turtle",
    "/lie/rdfxml-as-turtle", "/lie/text-plain", "/lie/turtle-as-rdfxml", "/nul",
    "/too-large", "/turtle/broken", "/utf8",
)  # fmt: skip
FAULTLESS = tuple(target for target in KEPT if target not in FAULTS)


def _pages(loopback: Loopback) -> dict[str, Reply]:
    response, redirect = loopback.response, loopback.redirect

    def with_head(body: bytes, *lines: str) -> list[bytes | None]:
        head = "\r\n".join(["HTTP/1.1 200 OK", f"Content-Type: {TURTLE}", *lines])
        return [head.encode() + b"\r\n\r\n" + body, None]

    big = GOOD * (2 * MAX_BYTES // len(GOOD))
    chunks = [b"%x\r\n%s\r\n" % (len(GOOD) * 100, GOOD * 100)] * 200
    return {
        "/410": response(status="410 Gone"),
        "/403": response(status="403 Forbidden"),
        "/500": response(status="500 Oops"),
        "/501": response(status="501 Not Implemented"),
        "/206": response(GOOD, status="206 Partial Content"),
        "/300": response(GOOD, status="300 Multiple Choices"),
        "/loop/a": redirect("/loop/b"),
        "/loop/b": redirect("/loop/a"),
        "/loop/self": redirect("/loop/self"),
        **{f"/long/{n}": redirect(f"/long/{n + 1}") for n in range(20)},
        "/to/nowhere": response(status="302 Found"),
        "/to/mailto": redirect("mailto:me@example.org"),
        "/to/file": redirect("file:///etc/passwd"),
        "/length/too-long": with_head(GOOD, f"Content-Length: {len(GOOD) + 50}"),
        "/length/too-short": with_head(GOOD + BEHIND, f"Content-Length: {len(GOOD)}"),
        "/length/negative": with_head(GOOD, "Content-Length: -5"),
        "/length/two": with_head(
            GOOD, f"Content-Length: {len(GOOD)}", "Content-Length: 5"
        ),
        "/no-http": [b"SSH-2.0-OpenSSH_9.2\r\n", None],
        "/closes": [None],
        "/resets": ["reset"],
        "/coding/gzip": response(gzip.compress(GOOD), Content_Encoding="gzip"),
        "/coding/unknown": response(BINARY, Content_Encoding="compress"),
        "/coding/broken": response(
            gzip.compress(GOOD)[:10] + BINARY, Content_Encoding="gzip"
        ),
        "/coding/not-applied": response(GOOD, Content_Encoding="zigzag"),
        "/coding/not-gzip": response(GOOD, Content_Encoding="gzip"),
        "/coding/cut-off": response(
            gzip.compress(GOOD + b"#" * 500)[:-8], Content_Encoding="gzip"
        ),
        "/coding/bomb": response(
            gzip.compress(b"#" * 50_000_000), Content_Encoding="gzip"
        ),
        "/too-large": response(big),
        "/too-large/chunked": with_head(
            b"".join(chunks) + b"0\r\n\r\n", "Transfer-Encoding: chunked"
        ),
        "/empty": response(b""),
        "/empty/204": response(b"", status="204 No Content"),
        "/blank": response(b"# nothing to say\n"),
        "/garbage": response(BINARY),
        "/garbage/untyped": response(BINARY, ""),
        "/png": response(b"\x89PNG\r\n\x1a\n" + bytes(500), "image/png"),
        "/html": response(HTML, "text/html"),
        "/html/as-turtle": response(HTML),
        "/json": response(b'{"a": [1, 2]}', "application/json"),
        "/lie/rdfxml-as-turtle": response(RDF_XML),
        "/lie/turtle-as-rdfxml": response(
            b"@prefix a: <b:> .\n" + GOOD, "text/rdf+xml"
        ),
        "/lie/jsonld-as-turtle": response(JSON_LD),
        "/lie/text-plain": response(GOOD, "text/plain"),
        "/lie/html-as-nothing": response(GOOD, "text/html"),
        "/turtle/broken": response(GOOD + b"<http://example.org/s> oops .\n"),
        "/xml/broken": response(RDF_XML[:-20], "application/rdf+xml"),
        "/xml/entities": response(
            RDF_XML.replace(
                b"<rdf:RDF",
                b'<!DOCTYPE r [<!ENTITY a0 "aaaa">%s]><rdf:RDF' % BOMB,
                1,
            ).replace(b"<e:p ", b"<e:q>&a19;</e:q><e:p "),
            "application/rdf+xml",
        ),
        "/json-ld/remote": response(
            b'{"@context": "http://127.0.0.1:9/c", "@id": "http://a.example/"}',
            "application/ld+json",
        ),
        "/nul": response(GOOD + b"<http://a.example/\0> <b:c> <d:e> .\n", TURTLE),
        "/utf8": response(
            GOOD + b'<a:b> <c:d> "\xff\xfe" .\n', "application/n-triples"
        ),
        "/iris": response(GOOD + b"<http://a b/> <c:d> <e:f> .\n", "text/ntriples"),
        "/charset": response(GOOD, "text/turtle; charset=klingon"),
    }


@pytest.fixture(scope="module")
def server(loopback: Loopback) -> RawServer:
    """Return the server of everything that goes wrong."""
    return loopback(_pages(loopback))


@pytest.fixture(scope="module")
def closed_port() -> int:
    """Return a port without a listener."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.3", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def silent_url(closed_port: int) -> str:
    """Return a URL of a host that refuses connections."""
    return f"http://127.0.0.3:{closed_port}/x"


@pytest.fixture(scope="module")
def result(commands: Commands, server: RawServer, silent_url: str) -> CrawlResult:
    """Return one crawl of all that is bad, with seeds that are bad too."""
    targets = dict.fromkeys([*FAULTS, *KEPT])
    return commands.crawl(
        [
            *BAD_SEEDS,
            "# a comment",
            "",
            *(server.url(target) for target in targets),
            server.url("/coding/gzip#again"),
            server.url("/coding/gzip"),
            UNRESOLVED,
            silent_url,
        ],
        arguments={"follow": "none"},
        DOWNLOAD_MAXSIZE=MAX_BYTES,
    )


def test_crawl_of_bad_documents_ends_well(result: CrawlResult) -> None:
    """If every document is bad, then the crawl still ends with exit code 0."""
    assert result.code == 0, result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(("target", "reasons"), FAULTS.items(), ids=FAULTS)
def test_fault_is_named(
    result: CrawlResult, server: RawServer, target: str, reasons: set[Reason]
) -> None:
    """If a document is at fault, then its provenance says which, and nothing else."""
    found = set(result.faults(server.url(target)))
    assert found - (CONSEQUENCES - reasons if reasons else set()) == reasons


@pytest.mark.parametrize("target", FAULTLESS)
def test_harmless_oddity_is_no_fault(
    result: CrawlResult, server: RawServer, target: str
) -> None:
    """If a document is odd but all of it is read, then it is SUCCESSFUL."""
    assert result.statuses(server.url(target)) == ["SUCCESSFUL"]
    assert result.faults(server.url(target)) == []


@pytest.mark.parametrize("target", KEPT)
def test_read_parts_are_kept(
    result: CrawlResult, server: RawServer, target: str
) -> None:
    """If a part of a document is good, then it is stored, with any rest."""
    assert result.about(server.url(target)) == {TRIPLE}


@pytest.mark.parametrize("target", sorted({*KEPT} & FAULTS.keys()))
def test_documents_read_in_part_are_partial(
    result: CrawlResult, server: RawServer, target: str
) -> None:
    """If a part of a document was not read, then its status says so."""
    # Of UTF-8 that is declared with an unknown charset, nothing is lost.
    is_all = target == "/charset" or FAULTS[target] == {Reason.REPAIRED}
    status = "SUCCESSFUL" if is_all else "PARTIAL"
    assert result.statuses(server.url(target)) == [status]


def test_nothing_else_is_stored(result: CrawlResult, server: RawServer) -> None:
    """If nothing of a document is good, then it has no graph."""
    also = {"/too-large/chunked", "/xml/broken"}
    assert result.graphs == {server.url(target) for target in {*KEPT, *also}}


@pytest.mark.parametrize(
    ("line", "reason"),
    [*((n, Reason.BAD_URI) for n in (1, 2, 3)), (4, Reason.BAD_CHARSET)],
)
def test_bad_seed_is_named_by_file_and_line(
    result: CrawlResult, line: int, reason: Reason
) -> None:
    """If a line of a seed file is not a URL, then the provenance names both."""
    names = result.ask("?a sq:crawled ?x FILTER CONTAINS(STR(?x), 'seeds-')")
    (name,) = {name for name in names if name.endswith(f".txt:{line}")}
    reasons = result.ask(
        f"?a sq:crawled ?u ; rc:fault/rc:reason ?x . FILTER (STR(?u) = '{name}')"
    )
    assert reasons == [reason]


def test_duplicate_seeds_are_fetched_once(
    result: CrawlResult, server: RawServer
) -> None:
    """If a URL is given three times, then it is requested once."""
    assert result.statuses(server.url("/coding/gzip")) == ["SUCCESSFUL"]
    assert server.targets.count("/coding/gzip") == 1


def test_dead_names_and_hosts_are_named(result: CrawlResult, silent_url: str) -> None:
    """If a name has no address or a host no server, then the fault says which."""
    assert Reason.DNS in result.faults(UNRESOLVED)
    assert Reason.UNREACHABLE in result.faults(silent_url)


@pytest.mark.usefixtures("result")
def test_failure_that_may_pass_is_tried_again(server: RawServer) -> None:
    """If a retry may give a better response, then the URL is requested three times."""
    counts = {t: server.targets.count(t) for t in ("/500", "/closes", "/404", "/501")}
    assert counts == {"/500": 3, "/closes": 3, "/404": 1, "/501": 1}


def test_statistics_match_the_provenance(result: CrawlResult) -> None:
    """If a fault is in the provenance, then it is counted in the statistics."""
    named = Counter(result.ask("?a rc:fault/rc:reason ?x ."))
    counted = {
        name.removeprefix("fault/"): n
        for name, n in result.statistics.items()
        if name.startswith("fault/")
    }
    assert counted == named
    n_documents = len(result.ask("?a a prov:Activity ; sq:status ?x ."))
    assert result.statistics["document/seen"] == n_documents


class TestLongLiteral:
    """A document that is one literal of 100 MB."""

    @pytest.fixture(scope="class")
    @staticmethod
    def result(commands: Commands, loopback: Loopback) -> CrawlResult:
        """Return a crawl of such a page and such a dump, and of a good document."""
        n_mib = 100
        body = [b"x" * 2**20] * n_mib
        begin, end = b'<a:b> <c:d> "', b'" .\n'
        length = len(begin) + n_mib * 2**20 + len(end)
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nContent-Type: "
        server = loopback(
            {
                "/page": [f"{head}text/turtle\r\n\r\n".encode(), begin, *body, end],
                "/dump.nt": [f"{head}\r\n\r\n".encode(), begin, *body, end],
                "/good": loopback.response(GOOD),
            }
        )
        return commands.crawl(
            [server.url("/page"), server.url("/dump.nt"), server.url("/good")],
            arguments={"follow": "none"},
            DOWNLOAD_MAXSIZE=2**30,
        )

    def test_is_refused_by_name(self, result: CrawlResult) -> None:
        """If a literal is too long, then its fault is named and the crawl goes on."""
        assert result.code == 0
        assert result.statistics["fault/literal_too_long"] == 2
        assert len(result.graphs) == 1

    def test_does_not_fill_the_memory(self, result: CrawlResult) -> None:
        """If a literal has 100 MB, then no process of the crawl takes 300 MB."""
        assert result.peak_bytes < 300 * 2**20
