"""One question to the web and its answer: the seam between visits and transport."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from rdfcrawl.errors import Fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """How to ask for a URI, whatever the URI.

    Attributes:
        accept: value of the `Accept` header.
        max_bytes: longest decoded body that is read.
        spool_bytes: a longer body is written to a spool file.
        timeout_secs: for the whole exchange, from connecting to the last byte.
        headers: further headers of the request, names and values.
    """

    accept: str
    max_bytes: int
    spool_bytes: int
    timeout_secs: float
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True, kw_only=True)
class Answer:
    """What came back for one GET; header values are as the server sent them.

    Attributes:
        status: HTTP status, 0 if there was none.
        media_type: of `Content-Type`, lower case, without parameters.
        charset: of `Content-Type`, lower case.
        location: of `Location`, unresolved.
        retry_after: of `Retry-After`, unparsed.
        cache_control: of `Cache-Control`, unparsed.
        http_links: of all `Link` headers, joined by commas; at most 64 KiB.
        body: a small body; only answers of 2xx have one.
        path: spool file of a large body.
        n_bytes: length of the decoded body.
        fault: what was wrong below the meaning of the status.
        is_partial: the body is cut off.
        is_host_fault: no connection: the fault holds for the whole origin.
    """

    status: int = 0
    media_type: str = ""
    charset: str = ""
    etag: str = ""
    last_modified: str = ""
    location: str = ""
    retry_after: str = ""
    cache_control: str = ""
    http_links: str = ""
    body: bytes | None = None
    path: Path | None = None
    n_bytes: int = 0
    fault: Fault | None = None
    is_partial: bool = False
    is_host_fault: bool = False


class Exchange(Protocol):
    """Whatever can do one GET: aiohttp, or Scrapy's downloader."""

    async def get(self, url: str, ask: Ask) -> Answer:
        """Ask for `url`, once, without following redirects or raising faults.

        Bodies are kept through `Spool.sink`, so that they count as memory.
        """
        ...
