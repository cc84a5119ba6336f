"""Requests as bytes, prepared once per server: plain GETs differ in their paths."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from multidict import CIMultiDict

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.downloader.client import RequestOptions
from rdfcrawl.uri.guard.policy import MAX_PORT, literal_address
from rdfcrawl.uri.hosts import DEFAULT_PORTS

# Other URLs need a slower parser.
_plain: Final = re.compile(
    r"(https?://(?:[A-Za-z0-9.\-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]+)?)(/[!-\"$-~]*)"
).fullmatch
_any_url: Final = re.compile(r"(https?)://([^/?#]*)([^#]*)", re.IGNORECASE).match
_authority: Final = re.compile(
    r"(\[[0-9A-Fa-f:.]+\]|[^\s:\[\]\\%<>^|\x00-\x20\x7f]+)(?::([0-9]*))?"
).fullmatch
_ends_in_number: Final = re.compile(r"(?:.*\.)?[0-9]+\.?").fullmatch
_NOT_IN_TARGET: Final = re.compile(r"[\x00-\x20\x7f]")
_NOT_IN_HEADER: Final = re.compile(r"[\x00-\x08\n-\x1f\x7f]")
_MAX_PREPARED: Final = 1024


class HttpServer(NamedTuple):
    """A server to connect to; the host is a name, or an address without brackets."""

    host: str
    port: int
    is_tls: bool


class _Prepared(NamedTuple):
    """The part of requests that is the same for a server."""

    server: HttpServer
    host: str  # the `Host` header
    head: bytes


@dataclass(eq=False)
class RequestHeads:
    """Requests to any server."""

    headers: Mapping[str, str]  # of all requests, except `Accept`

    def __post_init__(self) -> None:
        self._prepared = lru_cache(maxsize=_MAX_PREPARED)(self._prepare)
        self._after_host = lru_cache(maxsize=_MAX_PREPARED)(self._head_after_host)

    def request_for(
        self, url: str, options: RequestOptions
    ) -> tuple[HttpServer, bytes]:
        """Return the server of a URL, and the request for it.

        Raises:
            SourceFault: `BAD_URI`: it cannot be requested.
            UnicodeError: the host cannot be a name.
            ValueError: a header of `options` has a control character.
        """
        parts = _plain(url)
        origin, path = parts.groups() if parts is not None else _split(url)
        prepared = self._prepared(origin, options.accept)
        if options.headers or options.data:
            headers = {"Host": prepared.host, **self.headers, "Accept": options.accept}
            return prepared.server, _special(headers, path, options)
        return prepared.server, b"GET " + path.encode() + prepared.head

    def _prepare(self, origin: str, accept: str) -> _Prepared:
        server, name = _server_of(origin)
        head = f" HTTP/1.1\r\nHost: {name}".encode() + self._after_host(accept)
        return _Prepared(server, name, head)

    def _head_after_host(self, accept: str) -> bytes:
        return _lines({**self.headers, "Accept": accept})


def _split(url: str) -> tuple[str, str]:
    """Return origin and request target of a URL, byte for byte."""
    parts = _any_url(url)
    if parts is None:
        raise SourceFault(Reason.BAD_URI, "not requestable by HTTP")
    scheme, authority, path = parts.groups()
    if "@" in authority:
        raise SourceFault(Reason.BAD_URI, "user information in the URI")
    if not path.startswith("/"):
        path = f"/{path}"
    if _NOT_IN_TARGET.search(path):
        raise SourceFault(Reason.BAD_URI, "not requestable by HTTP")
    return f"{scheme.lower()}://{authority}", path


def _server_of(origin: str) -> tuple[HttpServer, str]:
    """Return the server of an origin, and its `Host` header."""
    scheme, _, authority = origin.partition("://")
    parts = _authority(authority)
    if parts is None:
        raise SourceFault(Reason.BAD_URI, f"no host: {authority!r}")
    host, default = parts[1].lower(), DEFAULT_PORTS[scheme]
    if not host.isascii():
        host = host.encode("idna").decode()
    digits = (parts[2] or "").lstrip("0")  # int() refuses thousands of digits
    port = int(digits[:6] or 0) if parts[2] else default
    if port > MAX_PORT:
        raise SourceFault(Reason.BAD_URI, f"port {parts[2]}")
    # The system would read 127.1 as 127.0.0.1.
    if _ends_in_number(host) and not literal_address(host):
        raise SourceFault(Reason.BAD_URI, f"{host} is not an IPv4 address")
    name = host.rstrip(".")
    if name != host:  # a fully qualified name, for the resolver alone
        host = f"{name}."
    server = HttpServer(host.strip("[]"), port, scheme == "https")
    return server, name if port == default else f"{name}:{port}"


def _special(usual: Mapping[str, str], path: str, options: RequestOptions) -> bytes:
    """Return a request with its own headers or a body."""
    headers = CIMultiDict(usual)
    headers.update(options.headers)
    if options.data:
        headers["Content-Length"] = str(len(options.data))
        headers.setdefault("Content-Type", "application/octet-stream")
    method = "POST " if options.data else "GET "
    return f"{method}{path} HTTP/1.1".encode() + _lines(headers) + options.data


def _lines(headers: Mapping[str, str]) -> bytes:
    """Return the lines of headers, from the end of the line before them."""
    lines = [f"{name}: {value}" for name, value in headers.items()]
    if any(map(_NOT_IN_HEADER.search, lines)):
        raise ValueError("a control character in a header of the request")
    return "\r\n".join(["", *lines, "", ""]).encode()
