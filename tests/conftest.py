"""Fixtures shared by the tests."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import ssl
import struct
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any, Literal

import pytest
from scrapy.utils.project import ENVVAR

from rdfcrawl.downloader.options import FetchOptions
from rdfcrawl.uri.guard.policy import MAX_PORT, Guard, parse_networks
from tests.support.conformance_suites import Suites

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


pytest_plugins = [
    "tests.support.crawl_fixtures",
    "tests.support.doctest_files",
    "tests.support.example_profiles",
    "tests.support.forked_tests",
    "tests.support.page_browser",
    "tests.support.project_fixtures",
    "tests.support.redis_fixtures",
    "tests.support.spark_fixtures",
    "tests.support.store_services",
    "tests.support.tests_in_turn",
]

# The commands that tests start keep their bytecode, as installed ones do: to compile
# it anew is a third of the CPU of a small crawl. To rewrite the assertions of the tests
# is half of what it takes to collect them.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Each client of Redis looks for the version of its library in a folder of many files.
setattr(metadata, "version", cache(metadata.version))  # noqa: B010

# The servers of tests are on loopback, many of them on one address.
LOOPBACK_NETS = "127.0.0.0/8,::1"
LOOPBACK = Guard(parse_networks(LOOPBACK_NETS.split(",")), max_ports=MAX_PORT)

# Begun first, the longest foremost: a file that runs long and begins last runs alone.
# Files that wait and files that compute are mixed, so that both cores have work.
_LONGEST = (
    "crawl/threats/guard",
    "crawl/failures/refresh_epochs",
    "crawl/failures/outages",
    "analysis/spark/job",
    "crawl/sources/ways",
    "gates/docs_examples",
    "gates/how_to_keep",
    "crawl/sources/sitemap",
    "project/items",
    "matrix/matrix",
    "crawl/doors/scrapy",
    "analysis/report/report_days",
    "gates/start",
    "gates/dependencies",
    "deploy/scrapyd",
    "crawl/sources/ckan",
    "crawl/sources/consent",
    "injector/injected_faults",
    "crawl/threats/hostile",
    "crawl/sources/refresh",
    "analysis/refresh/stale",
    "crawl/failures/redis_back",
    "corpora/cases",
    "crawl/threats/guard_seeds",
    "project/scrapy_redis",
    "crawl/sources/revisits",
    "crawl/manners/slow",
    "crawl/failures/lives",
    "gates/docs_site",
    "crawl/threats/threats",
    "crawl/doors/own_spiders",
    "crawl/operation/life",
    "crawl/operation/forks",
    "crawl/operation/wanted_pages",
    "crawl/failures/ground",
    "crawl/manners/clock",
    "rdf/extraction/sandbox",
    "crawl/sources/datasets",
    "crawl/manners/contact",
    "sources/sparql/modes",
    "project/extractors",
    "crawl/sources/runs",
    "monitor/operating/frontier_command",
    "stores/followers/sparql_faults",
    "stores/shapes/shapes",
    "monitor/page/running",
    "frontier/redis_refusals",
    "sources/sparql/plan",
    "analysis/refresh/odd_histories",
    "crawl/sources/oaipmh",
    "commands/terminals",
    "crawl/sources/semantic",
    "commands/rdf",
    "crawl/manners/leaving",
    "crawl/operation/followers",
    "crawl/sources/archiving",
    "project/addon",
    "crawl/failures/chaos",
    "crawl/sources/later_runs",
    "matrix/runs",
    "core/options/merging",
    "commands/verify",
    "sources/sparql/requests",
    "crawl/sources/portal_files",
    "monitor/page/hosts",
    "crawl/sources/dcat_portals",
    "users/eight_users",
    "deploy/extras",
    "dataweb/server",
    "rdf/hdt/roundtrip",
    "gates/how_to_days",
    "monitor/operating/draining",
    "project/polite_spiders",
    "gates/how_tos",
    "crawl/sources/same_command",
    "stores/export/other_readers",
    "crawl/operation/progress",
    "commands/look",
    "crawl/threats/copies",
    "frontier/embedded",
    "crawl/failures/own_outages",
    "monitor/page/query",
    "sources/sitemaps/resourcesync/sync",
    "stores/followers/scripted_stores",
    "stores/followers/oxigraph",
    "crawl/sources/warc",
    "rdf/extraction/bulk",
    "crawl/doors/feeds",
    "fuzz/linear",
    "frontier/cluster_access",
    "crawl/operation/arguments",
    "analysis/report/report_page",
    "monitor/page/live",
    "crawl/doors/requests",
    "crawl/failures/redis",
    "sources/sparql/services",
    "crawl/operation/explaining",
    "crawl/documents/hops",
    "crawl/failures/disk",
    "crawl/sources/changes",
    "crawl/manners/reservations",
    "crawl/sources/endpoint_failures",
    "analysis/urldb/building",
    "commands/rdf_crawl",
    "stores/followers/store_services",
)
_PLACES = {f"tests/{path}": place for place, path in enumerate(_LONGEST)}

_TCP_INFO = struct.Struct("=52xI")  # up to tcpi_last_data_recv, of linux/tcp.h


# Collection makes a million objects that stay, in each process: to look through them
# again and again is a fifth of its CPU.
gc.disable()


def pytest_collection_finish() -> None:
    """Pass over all that is there now whenever garbage is looked for, and look seldom.

    A test that parses much makes many objects that stay for a while: to look through
    them after each 700 new ones is most of what `ast.parse` takes.
    """
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
    gc.enable()


@pytest.hookimpl(trylast=True)  # once pytest has ordered by parameters
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files that take longest first; all others stay as they are."""

    def place(item: pytest.Item) -> int:
        path = item.nodeid.partition("::")[0].removesuffix(".py").replace("/test_", "/")
        return _PLACES.get(path, len(_PLACES))

    items.sort(key=place)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Have no test leave to others which project is used: Scrapy notes it for good."""
    before = os.environ.get(ENVVAR)
    try:
        return (yield)
    finally:
        if before is None:
            os.environ.pop(ENVVAR, None)
        else:
            os.environ[ENVVAR] = before


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRequest:
    """One request as it came over the wire.

    Attributes:
        target: request target, byte for byte.
        headers: names in lower case; the last of several wins.
        at: loop time of its arrival, as the kernel has it.
        body: of it.
        nth: 1 for the first request of this target, and so on.
        connection: number of the connection it came on, from 1.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    at: float
    nth: int
    connection: int
    body: bytes = b""


