"""Requests that are archived: their bytes on the wire, and those without room."""

from __future__ import annotations

import errno
import gzip
import os
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.records import Kind
from rdfcrawl.downloader.archiving import ArchivingExchange
from rdfcrawl.downloader.http.exchange import HttpExchange
from rdfcrawl.downloader.spool import Spool, SpoolLimits
from rdfcrawl.downloader.warc.archive import ArchiveOptions, WebArchive
from tests.support.web_archives import read_archive

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from rdfcrawl.downloader.options import FetchOptions
    from tests.conftest import RawServers
    from tests.support.web_archives import ReadRecord

    MakeOptions = Callable[..., FetchOptions]


class Archived:
    """A client whose requests are archived.

    Attributes:
        exchange: the client.
        archive: takes the requests.
        folder: of the archive.
        spool: of bodies.
        options: of the fetch.
    """

    def __init__(self, folder: Path, options: FetchOptions, spool: Spool) -> None:
        self.folder, self.options, self.spool = folder, options, spool
        self.exchange: ArchivingExchange
        self.counts: Counter[str] = Counter()
        self.archive = WebArchive(
            ArchiveOptions(
                folder=folder,
                name="a",
                max_bytes=10**9,
                redacted_headers=("Authorization",),
                info=[],
            ),
            lambda name, number: self.counts.update({name: number}),
        )
        self.archive.open()

    async def get(self, url: str, **changes: object) -> Reason | None:
        """Ask for a URL, and return the reason of the fault."""
        ask = replace(self.options.request_options(Kind.PAGE), **changes)  # type: ignore[arg-type]
        answer = await self.exchange.get(url, ask)
        self.spool.release(answer)
        return answer.fault.reason if answer.fault else None

    def records(self) -> list[ReadRecord]:
        """Return all records but the `warcinfo`."""
        self.archive.close()
        files = self.folder.glob("*.warc.gz")
        return [each for file in files for each in read_archive(file)][1:]


@asynccontextmanager
async def archived(
    tmp_path: Path, options: FetchOptions, limits: SpoolLimits | None = None
) -> AsyncIterator[Archived]:
    """Open a client, and check that nothing is left of its captures."""
    memory = options.visit_memory_bytes
    with Spool(options.spool_dir, memory_limit_bytes=memory, limits=limits) as spool:
        made = Archived(tmp_path / "warc", options, spool)
        async with HttpExchange(options, spool, is_recorded=True) as exchange:
            made.exchange = ArchivingExchange(exchange, made.archive, spool)
            yield made
        assert spool.memory_bytes == 0
        assert spool.file_bytes == 0
        assert not list(spool.folder.glob("*.body"))


async def test_requests_of_one_connection_have_their_own_records(
    raw_server: RawServers, fetch_options: MakeOptions, tmp_path: Path
) -> None:
    """If requests share a connection, then each has its own bytes, body included."""
    server = await raw_server({"/a": raw_server.response(b"a"),
                               "/q": raw_server.response(b"q")})  # fmt: skip
    key = (("Authorization", "Basic s3cr3t"),)
    async with archived(tmp_path, fetch_options()) as client:
        await client.get(server.url("/a"))
        await client.get(server.url("/q"), data=b"query=ASK{}", headers=key)
        await client.get(server.url("/a"))
        records = client.records()
    assert server.n_connections == 1
    requests = [each for each in records if each.type == "request"]
    heads = [each.head.splitlines()[0] for each in requests]
    assert heads == ["GET /a HTTP/1.1", "POST /q HTTP/1.1", "GET /a HTTP/1.1"]
    assert requests[1].body == b"query=ASK{}"
    assert "Authorization: redacted" in requests[1].head
    answers = [(each.type, each.body) for each in records if "re" in each.type[:2]]
    assert [each for each in answers if each[0] != "request"] == [
        ("response", b"a"),
        ("response", b"q"),
        ("revisit", b""),
    ]


async def test_what_is_cut_off_says_why(
    raw_server: RawServers, fetch_options: MakeOptions, tmp_path: Path
) -> None:
    """If a response is incomplete, then its bytes are kept, and the reason."""
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n"
    server = await raw_server(
        {
            "/slow": [head + b"x" * 100, 60.0],
            "/long": [head + b"x" * 300_000],
            "/broken": [head + b"x" * 200, "reset"],
            "/error": [head.replace(b"200 OK", b"500 E") + b"x" * 300_000],
            "/silent": [60.0],
        }
    )
    options = fetch_options(timeout_secs=0.5, first_byte_secs=0.5)
    async with archived(tmp_path, options) as client:
        assert await client.get(server.url("/slow")) is Reason.TIMEOUT
        assert await client.get(server.url("/long"), max_bytes=1000) is Reason.TOO_LARGE
        assert await client.get(server.url("/broken")) is Reason.TRUNCATED_BODY
        await client.get(server.url("/error"))
        assert await client.get(server.url("/silent")) is Reason.TIMEOUT
        records = client.records()
        assert client.counts["warc/unanswered"] == 1
    cut = {each.url: each for each in records if each.type == "response"}
    reasons = {url: each.fields["WARC-Truncated"] for url, each in cut.items()}
    assert reasons == {
        server.url("/slow"): "time",
        server.url("/long"): "length",
        server.url("/broken"): "disconnect",
        server.url("/error"): "length",
    }
    assert cut[server.url("/slow")].body == b"x" * 100
    told = {each.url: each.body for each in records if each.type == "metadata"}
    assert b"fault: timeout: " in told[server.url("/slow")]


async def test_what_has_no_room_is_our_own_failure(
    raw_server: RawServers,
    fetch_options: MakeOptions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If the archive cannot be written, then the host is not to blame."""
    server = await raw_server({"/a": raw_server.response(b"a")})

    def refuse(_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    async with archived(tmp_path, fetch_options()) as client:
        ask = client.options.request_options(Kind.PAGE)
        with monkeypatch.context() as patch:
            patch.setattr(client.archive, "write_exchange", refuse)
            answer = await client.exchange.get(server.url("/a"), ask)
        client.spool.release(answer)
        assert answer.fault is not None
        assert str(answer.fault.detail) == "warc: No space left on device"
        assert (answer.fault.reason, answer.errno) == (Reason.INTERNAL, errno.ENOSPC)
        client.archive.close()


@pytest.mark.parametrize("how", ["plain", "chunked", "gzip"])
async def test_large_bodies_need_no_room_twice(
    raw_server: RawServers, fetch_options: MakeOptions, tmp_path: Path, how: str
) -> None:
    """If the spool has room for a body alone, then the archive has it as well."""
    body = os.urandom(600_000)
    sent = {
        "plain": raw_server.response(body),
        "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body),
        "gzip": raw_server.response(gzip.compress(body), Content_Encoding="gzip"),
    }
    server = await raw_server({"/a": sent[how]})
    options = fetch_options(spool_bytes=1000)
    limits = SpoolLimits(host_bytes=700_000, most_bytes=700_000)
    async with archived(tmp_path, options, limits) as client:
        assert await client.get(server.url("/a")) is None
        response, *_ = client.records()
    found = gzip.decompress(response.body) if how == "gzip" else response.body
    assert (response.type, found) == ("response", body)
    assert "WARC-Truncated" not in response.fields
