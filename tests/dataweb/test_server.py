"""The server over real connections: HTTP, the access log, the process."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.dataweb.config import WebConfig, parse_weights
from rdfcrawl.dataweb.process import run_dataweb
from rdfcrawl.dataweb.protocol import MAX_BODY_BYTES, MAX_HEAD_BYTES
from rdfcrawl.dataweb.server import ServedHere, bind_sockets, serve

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

DEREF = parse_weights("deref=1")


def small(**changes: Any) -> WebConfig:
    """A web of three dereferencing nodes on a free port."""
    values: dict[str, Any] = {"n_nodes": 3, "degree": 2, "weights": DEREF, "port": 0}
    return WebConfig(**values | changes)


@asynccontextmanager
async def connect(
    served: ServedHere, node: int = 0
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to a node."""
    plan = served.web.nodes[node].plan
    reader, writer = await asyncio.open_connection(plan.address, plan.port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def read_response(reader: asyncio.StreamReader) -> tuple[int, bytes, bytes]:
    """Status, head and body of one response."""
    head = await reader.readuntil(b"\r\n\r\n")
    lower = head.lower()
    start = lower.index(b"content-length: ") + 16
    length = int(lower[start : lower.index(b"\r\n", start)])
    return int(head[9:12]), head, await reader.readexactly(length)


def get(path: str, *fields: str) -> bytes:
    """A GET request in its sent form."""
    lines = [f"GET {path} HTTP/1.1", "Host: anything", "User-Agent: probe", *fields]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def test_pipelined_requests_are_answered_in_order() -> None:
    """If requests come in one piece or byte by byte, each is answered in turn."""
    paths = [f"/dataset-0/resource-{k}" for k in (3, 0, 2)]
    data = b"".join(get(path, "Accept: application/n-triples") for path in paths)
    async with serve(small()) as served, connect(served) as (reader, writer):
        for pieces in ([data], [data[k : k + 1] for k in range(len(data))]):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
            for path in paths:
                status, _, body = await read_response(reader)
                subject = f"<{served.web.nodes[0].plan.origin}{path}>".encode()
                assert status == 200
                assert {line.split()[0] for line in body.splitlines()} <= {subject}


async def test_a_node_is_found_by_its_address() -> None:
    """If the Host field lies, the address of the socket still decides."""
    async with serve(small()) as served:
        bodies = set()
        for node in range(3):
            async with connect(served, node) as (reader, writer):
                writer.write(get("/dataset-0/resource-0", "Host: 127.42.0.1"))
                _, _, body = await read_response(reader)
                assert served.web.nodes[node].plan.origin.encode() in body
                bodies.add(body)
        assert len(bodies) == 3


async def test_head_has_the_length_but_no_body() -> None:
    """If HEAD is sent, the fields are those of GET and no body follows."""
    async with serve(small()) as served, connect(served) as (reader, writer):
        request = get("/dataset-0/resource-0")
        writer.write(request.replace(b"GET", b"HEAD") + request)
        head = await reader.readuntil(b"\r\n\r\n")
        _, same_head, body = await read_response(reader)
        assert head == same_head
        assert body


async def test_post_with_expectation_is_continued() -> None:
    """If a POST waits for 100 Continue, it gets that first, then a response."""
    config = WebConfig(
        n_nodes=2, degree=1, weights=parse_weights("sparql=1"), port=0, triples=20
    )
    query = b"ASK { ?s ?p ?o }"
    head = (
        "POST /sparql HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
        "Content-Type: application/sparql-query\r\n"
        f"Content-Length: {len(query)}\r\n\r\n"
    )
    async with serve(config) as served, connect(served) as (reader, writer):
        writer.write(head.encode())
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(query)
        status, _, body = await read_response(reader)
        assert (status, json.loads(body)["boolean"]) == (200, True)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET /\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\n\r\n", 400),
        (b"GET x HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400),
        (b"DELETE / HTTP/1.1\r\n\r\n", 405),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1), 413),
        (b"POST / HTTP/1.1\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n", 413),
        (b"GET /" + b"a" * MAX_HEAD_BYTES, 431),
    ],
)
async def test_bad_requests_end_the_connection(data: bytes, status: int) -> None:
    """If bytes are no request within the limits, the answer says so and is the last."""
    async with serve(small()) as served, connect(served) as (reader, writer):
        writer.write(data)
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 %d " % status)
        assert b"Connection: close" in answer
        assert served.log().total("n_refused") == 1


@pytest.mark.parametrize(
    "request_",
    [
        get("/dataset-0/resource-0", "Connection: close"),
        get("/dataset-0/resource-0").replace(b"HTTP/1.1", b"HTTP/1.0"),
    ],
    ids=["close", "http10"],
)
async def test_connection_ends_where_the_client_wants(request_: bytes) -> None:
    """If the client closes its side, the connection ends after the response."""
    async with serve(small()) as served, connect(served) as (reader, writer):
        writer.write(request_ + request_)
        answer = await reader.read()
        assert answer.count(b"HTTP/1.1 200 OK") == 1


async def test_a_client_that_does_not_read_is_not_read_from() -> None:
    """If a client only sends, the server stops reading, and answers all in the end."""
    n_requests = 3_000
    config = small(weights=parse_weights("dump=1"), compressed=0, triples=300)
    async with serve(config) as served, connect(served) as (reader, writer):
        plan = served.web.nodes[0].plan
        path = plan.access_uri.removeprefix(plan.origin).partition("#")[0]
        # Some 60 MB of answers: more than the buffers of the kernel take.
        writer.write(get(path) * n_requests)
        await asyncio.sleep(0.3)
        assert 0 < served.log().total("n_requests") < n_requests
        drained = asyncio.ensure_future(writer.drain())
        for _ in range(n_requests):
            await read_response(reader)
        await drained
        assert served.log().total("n_requests") == n_requests


