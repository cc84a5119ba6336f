"""Shared base of the nodes of the extended profile: options, validators, changes."""

from __future__ import annotations

import gzip
import hashlib
import threading
from abc import ABC, abstractmethod
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from rdfcrawl.dataweb.messages import ROBOTS_PATH, NodeResponse
from rdfcrawl.dataweb.nodes.base import NodePlan, WebNode

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from rdfcrawl.dataweb.config import NodeKind
    from rdfcrawl.dataweb.messages import NodeRequest

EPOCH = datetime(2024, 5, 1, tzinfo=UTC)  # of all that was never changed
DAY = timedelta(days=1)
TURTLE = "text/turtle"
XML = "application/xml"
HTML = "text/html; charset=utf-8"
TEXT = "text/plain; charset=utf-8"
FRONT_PAGE = (
    b'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
    b"<title>A site</title></head><body><p>A site.</p></body></html>\n"
)


class ChangingSite(WebNode):
    """A node whose content may change while it is served.

    Requests are answered in the server's thread, changes are made in another one;
    both hold the lock.
    """

    def __init__(self, plan: NodePlan) -> None:
        super().__init__(plan)
        self._lock = threading.RLock()

    @property
    def origin(self) -> str:
        """`http://ADDRESS:PORT`."""
        return self.plan.origin

    @property
    def robots(self) -> str:
        """Text of robots.txt; empty if there is none."""
        return ""

    def respond(self, request: NodeRequest) -> NodeResponse:
        """Serve robots.txt and the front page; subclasses serve the rest."""
        with self._lock:
            if request.target == ROBOTS_PATH and self.robots:
                return NodeResponse(200, self.robots.encode(), content_type=TEXT)
            return self.respond_other(request)

    @abstractmethod
    def respond_other(self, request: NodeRequest) -> NodeResponse:
        """Return the response unless for robots.txt; the lock is held."""

    def change(self, **arguments: Any) -> object:
        """Change the content by the rules of the kind; return the changes.

        Raises:
            NotImplementedError: nodes of this kind do not change.
        """
        raise NotImplementedError(f"{self.plan.kind} nodes do not change")


N = TypeVar("N", bound=WebNode)


class SiteOptions(ABC, Generic[N]):
    """The options of a node; each kind has a frozen dataclass."""

    kind: ClassVar[NodeKind]
    access_path: ClassVar[str] = "/"

    def access_uri(self, origin: str) -> str:
        """Return the URL that other nodes link to."""
        return origin + self.access_path

    @abstractmethod
    def build(self, plan: NodePlan) -> N:
        """Make the node."""


def respond(
    request: NodeRequest,
    body: bytes,
    *,
    content_type: str,
    modified: datetime | None = None,
    etag: str | None = "",
    headers: Mapping[str, str] | None = None,
) -> NodeResponse:
    """Respond with a document: 200, 304 if it is unchanged, 206 for a part.

    Args:
        request: its conditions and its range are obeyed (RFC 9110, 13.2.2 and 14.2).
        body: all of the document.
        content_type: of it.
        modified: `Last-Modified`; None states none.
        etag: strong; empty makes one of the body, None states none.
        headers: further fields.
    """
    fields = [("Accept-Ranges", "bytes"), *(headers or {}).items()]
    tag = ""
    if etag is not None:
        tag = f'"{etag or hashlib.sha256(body).hexdigest()[:20]}"'
        fields.append(("ETag", tag))
    if modified is not None:
        fields.append(("Last-Modified", http_date(modified)))
    if _is_known(request, tag, modified):
        return NodeResponse(304, headers=tuple(fields))
    start = _range_start(request, tag)
    if start is not None and 0 < start < len(body):
        span = f"bytes {start}-{len(body) - 1}/{len(body)}"
        fields.append(("Content-Range", span))
        part = body[start:]
        return NodeResponse(206, part, content_type=content_type, headers=tuple(fields))
    return NodeResponse(200, body, content_type=content_type, headers=tuple(fields))


def http_date(when: datetime) -> str:
    """Write a time as HTTP does (RFC 9110, 5.6.7)."""
    return format_datetime(when.astimezone(UTC), usegmt=True)


def w3c_date(when: datetime) -> str:
    """Write a time as sitemaps do, in UTC; microseconds if there are any."""
    return when.astimezone(UTC).isoformat().replace("+00:00", "Z")


def pack(body: bytes) -> bytes:
    """Compress with gzip; equal bodies become equal bytes."""
    return gzip.compress(body, compresslevel=6, mtime=0)


def _is_known(request: NodeRequest, tag: str, modified: datetime | None) -> bool:
    wanted = request.fields.get("if-none-match")
    if (
        wanted is not None and tag
    ):  # the other condition is ignored then, RFC 9110, 13.1.3
        tags = [one.strip().removeprefix("W/") for one in wanted.split(",")]
        return tag in tags or "*" in tags
    since = request.fields.get("if-modified-since")
    if since is None or modified is None:
        return False
    try:
        return modified.replace(microsecond=0) <= parsedate_to_datetime(since)
    except (ValueError, TypeError):
        return False


def _range_start(request: NodeRequest, tag: str) -> int | None:
    """Return the first byte of `Range: bytes=N-`; other ranges are not obeyed."""
    text = request.fields.get("range", "")
    if not (text.startswith("bytes=") and text.endswith("-")):
        return None
    number = text[6:-1]
    if request.fields.get("if-range", tag) != tag or not number.isdecimal():
        return None
    return int(number)
