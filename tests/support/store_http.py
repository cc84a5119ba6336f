"""Requests to a scripted store and its answers, over HTTP/1.1 on loopback."""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

GRAPH_TYPES = ("application/n-triples", "text/turtle")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A response; a status of 0 closes the connection without one."""

    status: int
    body: bytes = b""
    media_type: str = "text/plain"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRequest:
    """Requests of a client.

    Attributes:
        path: without the query string.
        given: parameters of the query string, and of a form.
        headers: names in lower case.
        body: if it is no form.
    """

    method: str
    path: str
    given: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The update or query in it, or the body."""
        own = self.given.get("update") or self.given.get("query")
        return own or self.body.decode("utf-8", "replace")

    @property
    def is_write(self) -> bool:
        """Whether it changes the store."""
        if self.method in {"PUT", "DELETE"} or "update" in self.given:
            return True
        kind = self.headers.get("content-type", "")
        return kind.startswith("application/sparql-update") or kind in GRAPH_TYPES


class StoreServer(ThreadingHTTPServer):
    """Passes requests to a function, several at a time."""

    daemon_threads = True

    def __init__(self, answer: Callable[[StoreRequest], Answer]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer

    @property
    def origin(self) -> str:
        """Its URL, without a path."""
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: StoreServer

    def _serve(self) -> None:
        answer = self.server.answer(self._request())
        if not answer.status:
            self.close_connection = True
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", answer.media_type)
        if answer.status != HTTPStatus.NO_CONTENT:
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    do_GET = do_PUT = do_POST = do_DELETE = _serve  # noqa: N815

    def _request(self) -> StoreRequest:
        parts = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self._body()
        fields = parse_qs(parts.query, keep_blank_values=True)
        kind = headers.get("content-type", "")
        if kind.startswith("application/x-www-form-urlencoded"):
            fields |= parse_qs(body.decode(), keep_blank_values=True)
            body = b""
        return StoreRequest(
            method=self.command,
            path=parts.path,
            given={name: values[-1] for name, values in fields.items()},
            headers=headers,
            body=body,
        )

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def log_message(self, *_: object) -> None:
        """Say nothing."""
