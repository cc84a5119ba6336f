"""HTTP requests and responses of the nodes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from collections.abc import Mapping

ROBOTS_PATH = "/robots.txt"
RULES_PATHS = (ROBOTS_PATH, "/.well-known/tdmrep.json")
MAX_FIELDS = 100  # parameters of one query string or form


@dataclass(frozen=True, slots=True)
class NodeRequest:
    """One request, read completely.

    Attributes:
        method: GET, HEAD or POST.
        target: unchanged path and query, starting with a slash.
        accept: value of `Accept`, several joined by a comma; empty if absent.
        content_type: value of `Content-Type`; empty if absent.
        body: at most `protocol.MAX_BODY_BYTES`.
        fields: all header fields, by their names in lower case.
    """

    method: str
    target: str
    accept: str = ""
    content_type: str = ""
    body: bytes = b""
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def media_type(self) -> str:
        """Media type of the body: lower case, without parameters."""
        return self.content_type.partition(";")[0].strip().lower()

    def query_fields(self) -> dict[str, list[str]]:
        """Return the parameters of the query string.

        Raises:
            ValueError: more than `MAX_FIELDS`.
        """
        return parse_fields(self.target.partition("?")[2])


class NodeResponse:
    """One response, encoded once and sent to all requests.

    Attributes:
        status: HTTP status.
        head: status line and header fields, up to and with the empty line.
        body: the content.
    """

    __slots__ = ("body", "head", "status")

    def __init__(
        self,
        status: int,
        body: bytes = b"",
        *,
        content_type: str = "",
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", "Server: dataweb"]
        if content_type:
            lines.append(f"Content-Type: {content_type}")
        lines += [f"{name}: {value}" for name, value in headers]
        if status != 304:  # there it would be the length of the 200 (RFC 9110, 8.6)
            lines.append(f"Content-Length: {len(body)}")
        self.status = status
        self.head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        self.body = body


def text_response(status: int, message: str = "") -> NodeResponse:
    """Respond with one line of plain text (by default the reason phrase)."""
    line = (message or HTTPStatus(status).phrase) + "\n"
    return NodeResponse(status, line.encode(), content_type="text/plain; charset=utf-8")


def json_response(status: int, value: object) -> NodeResponse:
    """Respond with JSON."""
    body = json.dumps(value, ensure_ascii=False).encode()
    return NodeResponse(status, body, content_type="application/json;charset=utf-8")


NOT_FOUND = text_response(404)
NOT_ACCEPTABLE = text_response(406)
GONE = text_response(410)


def parse_fields(text: str) -> dict[str, list[str]]:
    """Parse a query string or form.

    Raises:
        ValueError: more than `MAX_FIELDS`.
    """
    return parse_qs(text, keep_blank_values=True, max_num_fields=MAX_FIELDS)
