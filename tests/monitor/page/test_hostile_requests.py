"""Each response to a hostile request is clear, short, and no error of ours."""

from __future__ import annotations

import gzip
import socket
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, NamedTuple

import pytest

from rdfcrawl.monitor.page.event_streams import MOST_STREAMS
from tests.support.page_browser import free_port, start_page

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands, RunningCrawl
    from tests.support.crawl_webs import Loopback

_FORM = b"Content-Type: application/x-www-form-urlencoded"
_OURS = b"X-Rdfcrawl-Control: yes"
_PARTS = b"Content-Type: multipart/form-data; boundary=x"
_LONG = b"x" * 60_000


class HostilePage(NamedTuple):
    """A page with control.

    Attributes:
        running: its process.
        port: that it listens at.
    """

    running: RunningCrawl
    port: int

    def send(self, sent: bytes) -> tuple[int, bytes]:
        """Return status and body of the answer to a request."""
        with socket.create_connection(("127.0.0.1", self.port), 60) as asking:
            # Who is refused early need not take all.
            with suppress(ConnectionError):
                asking.sendall(sent)
            got = bytearray()
            with suppress(ConnectionError):
                while piece := asking.recv(65536):
                    got += piece
        head, _, body = bytes(got).partition(b"\r\n\r\n")
        return int(head.split(b" ", 2)[1]), body


@pytest.fixture(scope="module")
def served(commands: Commands, loopback: Loopback) -> HostilePage:
    """Return the page of a finished crawl."""
    server = loopback({"/a": loopback.response(b"<> <urn:x:p> <b> .")})
    result = commands.crawl([server.url("/a")])
    assert result.code == 0, result.stderr
    port = free_port()
    running = start_page(commands, result.folder.parent, port, "--control")
    return HostilePage(running, port)


def get(path: bytes, *headers: bytes, method: bytes = b"GET") -> bytes:
    """Return a request of a visitor of this machine."""
    own = () if any(x.startswith(b"Host:") for x in headers) else (b"Host: localhost",)
    lines = (method + b" " + path + b" HTTP/1.1", *own, b"Connection: close", *headers)
    return b"\r\n".join(lines) + b"\r\n\r\n"


def post(body: bytes, *headers: bytes) -> bytes:
    """Return a request that changes something."""
    length = b"Content-Length: %d" % len(body)
    return get(b"/control", *headers, length, method=b"POST") + body


_VALUES = (
    *(b"%00", b"%ff%fe", b"%ED%A0%80", b"%zz", b"%0d%0aX-Y:z", b"..%2f..%2fetc"),
    *(b"http://%00/", b"http://[::1", b"http://a.example:99999/", b"urn:x:y"),
    *(b"http://" + b"a" * 300 + b"/", b"javascript:alert(1)", b"1e9", b"-1", _LONG),
)
_QUERIES = (
    *(b"/uri?u=", b"/uri?format=json&u=", b"/uri/statements?u="),
    *(b"/uri?u=http://a.example/&version=", b"/hosts?q=", b"/hosts?page="),
    *(b"/hosts?sort=", b"/hosts?phase=", b"/hosts?message=", b"/host?key="),
    *(b"/host?key=a&most=", b"/control?action=", b"/control?action=pause&key="),
    *(b"/control?action=add&value=", b"/static/", b"/static/a.css?", b"/nowhere/"),
    *(b"/faults?reason=", b"/dataset?u=", b"/datasets?text=", b"/datasets?page="),
    *(b"/datasets/graph?host=", b"/datasets/graph?nodes=", b"/report?site="),
    *(b"/report/file?name=", b"/query?rows=", b"/query?as=", b"/"),
)


@pytest.mark.parametrize("query", _QUERIES)
def test_values_of_queries_are_shown_or_refused(
    served: HostilePage, query: bytes
) -> None:
    """If a value of a query is anything, then the answer is short and no error."""
    for value in _VALUES:
        status, body = served.send(get(query + value))
        assert status in {200, 400, 404}, (query, value[:99])
        assert len(body) < 200_000
        assert b"Traceback" not in body


def packed(body: bytes) -> bytes:
    """Return a form in gzip, as a request."""
    return post(gzip.compress(body), _FORM, _OURS, b"Content-Encoding: gzip")


