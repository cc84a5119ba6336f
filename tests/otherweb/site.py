"""A web site on a separate loopback address, which records its requests."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Request:
    """A request of a client; names of headers are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def path(self) -> str:
        """The target without its query, as it came."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> dict[str, list[str]]:
        """The parameters of the query."""
        return parse_qs(urlsplit(self.target).query, keep_blank_values=True)

    def first(self, name: str, default: str = "") -> str:
        """Return the first value of a parameter."""
        return self.query.get(name, [default])[0]

    def prefers(self, offers: Sequence[str]) -> str | None:
        """Return the offer that `Accept` likes best (RFC 9110 12.5.1).

        The first of equals; None if none is acceptable.
        """
        accept = self.headers.get("accept", "*/*") or "*/*"
        weighed = [(_quality(offer, accept), offer) for offer in offers]
        best = max(quality for quality, _ in weighed)
        return next(o for q, o in weighed if q == best) if best > 0 else None


def _quality(offer: str, accept: str) -> float:
    """Return the weight of a media type: the most specific range decides."""
    found = (-1, 0.0)
    for entry in accept.split(","):
        kind, *parameters = (part.strip() for part in entry.lower().split(";"))
        quality = next((float(p[2:]) for p in parameters if p[:2] == "q="), 1.0)
        group = offer.partition("/")[0] + "/*"
        rank = {"*/*": 0, group: 1, offer: 2}.get(kind, -1)
        if rank > found[0]:
            found = (rank, quality)
    return found[1]


@dataclass(frozen=True)
class Answer:
    """The response of the site."""

    status: int = 200
    media_type: str = "text/plain"
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


NOT_FOUND = Answer(404, "text/html", b"<!DOCTYPE html><title>404</title><p>Not found")


def see_other(location: str) -> Answer:
    """Answer that something else describes it (httpRange-14)."""
    return Answer(303, "text/html", b"<a href=.>see other</a>", {"Location": location})


class Site:
    """One host; subclasses define its responses.

    Attributes:
        requests: all that were answered, in order.
    """

    robots = ""

    def __init__(self, host: str) -> None:
        self.requests: list[Request] = []
        site = self

        class Handler(_Handler):
            owner = site

        self._server = ThreadingHTTPServer((host, 0), Handler)
        self._server.daemon_threads = True
        self.root = f"http://{host}:{self._server.server_address[1]}"

    def url(self, path: str = "/") -> str:
        """Return the absolute URL of a path."""
        return self.root + path

    def start(self) -> None:
        """Serve, in a thread."""
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}
        ).start()

    def stop(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()

    def reply(self, request: Request) -> Answer:
        """Answer one request."""
        self.requests.append(request)
        if request.path == "/robots.txt":
            if not self.robots:
                return NOT_FOUND
            return Answer(body=self.robots.format(root=self.root).encode())
        return self.answer(request)

    def answer(self, request: Request) -> Answer:
        """Answer a request for anything but robots.txt."""
        del request
        return NOT_FOUND


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "other/1"
    disable_nagle_algorithm = True  # headers and body are two writes
    owner: Site

    def _converse(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        headers = {name.lower(): text for name, text in self.headers.items()}
        body = self.rfile.read(length)
        answer = self.owner.reply(Request(self.command, self.path, headers, body))
        self.send_response(answer.status)
        if answer.media_type:
            self.send_header("Content-Type", answer.media_type)
        self.send_header("Content-Length", str(len(answer.body)))
        for name, text in answer.headers.items():
            self.send_header(name, text)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    do_GET = do_HEAD = do_POST = do_OPTIONS = do_PUT = _converse  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""
