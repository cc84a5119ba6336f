"""Requests and responses of Scrapy's downloader as messages; for web archives.

They have the form of Scrapy's HTTP handler: header names in Scrapy's capitals, bodies
without chunks, but in their content coding.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response
    from scrapy.http.headers import Headers

    from rdfcrawl.downloader.http.recording import WireListener


def report(listener: WireListener, request: Request, response: Response) -> None:
    """Report the messages that Scrapy has sent and received."""
    listener.keeps_all = True  # middlewares may change it
    listener.address = str(response.ip_address or "")
    listener.send(_request_head(request) + request.body)
    listener.receive(_response_head(response))
    listener.receive(response.body)


def _request_head(request: Request) -> bytes:
    parts = urlsplit(request.url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"{request.method} {target} HTTP/1.1".encode()]
    if "Host" not in request.headers:
        lines.append(b"Host: " + parts.netloc.rpartition("@")[2].encode())
    if request.body:
        lines.append(b"Content-Length: %d" % len(request.body))
    return _head(lines, request.headers)


def _response_head(response: Response) -> bytes:
    try:
        phrase = HTTPStatus(response.status).phrase
    except ValueError:
        phrase = ""
    line = f"HTTP/1.1 {response.status} {phrase}".encode()
    return _head([line], response.headers)


def _head(lines: list[bytes], headers: Headers) -> bytes:
    for name, values in headers.items():
        lines += (name + b": " + value for value in values)
    return b"\r\n".join([*lines, b"", b""])
