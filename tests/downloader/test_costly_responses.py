"""Responses that cost more than they bring, and bytes that belong to no response."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.records import Kind
from rdfcrawl.downloader.http.recording import listening
from tests.support.http_gets import get_one, opened
from tests.support.visit_runs import reasons, run, visit_of

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator

    from rdfcrawl.downloader.options import FetchOptions
    from tests.conftest import RawRequest, RawServers, Reply

    MakeOptions = Callable[..., FetchOptions]

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/n-triples\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
LINE = b"<urn:x:s> <urn:x:p> <urn:x:object:of:some:length> .\n"
FLOODS = {
    "chunks": (CHUNKED, b"1\r\n#\r\n" * 2000),
    "pairs": (CHUNKED, b"2\r\n##\r\n" * 2000),
    "extensions": (CHUNKED, (b"40;" + b"x" * 4000 + b"\r\n" + b"#" * 64 + b"\r\n") * 9),
    "interim": (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n" * 500),
    "lines": (HEAD, b"X: y\r\n" * 2000),
    "name": (HEAD, b"x" * 20_000),
    "empty-lines": (b"", b"\r\n" * 9000),
}


N_PACKETS = 3000
OK = b"HTTP/1.1 200 OK\r\n"
# First bytes, bytes of each packet, last bytes.
TINY_PACKETS = {
    "head": (OK + b"X: ", b"y", b"\r\nContent-Length: 0\r\n\r\n"),
    "lines": (OK, b"X: y\r\n", b"Content-Length: 0\r\n\r\n"),
    "length": (OK + b"Content-Length: %d\r\n\r\n" % N_PACKETS, b"#", b""),
    "to-close": (OK + b"Connection: close\r\n\r\n", b"#", None),
    "chunk": (CHUNKED + b"%x\r\n" % N_PACKETS, b"#", b"\r\n0\r\n\r\n"),
    "extension": (CHUNKED + b"1;", b"x", b"\r\n#\r\n0\r\n\r\n"),
}


class ReadCounter:
    """Count the reads of responses."""

    address = ""
    keeps_all = False
    n_reads = 0

    def send(self, content: bytes) -> None:
        """See `WireListener`."""

    def receive(self, content: bytes) -> None:
        """See `WireListener`."""
        self.n_reads += bool(content)


def in_tiny_packets(
    begin: bytes, piece: bytes, end: bytes | None
) -> list[bytes | float | None]:
    """Return a response most of which comes in packets of their own."""
    return [begin, *(step for _ in range(N_PACKETS) for step in (piece, 0)), end]


@pytest.mark.parametrize("name", TINY_PACKETS)
async def test_tiny_packets_are_read_together(
    raw_server: RawServers, fetch_options: MakeOptions, name: str
) -> None:
    """If a response comes in tiny packets, then few reads take many of them each."""
    server = await raw_server({"/": in_tiny_packets(*TINY_PACKETS[name])})
    options, counter = fetch_options(), ReadCounter()
    token = listening.set(counter)
    try:
        async with opened(options, is_recorded=True) as exchange:
            answer = await exchange.get(
                server.url(), options.request_options(Kind.PAGE)
            )
    finally:
        listening.reset(token)
    assert (answer.status, answer.fault) == (200, None)
    assert 0 < counter.n_reads < N_PACKETS / 15


async def test_tiny_records_of_tls_are_read_together(
    raw_server: RawServers, fetch_options: MakeOptions, self_signed_tls: ssl.SSLContext
) -> None:
    """If TLS has records of a byte, then reading rests, and goes on to the end."""
    n_more = 1_000_000
    head = OK + b"Content-Length: %d\r\n\r\n" % (N_PACKETS + n_more)
    page = in_tiny_packets(head, b"#", b"x" * n_more)
    server = await raw_server({"/": page}, tls=self_signed_tls)
    options, counter = fetch_options(verify_certificates=False), ReadCounter()
    token = listening.set(counter)
    try:
        async with opened(options, is_recorded=True) as exchange:
            answer = await exchange.get(
                server.url(), options.request_options(Kind.PAGE)
            )
            exchange.spool.release(answer)
    finally:
        listening.reset(token)
    assert (answer.fault, answer.n_bytes) == (None, N_PACKETS + n_more)
    assert 0 < counter.n_reads < N_PACKETS / 10


def flood(begin: bytes, piece: bytes) -> Callable[[RawRequest], Iterator[bytes]]:
    """Return a response that does not end."""

    def steps(_request: RawRequest) -> Iterator[bytes]:
        yield begin
        while True:
            yield piece

    return steps


async def test_costly_response_ends_soon_and_for_good(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If next to nothing comes, then the response ends, and is not requested again."""
    server = await raw_server({f"/{name}": flood(*x) for name, x in FLOODS.items()})
    visit = visit_of(*(server.url(f"/{name}") for name in FLOODS))
    await run(visit, fetch_options(retry_times=2))
    assert reasons(visit) == [Reason.BAD_HTTP] * len(FLOODS)
    assert server.targets == [f"/{name}" for name in FLOODS]
    # There were more bytes than that in the first packets.
    assert all(each.response.n_bytes < 8192 for each in visit.documents)


@pytest.mark.parametrize(("step", "n_lines"), [(1, 20), (9, 400), (52, 20_000)])
async def test_small_chunks_of_an_honest_server_are_read(
    raw_server: RawServers, fetch_options: MakeOptions, step: int, n_lines: int
) -> None:
    """If a server sends each line or letter in a chunk, then the body is complete."""
    body = LINE * n_lines
    parts = (body[at : at + step] for at in range(0, len(body), step))
    chunks = [b"%x\r\n%s\r\n" % (len(part), part) for part in parts]
    reply = CHUNKED + b"".join(chunks) + b"0\r\n\r\n"
    server = await raw_server({"/": reply})
    answer = await get_one(server.url(), fetch_options())
    assert (answer.fault, answer.n_bytes) == (None, len(body))


async def test_trailers_without_end_cost_only_the_connection(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a body is complete, then trailers that do not end are no fault of it."""
    last = CHUNKED + b"34\r\n" + LINE + b"\r\n0\r\n"
    pages: dict[str, Reply] = {"/a": flood(last, b"X: y\r\n" * 2000)}
    pages["/b"] = raw_server.response(LINE)
    server = await raw_server(pages)
    options = fetch_options()
    async with opened(options) as exchange:
        for target in ("/a", "/b"):
            answer = await exchange.get(
                server.url(target), options.request_options(Kind.PAGE)
            )
            assert (answer.fault, answer.body) == (None, LINE)
    assert server.n_connections == 2


@pytest.mark.parametrize(
    "late", [b"\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]
)
async def test_late_bytes_are_no_response(
    raw_server: RawServers, fetch_options: MakeOptions, late: bytes
) -> None:
    """If bytes come without a request, then the next one uses another connection."""
    pages: dict[str, Reply] = {"/a": [raw_server.response(b"a"), 0.05, late]}
    pages["/b"] = raw_server.response(b"b")
    server = await raw_server(pages)
    options = fetch_options()
    async with opened(options) as exchange:
        first = await exchange.get(server.url("/a"), options.request_options(Kind.PAGE))
        await asyncio.sleep(0.1)
        await asyncio.sleep(0.1)  # the late bytes are read between the two
        second = await exchange.get(
            server.url("/b"), options.request_options(Kind.PAGE)
        )
    assert (first.body, second.body) == (b"a", b"b")
    assert server.n_connections == 2
