"""The body of one GET: its limits, its coding, and where its bytes are kept."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.records import Kind
from rdfcrawl.downloader.http.exchange import HttpExchange
from rdfcrawl.downloader.spool import Spool
from tests.support.http_gets import get_one

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfcrawl.downloader.options import FetchOptions
    from tests.conftest import RawServers, Reply

    MakeOptions = Callable[..., FetchOptions]

TURTLE = b"<http://example.org/s> <http://example.org/p> 1 .\n"


@pytest.mark.parametrize(
    ("n_bytes", "is_spooled", "is_too_large"),
    [
        (1000, False, False),
        (1001, True, False),
        (5000, True, False),
        (5001, True, True),
    ],
)
async def test_body_limits(
    raw_server: RawServers,
    fetch_options: MakeOptions,
    *,
    n_bytes: int,
    is_spooled: bool,
    is_too_large: bool,
) -> None:
    """If a body is long, then it goes to a file; if it is too long, it is cut."""
    body = bytes(i % 251 for i in range(n_bytes))
    server = await raw_server({"/": raw_server.response(body)})
    options = fetch_options(spool_bytes=1000, max_document_bytes=5000)
    answer = await get_one(server.url(), options)
    assert (answer.path is not None) == is_spooled
    assert answer.body == body[:5000]
    assert answer.n_bytes == min(n_bytes, 5000)
    assert (answer.fault is not None) == is_too_large == answer.is_partial
    if answer.fault:
        assert answer.fault.reason is Reason.TOO_LARGE


async def test_dump_has_a_limit_of_its_own(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a dump is longer than a page may be, then it is still read."""
    server = await raw_server({"/": raw_server.response(b"x" * 3000)})
    options = fetch_options(max_document_bytes=1000, max_dump_bytes=4000)
    answer = await get_one(server.url(), options, Kind.DUMP)
    assert (answer.n_bytes, answer.fault) == (3000, None)


async def test_encoded_body_is_decoded(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If the body is gzipped on the wire, then the response has it decoded."""
    reply = raw_server.response(gzip.compress(TURTLE), Content_Encoding="gzip")
    server = await raw_server({"/": reply})
    answer = await get_one(server.url(), fetch_options())
    assert (answer.body, answer.fault) == (TURTLE, None)
    assert "gzip" in server.requests[0].headers["accept-encoding"]


@pytest.mark.parametrize(
    ("coding", "body", "reason"),
    [
        ("gzip", gzip.compress(b"x" * 3_000_000), Reason.TOO_LARGE),
        ("gzip", gzip.compress(TURTLE)[:-9], Reason.TRUNCATED_BODY),
        ("gzip", b"\x1f\x8b" + TURTLE, Reason.BAD_CONTENT_ENCODING),
        ("compress", b"\x1f\x9d\x90" + TURTLE, Reason.BAD_CONTENT_ENCODING),
    ],
    ids=["bomb", "cut", "not-gzip", "unknown"],
)
async def test_bad_coding_is_a_named_fault(
    raw_server: RawServers,
    fetch_options: MakeOptions,
    coding: str,
    body: bytes,
    reason: Reason,
) -> None:
    """If a body cannot be decoded within the limits, then the fault says why."""
    server = await raw_server({"/": raw_server.response(body, Content_Encoding=coding)})
    answer = await get_one(server.url(), fetch_options())
    assert answer.fault is not None
    assert answer.fault.reason is reason
    assert answer.n_bytes < 2_000_000


async def test_cut_coded_body_keeps_what_decodes(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If a coded body breaks off, then the received part is decoded and kept."""
    octets = bytes(i * i % 251 for i in range(50_000))
    whole = raw_server.response(gzip.compress(octets), Content_Encoding="gzip")
    at_once: Reply = [whole[:-400], None]
    in_parts: Reply = [whole[:500], 0.05, whole[500:-400], None]
    for steps in (at_once, in_parts):
        server = await raw_server({"/": steps})
        answer = await get_one(server.url(), fetch_options())
        assert answer.fault is not None
        assert answer.fault.reason is Reason.TRUNCATED_BODY
        assert answer.is_partial
        assert answer.body
        assert octets.startswith(answer.body)


async def test_bodies_go_to_files_when_memory_is_short(
    raw_server: RawServers, fetch_options: MakeOptions
) -> None:
    """If open visits hold more than they may, then small bodies are spooled too."""
    server = await raw_server({"/": raw_server.response(b"x" * 400)})
    options = fetch_options(visit_memory_bytes=1000)
    with Spool(options.spool_dir, memory_limit_bytes=1000) as spool:
        async with HttpExchange(options, spool) as exchange:
            ask = options.request_options(Kind.PAGE)
            answers = [await exchange.get(server.url(), ask) for _ in range(3)]
            assert [answer.path is None for answer in answers] == [True, True, False]
            assert spool.memory_bytes == 800
            for answer in answers:
                spool.release(answer)
                spool.release(answer)
            assert spool.memory_bytes == 0
            assert not list(spool.folder.iterdir())