@pytest.mark.parametrize(
    ("status", "sent"),
    [
        (400, post(b"", _FORM, _OURS)),
        (400, post(b"action=%00&key=%00", _FORM, _OURS)),
        (400, post(b"action=pause&key=\xff\xfe", _FORM, _OURS)),
        (400, post(b"action=pause&key=a%00b", _FORM, _OURS)),
        (400, post(b"action=pause&key=" + b"x" * 900_000, _FORM, _OURS)),
        (413, post(b"action=pause&key=" + b"x" * 2_000_000, _FORM, _OURS)),
        (413, packed(b"action=pause&key=" + b"x" * 50_000_000)),
        (400, post(b"xxxx", _FORM, _OURS, b"Content-Encoding: gzip")),
        (400, post(b"&".join(b"a%d=1" % n for n in range(50_000)), _FORM, _OURS)),
        (400, post(b"action=set-delay&key=a&value=nan", _FORM, _OURS)),
        (400, post(b"action=set-delay&key=a&value=1e400", _FORM, _OURS)),
        (400, post(b"action=set-budget&key=a&value=" + b"9" * 99, _FORM, _OURS)),
        (400, post(b"action=add&value=javascript:alert(1)", _FORM, _OURS)),
        (400, post(b"action=add&value=http://a%00b/", _FORM, _OURS)),
        (400, post(b"action=drop&key=a", _FORM + b"; charset=nope", _OURS)),
        (415, post(b'{"action": "stop"}', b"Content-Type: application/json", _OURS)),
        (415, post(b"--x\r\nfoo", _PARTS, _OURS)),
        (415, post(b"--x\r\nfoo", _PARTS)),
        (415, post(b"action=stop", _OURS)),
        (403, post(b"action=stop", _FORM)),
        (403, post(b"action=stop&token=%ff", _FORM)),
        (403, post(b"action=stop", _FORM, b"Origin: null")),
        (403, post(b"action=stop", _FORM, _OURS, b"Sec-Fetch-Site: cross-site")),
        (405, get(b"/uri", _OURS, b"Content-Length: 0", method=b"POST")),
        (405, get(b"/hosts", _OURS, method=b"DELETE")),
        (405, get(b"/events", method=b"HEAD")),
        (421, get(b"/uri?u=x", b"Host: evil.example")),
        (421, get(b"/events", b"Host: localhost.evil.example:6824")),
        (421, get(b"/hosts", b"Host: \xff")),
        (421, get(b"/control?action=stop", b"Host: ")),
        (421, get(b"http://evil.example/uri", b"Host: localhost")),
        (400, get(b"/hosts", b"Host: localhost\r\nHost: evil.example")),
        (400, get(b"/uri?u=\xff\xfe")),
        (400, get(b"/uri?u=" + b"x" * 100_000)),
        (400, get(b"/uri", b"X: " + b"x" * 100_000)),
        (400, get(b"/\0")),
        (400, get(b"/uri", method=b"FOO")),
        (400, b"\x16\x03\x01\x02\0" + b"x" * 50 + b"\r\n\r\n"),
    ],
)
def test_wrong_requests_are_refused(
    served: HostilePage, status: int, sent: bytes
) -> None:
    """If a request is wrong in some way, then the answer says so, and all goes on."""
    found, body = served.send(sent)
    assert found == status
    assert len(body) < 10_000
    assert b"Traceback" not in body


def test_hundreds_of_streams_leave_the_page_at_work(
    served: HostilePage, commands: Commands
) -> None:
    """If hundreds watch together, then a few do, and other requests are served."""
    with ExitStack() as stack:
        answers = []
        for _ in range(300):
            asking = socket.create_connection(("127.0.0.1", served.port), 60)
            stack.enter_context(asking)
            asking.sendall(get(b"/events"))
            answers.append(asking)
        found = [asking.recv(12)[-3:] for asking in answers]
        assert found.count(b"200") == MOST_STREAMS
        assert found.count(b"503") == 300 - MOST_STREAMS
        assert served.send(get(b"/hosts"))[0] == 200

    def is_free() -> bool:
        with socket.create_connection(("127.0.0.1", served.port), 60) as asking:
            asking.sendall(get(b"/events"))
            return asking.recv(12)[-3:] == b"200"

    commands.wait_until(is_free)


def test_half_sent_requests_are_few_and_end(
    served: HostilePage, commands: Commands
) -> None:
    """If hundreds of requests are half sent, then some are refused, and all end."""
    with ExitStack() as stack:
        asking = [
            stack.enter_context(socket.create_connection(("127.0.0.1", served.port)))
            for _ in range(600)
        ]
        for each in asking:
            with suppress(ConnectionError):
                each.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")

        def n_ended() -> int:
            ended = 0
            for each in asking:
                each.setblocking(False)
                try:
                    ended += not each.recv(1)
                except BlockingIOError:
                    pass
                except ConnectionError:
                    ended += 1
            return ended

        commands.wait_until(lambda: n_ended() >= 600 - 512)
        commands.wait_until(lambda: n_ended() == 600)
    assert served.send(get(b"/hosts"))[0] == 200


def test_nothing_of_that_is_an_error_of_ours(served: HostilePage) -> None:
    """If visitors have sent all of that, then the log of the page has no traceback."""
    assert served.send(get(b"/uri"))[0] == 200
    assert not served.running.has_ended()
    assert "Traceback" not in served.running.stderr
    assert "Error handling" not in served.running.stderr