async def test_access_log_counts_requests() -> None:
    """If a client is rude, the log has the figures."""
    config = small(disallowed=0.1, delay_secs=10)
    async with serve(config) as served:
        disallowed = min(served.web.nodes[0].disallowed)
        async with connect(served) as (reader, writer), connect(served):
            for path in ("/robots.txt", "/dataset-0/resource-0", "/robots.txt"):
                writer.write(get(path))
                await read_response(reader)
            await asyncio.sleep(0.05)
            for path in ("/dataset-0/resource-0", disallowed, "/nothing"):
                writer.write(get(path))
                await read_response(reader)
        log = served.log().hosts[0]
    assert (log.n_requests, log.n_robots, log.n_connections) == (6, 2, 2)
    assert (log.n_distinct, log.n_duplicates, log.n_documents) == (3, 1, 2)
    assert (log.n_disallowed, log.n_disallowed_requested) == (4, 1)
    assert log.max_connections == 2
    assert log.max_in_progress == 1
    assert log.statuses == {"200": 5, "404": 1}
    assert log.user_agents == {"probe": 6}
    assert log.min_gap_secs is not None
    assert log.mean_gap_secs is not None
    assert 0 < log.min_gap_secs < 0.05
    assert 0.05 / 3 <= log.mean_gap_secs < 2
    assert log.delay_fulfilment == pytest.approx(log.mean_gap_secs / 10)


async def test_latency_shows_requests_in_progress() -> None:
    """If answers are held back, two connections have two requests in progress."""
    async with serve(small(latency_ms=80)) as served:
        async with connect(served) as first, connect(served) as second:
            started = asyncio.get_running_loop().time()
            for _, writer in (first, second):
                writer.write(get("/dataset-0/resource-0") * 2)
            for reader, _ in (first, second):
                for _ in range(2):
                    await read_response(reader)
            assert asyncio.get_running_loop().time() - started >= 0.15
        assert served.log().hosts[0].max_in_progress == 2
        async with connect(served, 1) as (_, writer):
            writer.write(get("/dataset-0/resource-0"))
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.1)
        assert served.log().hosts[1].n_requests == 1


async def test_summary_adds_up() -> None:
    """If two hosts are visited, the summary has sums, least gaps and ratios."""
    async with serve(small(disallowed=0.5)) as served:
        for node in (0, 1):
            async with connect(served, node) as (reader, writer):
                for path in served.web.nodes[node].disallowed:
                    writer.write(get(path))
                    await read_response(reader)
        log = served.log()
    summary = log.to_json()["summary"]
    assert log.requested_disallowed_ratio == pytest.approx(2 / 3)
    assert summary["n_requests"] == sum(len(n.disallowed) for n in served.web.nodes[:2])
    assert summary["active_secs"] > 0


def test_a_taken_port_is_a_clear_error() -> None:
    """If another process listens on the port, the error names address and port."""
    with socket.socket() as taken:
        taken.bind(("127.42.0.2", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"127\.42\.0\.2:{port}"):
            bind_sockets(["127.42.0.1", "127.42.0.2"], port)


def fetch(url: str) -> tuple[int, bytes]:
    """GET by the standard library's client."""
    host, _, path = url.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.request("GET", "/" + path.partition("#")[0])
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, body


def test_a_web_runs_in_its_own_process(tmp_path: Path) -> None:
    """If a web is run, its seeds answer, its log is live, its files are written."""
    with run_dataweb(WebConfig(port=0), tmp_path / "web") as web:
        assert web.pid != os.getpid()
        assert [fetch(url)[0] for url in web.seeds] == [200] * len(web.seeds)
        assert web.log().total("n_requests") == len(web.seeds)
        assert web.seeds_path.read_text().split() == list(web.seeds)
        assert web.truth_path.read_bytes().count(b"\n") > 1000
        last = web.stop()
        assert web.stop() is web.log() is last
        written = json.loads(web.log_path.read_text())
        assert written["summary"]["n_requests"] == len(web.seeds)
    with pytest.raises(ConnectionRefusedError):
        fetch(web.seeds[0])


def test_a_process_that_cannot_serve_says_why(tmp_path: Path) -> None:
    """If the folder cannot be made, `run_dataweb` raises and leaves no process."""
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(ConfigError, match="cannot write"),
        run_dataweb(small(), tmp_path / "file" / "web"),
    ):
        pass


def test_a_killed_process_is_an_error(tmp_path: Path) -> None:
    """If the server dies, asking it for its log raises."""
    with run_dataweb(small(), tmp_path) as web:
        os.kill(web.pid, signal.SIGKILL)
        with pytest.raises(ConfigError, match="has ended"):
            web.log()


def test_a_command_to_a_dead_process_is_an_error_once(tmp_path: Path) -> None:
    """If the server dies before a request, one error says so and none follows it."""
    with run_dataweb(small(), tmp_path) as web:
        os.kill(web.pid, signal.SIGKILL)
        os.waitid(os.P_PID, web.pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(ConfigError, match="has ended"):
            web.log()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, None])
def test_the_child_ends_by_signal_or_with_its_parent(
    tmp_path: Path, number: signal.Signals | None
) -> None:
    """If the child gets a signal or loses its parent, it writes its log and ends."""
    command = [sys.executable, "-m", "rdfcrawl.dataweb", small().to_json()]
    with subprocess.Popen(
        [*command, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdin is not None
        assert b"seeds" in child.stdout.readline()
        if number is None:
            child.stdin.close()
        else:
            child.send_signal(number)
        assert child.wait(20) == 0
    assert json.loads((tmp_path / "log.json").read_text())["summary"]["n_requests"] == 0
