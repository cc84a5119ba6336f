"""The parsers of foreign input, each by its public door.

A door takes bytes and returns nothing. A fault that is named (`SourceFault`) is fine,
and so are the exceptions in `raises`; any other exception is a defect, and so is output
that a strict parser refuses.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyoxigraph as ox

from rdfcrawl.core.errors import FaultLog, NeedsSandbox, Reason, SourceFault
from rdfcrawl.core.formats import FORMATS, HTML
from rdfcrawl.core.reservations import read_directives, read_tdm
from rdfcrawl.core.times import parse_http_date, parse_retry_after
from rdfcrawl.downloader.contexts.cache import ContextEntry
from rdfcrawl.downloader.ftp.directories import (
    ListingLines,
    parse_facts,
    parse_list_line,
)
from rdfcrawl.downloader.http.parsing import (
    ChunkDecoder,
    check_begin,
    head_end,
    parse_head,
)
from rdfcrawl.downloader.robots.policy import parse_robots
from rdfcrawl.downloader.robots.tdm import parse_tdm_file
from rdfcrawl.downloader.warc.captures import CaptureLimits, CaptureReader
from rdfcrawl.downloader.warc.part import FilePart
from rdfcrawl.frontier.queue.candidate import pack, unpack
from rdfcrawl.monitor.pings.judging import PingRefused, sitemap_url
from rdfcrawl.rdf.checking import iter_checked
from rdfcrawl.rdf.environment import ParseLimits, ReaderContext
from rdfcrawl.rdf.extraction.messages import ReadingJob
from rdfcrawl.rdf.extraction.reading import DocumentReading
from rdfcrawl.rdf.html.empty_pages import classify_empty, count_hyperlinks
from rdfcrawl.rdf.links.headers import context_link, json_ld_alternate, links_of
from rdfcrawl.rdf.parse import parse
from rdfcrawl.rdf.unpack.content_encoding import BodyDecoder
from rdfcrawl.rdf.unpack.limits import UnpackLimits
from rdfcrawl.rdf.unpack.scratch import MemoryScratch
from rdfcrawl.sources.ckan.api import PortalAddress
from rdfcrawl.sources.ckan.envelope import (
    CkanResponse,
    read_names,
    read_page,
    read_result,
)
from rdfcrawl.sources.ckan.mapping import iter_statements
from rdfcrawl.sources.ckan.portal import recognize
from rdfcrawl.sources.dcat_portals import catalog_url
from rdfcrawl.sources.resourcesync.documents import DocumentEntries
from rdfcrawl.sources.resourcesync.patch import apply_patch
from rdfcrawl.sources.sitemaps.protocol import Sitemap
from rdfcrawl.sources.sparql.results import iter_rows
from rdfcrawl.uri import NormalForm, requestable
from rdfcrawl.uri.guard.policy import Guard
from rdfcrawl.uri.traps import TrapLimits, form_of, is_endless

if TYPE_CHECKING:
    from rdfcrawl.rdf.environment import ContextDocument

URL: Final = "http://e.example/d/doc"
LIMITS: Final = ParseLimits(literal_bytes=2**16, n_quads=10**6)
UNPACK: Final = UnpackLimits(n_bytes=10**7, n_members=100)
# A child would end with these; they do not depend on the document.
NORMAL_FORM: Final = NormalForm()
DEFECTS: Final = {Reason.INTERNAL, Reason.PARSE_CRASH}


class NoWeb:
    """The contexts that there are where no host answers."""

    def load(self, url: str, *, document_url: str) -> ContextDocument:
        """Raise the fault."""
        raise SourceFault(Reason.REMOTE_CONTEXT, f"{url} of {document_url}")


@dataclass(frozen=True, slots=True)
class Door:
    """One parser.

    Attributes:
        read: its exceptions are defects, except for `SourceFault` and `raises`.
        is_bounded: it runs in a child with a limit of CPU time: long is no defect.
    """

    read: Callable[[bytes], None]
    raises: tuple[type[Exception], ...] = ()
    is_bounded: bool = False


def _strict(lines: bytes) -> None:
    """Check that statements are N-Quads for a parser that mends nothing."""
    for _ in ox.parse(lines, format=ox.RdfFormat.N_QUADS):
        pass


def _document(media_type: str, data: bytes, *, name: str = "") -> None:
    """Read a document as a child does."""
    job = ReadingJob(
        url=URL + name,
        graph=URL,
        media_type=media_type,
        limits=LIMITS,
        unpack=UNPACK,
        wants_hyperlinks=True,
        wants_fingerprint=True,
    )
    environment = ReaderContext(
        contexts=NoWeb(), is_bounded=True, scratch=MemoryScratch(UNPACK.n_bytes)
    )
    reading = DocumentReading(data, job, environment=environment)
    _strict(b"".join(reading))
    found = {fault.reason for fault in reading.outcome.faults} & DEFECTS
    if found:
        raise AssertionError(reading.outcome.faults)


def _inline(media_type: str, data: bytes) -> None:
    """Read a document as a worker does, by `rdfcrawl.rdf.parse()`."""
    with suppress(NeedsSandbox):
        _strict(
            b"".join(
                parse(data, url=URL, graph=URL, media_type=media_type, limits=LIMITS)
            )
        )


def _sitemap(data: bytes) -> None:
    """Read a sitemap, and the same bytes as a document of ResourceSync."""
    for item in Sitemap(data, url=f"{URL}.xml", log=FaultLog()):
        repr(item)
    for entry in DocumentEntries(data, url=URL, log=FaultLog()):
        repr(entry)


def _robots(data: bytes) -> None:
    rules = parse_robots(data)
    path = data[-40:].decode("latin-1")
    for url in (URL, f"{URL}?{path}", f"http://e.example/{path}"):
        rules.allows(url)


def _tdm(data: bytes) -> None:
    parse_tdm_file(data, "http://e.example")


def _empty_page(data: bytes) -> None:
    classify_empty(data)
    count_hyperlinks(data)


def _ckan(data: bytes) -> None:
    recognize(URL, data)
    portal = PortalAddress(url="http://e.example")
    answer = CkanResponse(status=200, body=data, url=f"{portal.url}/api/3/action/x")
    log = FaultLog()
    for read in (read_result, read_names):
        with suppress(SourceFault):
            read(answer)
    for text in read_page(answer).packages:
        statements = iter_statements(text.load(), portal, log)
        _strict(b"".join(iter_checked(statements, log)))


def _portal(data: bytes) -> None:
    catalog_url(URL, data)
    catalog_url("http://e.example/api/" + data.decode("latin-1"))


def _rows(media_type: str, data: bytes) -> None:
    for row in iter_rows(data, media_type=media_type, log=FaultLog()):
        repr(row)


def _warc(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        reader = CaptureReader(
            part=FilePart(BytesIO(data), 0, is_last=True),
            log=FaultLog(),
            limits=CaptureLimits(lambda _url: 10**6, 2**16, 200.0),
            until_ms=10**15,
            is_wanted=lambda _capture, _head: True,
            new_file=lambda: Path(folder, "body"),
        )
        for capture in reader:
            repr(capture.headers)


def _uri(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    url = requestable(text, URL)
    if requestable(url) != url or not url.isascii() or not url.isprintable():
        raise AssertionError(url)
    normal = NORMAL_FORM.normalize(url)
    if NORMAL_FORM.normalize(normal) != normal:
        raise AssertionError(normal)
    is_endless(url, TrapLimits())
    form_of(url)
    with suppress(PingRefused):
        sitemap_url(text, Guard())


def _headers(data: bytes) -> None:
    text = data.decode("latin-1")
    links_of(text, base=URL)
    json_ld_alternate(text, base=URL)
    parse_http_date(text)
    parse_retry_after(text, datetime.now(UTC))
    read_directives(text, "rdfcrawl", now=0.0)
    read_tdm(text)
    context_link(text, base=URL)


def _payload(data: bytes) -> None:
    key = "e.example"
    record = unpack(data, key)
    if not record.url.isascii() or not record.url.isprintable():
        raise AssertionError(record.url)
    if unpack(pack(record, key), key) != record:
        raise AssertionError(record)


def _listing(data: bytes) -> None:
    for line in ListingLines().feed(data + b"\n"):
        parse_facts(line)
        parse_list_line(line)


def _patch(data: bytes) -> None:
    document = b'{"a": [1, 2, {"b": "c"}], "": null}'
    apply_patch(document, data, media_type="application/json-patch+json")


def _response(data: bytes) -> None:
    end = head_end(data)
    if end < 0:
        check_begin(data)
        return
    head = parse_head(data[:end])
    if head.is_chunked:
        chunks = ChunkDecoder()
        for byte in data[end : end + 999]:
            chunks.decode(bytes([byte]), max_chunks=1)
        ChunkDecoder().decode(data[end:], max_chunks=len(data))


def _coding(name: str, data: bytes) -> None:
    decoder = BodyDecoder(name, max_ratio=200)
    for _ in decoder.pieces(data):
        pass
    decoder.finish()


def _context(data: bytes) -> None:
    entry = ContextEntry.from_bytes(data)
    if entry is not None:
        with suppress(SourceFault):
            entry.document()


def _documents() -> Iterator[tuple[str, Door]]:
    for each in FORMATS:
        media_type = next(iter(each.media_types), "")
        yield each.name, Door(partial(_document, media_type), is_bounded=True)
        if each is not HTML:
            yield f"{each.name} inline", Door(partial(_inline, media_type))
    yield "archive", Door(partial(_document, "", name=".gz"), is_bounded=True)


_RECORDS = (ValueError, LookupError)  # callers that take a record know these

DOORS: Final = {name.lower().replace("/", "-"): door for name, door in _documents()} | {
    "sitemap": Door(_sitemap),
    "robots": Door(_robots),
    "tdmrep": Door(_tdm),
    "empty page": Door(_empty_page),
    "ckan": Door(_ckan),
    "portal": Door(_portal),
    "table of json": Door(partial(_rows, "application/sparql-results+json")),
    "table of xml": Door(partial(_rows, "application/sparql-results+xml")),
    "table of tsv": Door(partial(_rows, "text/tab-separated-values")),
    "table of csv": Door(partial(_rows, "text/csv")),
    "warc": Door(_warc),
    "uri": Door(_uri),
    "headers": Door(_headers),
    "response": Door(_response),
    "payload": Door(_payload, _RECORDS),
    "listing": Door(_listing),
    "json patch": Door(_patch),
    "gzip": Door(partial(_coding, "gzip")),
    "br and deflate": Door(partial(_coding, "deflate, br")),
    "zstd": Door(partial(_coding, "zstd")),
    "shared context": Door(_context),
}