Step = bytes | float | None | Literal["reset"]
"""Bytes are sent, a number is waited for (seconds), None closes, "reset" aborts."""

Reply = bytes | Sequence[Step] | Callable[[RawRequest], bytes | Iterable[Step]]


@dataclass(slots=True, kw_only=True)
class RawServer:
    """A loopback server that answers with scripted bytes, and remembers requests.

    `pages` maps request targets to replies and may be changed at any time; the
    target "*" is for all others, which are 404 without it.
    """

    host: str
    port: int
    scheme: str
    pages: dict[str, Reply]
    requests: list[RawRequest] = field(default_factory=list)
    n_connections: int = 0

    def url(self, target: str = "/") -> str:
        """Return the absolute URL of a request target."""
        return f"{self.scheme}://{self.host}:{self.port}{target}"

    @property
    def targets(self) -> list[str]:
        """What was asked for, in order."""
        return [request.target for request in self.requests]


class RawServers:
    """Starts `RawServer`s; all are stopped at the end of the test."""

    def __init__(self) -> None:
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def __call__(
        self,
        pages: Mapping[str, Reply] | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> RawServer:
        """Start one on `host`, any address of 127.0.0.0/8."""
        server = RawServer(
            host=host,
            port=port,
            scheme="https" if tls else "http",
            pages=dict(pages or {}),
        )

        def connected(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> None:
            server.n_connections += 1
            task = asyncio.ensure_future(
                self._converse(server, reader, writer, server.n_connections)
            )
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        listener = await asyncio.start_server(connected, host, port, ssl=tls)
        server.port = listener.sockets[0].getsockname()[1]
        self._servers.append(listener)
        return server

    @staticmethod
    def response(
        body: bytes = b"",
        media_type: str = "text/turtle",
        *,
        status: str = "200 OK",
        **headers: str,
    ) -> bytes:
        """Return a whole response; `_` in header names stands for `-`."""
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
        if media_type:
            lines.append(f"Content-Type: {media_type}")
        lines += [f"{name.replace('_', '-')}: {text}" for name, text in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode() + body

    @classmethod
    def redirect(cls, location: str, status: str = "303 See Other") -> bytes:
        """Return a redirect to `location`."""
        return cls.response(b"moved", "text/plain", status=status, Location=location)

    async def stop(self) -> None:
        """Stop all servers and drop their connections."""
        for listener in self._servers:
            listener.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for listener in self._servers:
            await listener.wait_closed()

    async def _converse(
        self,
        server: RawServer,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        connection: int,
    ) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                arrived = asyncio.get_running_loop().time() - _secs_since_arrival(
                    writer
                )
                request = _parse_request(head, server, connection, arrived)
                server.requests.append(request)
                if n_bytes := int(request.headers.get("content-length", 0)):
                    request = replace(request, body=await reader.readexactly(n_bytes))
                if not await _reply(server, request, writer):
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()
            with suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()


def _secs_since_arrival(writer: asyncio.StreamWriter) -> float:
    """Return for how long the last octets have been here, to some milliseconds.

    A loaded machine may let a server wait for longer than a pause between requests.
    """
    try:
        facts = writer.get_extra_info("socket").getsockopt(
            socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO.size
        )
    except (AttributeError, OSError):
        return 0.0
    millisecs = int(_TCP_INFO.unpack(facts)[0]) if len(facts) == _TCP_INFO.size else 0
    return millisecs / 1000


def _parse_request(
    head: str, server: RawServer, connection: int, arrived: float
) -> RawRequest:
    line, *fields = head.rstrip("\r\n").split("\r\n")
    method, target, _ = line.split(" ")
    headers = dict(field.split(": ", 1) for field in fields)
    return RawRequest(
        method=method,
        target=target,
        headers={name.lower(): text for name, text in headers.items()},
        at=arrived,
        nth=1 + server.targets.count(target),
        connection=connection,
    )


async def _reply(
    server: RawServer, request: RawRequest, writer: asyncio.StreamWriter
) -> bool:
    """Play the script of a request; False once the connection is closed."""
    reply = server.pages.get(request.target, server.pages.get("*"))
    if reply is None:
        reply = RawServers.response(b"nothing here", "text/plain", status="404 No")
    steps = reply(request) if callable(reply) else reply
    for step in [steps] if isinstance(steps, bytes) else steps:
        if step is None:
            return False
        if step == "reset":
            writer.transport.abort()
            return False
        if isinstance(step, bytes):
            writer.write(step)
            await writer.drain()
        elif not isinstance(step, str):
            await asyncio.sleep(step)
    return True


@pytest.fixture(scope="session")
def suites(tmp_path_factory: pytest.TempPathFactory) -> Suites:
    """Return the public test suites."""
    return Suites(tmp_path_factory.mktemp("suites"))


@pytest.fixture
async def raw_server() -> AsyncIterator[RawServers]:
    """Yield what starts loopback servers: request targets and replies go in.

    A reply is the bytes of a response, a list of steps (bytes to send, seconds to
    wait, None to close, "reset" to abort), or a function of the `RawRequest` that
    returns one of these.
    """
    servers = RawServers()
    yield servers
    await servers.stop()


@pytest.fixture(scope="session")
def self_signed_tls(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """Return a server's TLS context with a certificate that nobody trusts."""
    folder = tmp_path_factory.mktemp("tls")
    certificate_path = _write_certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate_path)
    return context


def _write_certificate(folder: Path) -> Path:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path


@pytest.fixture
def fetch_options(tmp_path: Path) -> Callable[..., FetchOptions]:
    """Return a maker of `FetchOptions` with short waits; arguments replace them."""

    def make(**changes: Any) -> FetchOptions:
        options = FetchOptions(
            user_agent="rdfcrawl-test",
            spool_dir=tmp_path / "spool",
            timeout_secs=30.0,
            connect_secs=30.0,
            backoff_base_secs=0.01,
            guard=LOOPBACK,
        )
        return replace(options, **changes)

    return make
