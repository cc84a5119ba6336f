"""Numbers beyond all reason: in documents, headers and sources."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rdfcrawl.stores.reading import iter_quads

if TYPE_CHECKING:
    from tests.conftest import Reply
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

MEMORY_LIMIT_BYTES = 500_000_000
GOOD = b"<http://a.example/s> <http://a.example/p> <http://a.example/o> .\n"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD = "http://www.w3.org/2001/XMLSchema#"
HUGE = "1E+100000000"
DIGITS = "9" * 20_000
TYPES = ("decimal", "integer", "double", "float", "long", "dateTime", "duration")


def numbers() -> dict[str, tuple[str, str]]:
    """Return documents with numbers beyond all reason: type and text."""
    typed = [f'"{HUGE}"^^<{XSD}{name}>' for name in TYPES]
    typed += [f'"{DIGITS}"^^<{XSD}integer>', f'"1e-{DIGITS[:9]}"^^<{XSD}decimal>']
    lines = "".join(f"<urn:x:s> <urn:x:p> {each} .\n" for each in typed)
    json_ld = [{"@value": HUGE, "@type": f"{XSD}{name}"} for name in TYPES]
    rdf_xml = "".join(f'<e:p r:datatype="{XSD}{name}">{HUGE}</e:p>' for name in TYPES)
    trix = "".join(
        f"<triple><uri>urn:x:s</uri><uri>urn:x:p</uri>"
        f'<typedLiteral datatype="{XSD}{name}">{HUGE}</typedLiteral></triple>'
        for name in TYPES
    )
    rdf_json = {
        "urn:x:s": {
            "urn:x:p": [
                {"type": "literal", "value": HUGE, "datatype": f"{XSD}{name}"}
                for name in TYPES
            ]
        }
    }
    return {
        "a.nt": ("application/n-triples", lines),
        "a.ttl": ("text/turtle", f"<urn:x:s> <urn:x:p> {HUGE}, {DIGITS}, 1.{DIGITS} ."),
        "a.trig": ("application/trig", f"<urn:x:g> {{ {lines} }}"),
        "a.n3": ("text/n3", lines + f"<urn:x:s> <urn:x:q> {HUGE}, {{}} ."),
        "a.jsonld": (
            "application/ld+json",
            json.dumps({"@id": "urn:x:s", "urn:x:p": json_ld}),
        ),
        "exp.jsonld": (
            "application/ld+json",
            f'{{"@id": "urn:x:s", "urn:x:p": [{HUGE}, -{HUGE}, 1e400, 1e21]}}',
        ),
        "digits.jsonld": (
            "application/ld+json",
            f'{{"@id": "urn:x:s", "urn:x:p": [{DIGITS}, 1.{DIGITS}]}}',
        ),
        "a.rdf": (
            "application/rdf+xml",
            (
                f'<r:RDF xmlns:r="{RDF}" xmlns:e="urn:x:"><r:Description>{rdf_xml}'
                "</r:Description></r:RDF>"
            ),
        ),
        "a.trix": (
            "application/trix",
            (
                '<TriX xmlns="http://www.w3.org/2004/03/trix/trix-1/"><graph>'
                f"{trix}</graph></TriX>"
            ),
        ),
        "a.rj": ("application/rdf+json", json.dumps(rdf_json)),
        "a.html": (
            "text/html",
            (
                '<p vocab="urn:x:" typeof=T>'
                f'<b property=p datatype="{XSD}decimal">{HUGE}'
                f'</b></p><p itemscope itemtype="http://schema.org/P"><data itemprop=n'
                f" value={HUGE}>x</data><meter itemprop=m value={DIGITS}></meter></p>"
                f'<script type="application/ld+json">{{"urn:x:p": {DIGITS}}}</script>'
            ),
        ),
        "void.ttl": (
            "text/turtle",
            (
                "@prefix v: <http://rdfs.org/ns/void#> . @prefix h:"
                " <http://www.w3.org/ns/hydra/core#> ."
                f' <#d> a v:Dataset; v:triples "{HUGE}"^^<{XSD}integer>, {DIGITS} .'
                f' <> h:totalItems {DIGITS}, "{HUGE}"^^<{XSD}decimal>; h:next <?p=2> .'
            ),
        ),
    }


def headers(loopback: Loopback) -> dict[str, Reply]:
    """Return answers whose headers have such numbers."""
    body = b"%s" % GOOD
    return {
        "/age": loopback.response(
            body, Cache_Control=f"max-age={DIGITS[:900]}", Age=DIGITS[:900]
        ),
        "/long": [
            f"HTTP/1.1 200 OK\r\nContent-Length: {DIGITS[:60]}\r\n\r\n".encode() + body,
            None,
        ],
        "/chunk": [
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            + b"f" * 5000
            + b"\r\n"
            + body,
            None,
        ],
        "/status": b"HTTP/1.1 99999999999 OK\r\n\r\n",
        "/robots.txt": loopback.response(
            f"Crawl-delay: {DIGITS}\nUser-agent: other\nCrawl-delay: {HUGE}\n\n"
            "User-agent: *\n"
            f"Crawl-delay: 0.{DIGITS}e-{DIGITS[:9]}\nCrawl-delay: 0\n".encode(),
            "text/plain",
        ),
        "/tags": loopback.response(
            body, X_Robots_Tag=f"unavailable_after: {DIGITS[:50]}-01-01, max-snippet: 9"
        ),
    }


def test_numbers_are_kept_and_not_reckoned_with(
    commands: Commands, loopback: Loopback
) -> None:
    """If a number is enormous, it costs as much as its text, and is kept as written."""
    documents = numbers()
    server = loopback(host="127.0.81.1")
    for name, (media_type, text) in documents.items():
        server.pages[f"/{name}"] = loopback.response(text.encode(), media_type)
    odd = loopback(headers(loopback), host="127.0.81.2")
    seeds = [server.url(f"/{name}") for name in documents]
    seeds += [odd.url(name) for name in odd.pages if name != "/robots.txt"]
    result = commands.crawl(seeds, HOST_BACKOFF_SECS=0.1, DELAY_MAX_SECS=1)
    assert result.code == 0, result.stderr
    assert "Traceback" not in result.stderr
    assert result.peak_bytes < MEMORY_LIMIT_BYTES
    assert "fault/internal" not in result.statistics
    assert "fault/parse_crash" not in result.statistics
    written = b"".join(iter_quads(result.folder / "quads"))
    assert len(written) < 1_000_000
    for name in ("a.nt", "a.trig", "a.n3", "a.jsonld", "a.rdf", "a.trix", "a.rj"):
        about = {o for _, _, o in result.about(server.url(f"/{name}"))}
        expected = {f'"{HUGE}"^^<{XSD}{each}>' for each in TYPES}
        assert expected <= about, name
    assert {f'"{DIGITS}"^^<{XSD}integer>', f'"{HUGE}"^^<{XSD}double>'} <= {
        o for _, _, o in result.about(server.url("/a.ttl"))
    }
    assert odd.url("/age") in result.graphs


def test_numbers_of_sources_are_kept_in_bounds(
    commands: Commands, loopback: Loopback
) -> None:
    """If a sitemap or a portal counts to infinity, it is read as far as it goes."""
    server = loopback(host="127.0.82.1")
    entry = f"<loc>{server.url('/a.nt')}</loc>"
    sitemap = (
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url>'
        f"{entry}<priority>{HUGE}</priority><lastmod>{DIGITS}-01-01</lastmod></url>"
        f"<url><loc>{server.url('/b.nt')}</loc><priority>{DIGITS}</priority>"
        "<lastmod>2020-01-01T00:00:00.%s+99:99</lastmod></url></urlset>" % DIGITS
    )
    server.pages |= {
        "/sitemap.xml": loopback.response(sitemap.encode(), "application/xml"),
        "/a.nt": loopback.response(GOOD),
        "/b.nt": loopback.response(GOOD),
    }
    result = commands.crawl(
        spider="sitemap", arguments={"sites": server.url("/sitemap.xml")}
    )
    assert result.code == 0
    assert "Traceback" not in result.stderr
    assert {"/a.nt", "/b.nt"} <= set(server.targets)
    portals = []
    for n, count in enumerate((HUGE, DIGITS, f"-{DIGITS}", "1e400", f'"{DIGITS}"')):
        answer = f'{{"success": true, "result": {{"count": {count}, "results": []}}}}'
        pages = {"*": loopback.response(answer.encode(), "application/json")}
        portals.append(loopback(pages, host=f"127.0.82.{n + 2}"))
    urls = ",".join(portal.url("/") for portal in portals)
    result = commands.crawl(spider="ckan", arguments={"portals": urls})
    assert "Traceback" not in result.stderr
    assert all(0 < len(portal.requests) < 50 for portal in portals)
    assert result.peak_bytes < MEMORY_LIMIT_BYTES
