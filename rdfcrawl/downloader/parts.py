"""Parts of long bodies, kept when a transfer breaks off, so that the next resumes it.

A part consists of the received bytes of one response and its facts, which lie in a file
next to the body while it is received: even a killed worker leaves a valid part.

Sources: RFC 9110, sections 8.8 (validators), 13.1.5 (If-Range), 14 (ranges); RFC 3659,
sections 3 to 5 (MDTM, SIZE, REST).
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Final

from rdfcrawl.core.errors import RdfcrawlError, SourceFault
from rdfcrawl.core.messages import counted
from rdfcrawl.core.times import parse_http_date

OVERLAP_BYTES: Final = 4096  # requested twice, and compared
_LONGEST_SECS: Final = 24 * 3600.0  # lifetime of a part
_SETTLED: Final = timedelta(seconds=5)  # files modified earlier are complete
_MOST_PARTS: Final = 1000
_MOST_CHARS: Final = 64 * 1024  # of the kept headers
_BODY, _FACTS = ".body", ".part"
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
# A 206 response to a request with `If-Range` may omit them (15.3.7).
_KEPT_HEADERS: Final = (
    "Content-Type", "Content-Encoding", "ETag", "Last-Modified", "Cache-Control",
    "Link", "Server", "X-Robots-Tag", "TDM-Reservation", "TDM-Policy",
)  # fmt: skip
_content_range: Final = re.compile(
    r"\s*bytes\s+([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\*)\s*", re.IGNORECASE
).fullmatch


class UnfitPart(RdfcrawlError):
    """A response does not continue a part: the body is requested from its start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartFacts:
    """Validators and length of the response that a part belongs to."""

    url: str  # requested URL
    validator: str  # value of `If-Range`; for FTP, size and time of the file
    total: int = 0  # length of the body as sent; 0 if unknown
    headers: tuple[tuple[str, str], ...] = ()  # headers that its document uses
    # boot of the machine that wrote it: after a power failure, the end of a file may be
    # corrupt
    boot: str = ""

    def get(self, name: str) -> str:
        """Return a header; empty if there is none."""
        return next((text for key, text in self.headers if key == name), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialBody:
    """A part that one request continues, with exclusive access."""

    path: Path
    n_bytes: int
    facts: PartFacts

    @property
    def offset(self) -> int:
        """The first requested byte; the overlap is compared."""
        return max(0, self.n_bytes - OVERLAP_BYTES)

    def tail(self) -> bytes:
        """Return the bytes from `offset` on."""
        with self.path.open("rb") as file:
            file.seek(self.offset)
            return file.read()

    def request_headers(self) -> tuple[tuple[str, str], ...]:
        """Return headers that request the rest of this body, or another in full."""
        return ("Range", f"bytes={self.offset}-"), ("If-Range", self.facts.validator)


def facts_of(url: str, headers: Mapping[str, str], length: int = 0) -> PartFacts | None:
    """Return the facts of a response; None if a range of it cannot be requested.

    >>> facts_of("http://h.example/d.nt", {"ETag": '"v1"'}).validator
    '"v1"'
    >>> facts_of("http://h.example/d.nt", {"ETag": 'W/"v1"'}) is None
    True
    """
    if headers.get("Accept-Ranges", "").strip().lower() == "none":
        return None
    validator = _strong_validator(headers)
    kept = tuple((name, headers[name]) for name in _KEPT_HEADERS if name in headers)
    if not validator or sum(len(text) for _, text in kept) > _MOST_CHARS:
        return None
    return PartFacts(
        url=url, validator=validator, total=length, headers=kept, boot=boot_id()
    )


def facts_of_file(url: str, size: int, modified: str) -> PartFacts | None:
    """Return the facts of a file on an FTP server; None if not resumable.

    If unknown, the size is -1 and the time of modification (`xsd:dateTime` in UTC)
    empty.

    >>> facts_of_file("ftp://h.example/d.nt", 255, "2024-01-02T03:04:05Z").validator
    'ff-2024-01-02T03:04:05Z'
    """
    if size < 0 or not modified:
        return None
    # The file may still be written, or change within the same second.
    if datetime.now(UTC) - datetime.fromisoformat(modified) < _SETTLED:
        return None
    validator = f"{size:x}-{modified}"
    return PartFacts(url=url, validator=validator, total=size, boot=boot_id())


def _strong_validator(headers: Mapping[str, str]) -> str:
    """Return the value of `If-Range`: a strong ETag, or a date that is strong."""
    etag = headers.get("ETag", "").strip()
    if etag:
        is_strong = etag.startswith('"') and etag.isascii() and etag.isprintable()
        return etag if is_strong else ""
    changed = headers.get("Last-Modified", "").strip()
    sent_at = parse_http_date(headers.get("Date", ""))
    changed_at = parse_http_date(changed)
    if sent_at is None or changed_at is None:
        return ""
    # 8.8.2.2: a file modified within the second may change once more in it.
    return changed if sent_at - changed_at >= timedelta(seconds=1) else ""


def check_rest(facts: PartFacts, offset: int, headers: Mapping[str, str]) -> int:
    """Check that a 206 response continues a part.

    Returns:
        Length of the body, or 0 if unknown; the response may end earlier.

    Raises:
        UnfitPart: it belongs to another body, or begins elsewhere.
    """
    found = _content_range(headers.get("Content-Range", ""))
    if found is None:  # also several parts, which were not requested
        raise UnfitPart("no Content-Range")
    first, last = int(found[1]), int(found[2])
    total = 0 if found[3] == "*" else int(found[3])
    if first != offset or last < first or (total and last >= total):
        raise UnfitPart(f"Content-Range is {found[0].strip()}")
    if total and facts.total and total != facts.total:
        raise UnfitPart(f"{counted(total, 'byte')}, not {facts.total}")
    for name in ("ETag", "Last-Modified", "Content-Encoding"):
        if name in headers and headers[name].strip() != facts.get(name):
            raise UnfitPart(f"another {name}")
    return total or facts.total


@cache
def boot_id() -> str:
    """Return the identifier of the current boot of the machine; empty if unknown."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""


def write_facts(path: Path, facts: PartFacts) -> None:
    """Write the facts next to a body, so that a part remains if the process dies.

    Raises:
        OSError: the disk does not accept it.
    """
    from rdfcrawl.core.codec import encode  # noqa: PLC0415  needed by few workers

    path.with_suffix(_FACTS).write_text(encode(facts))


def remove_facts(path: Path) -> None:
    """Remove the facts next to a body."""
    path.with_suffix(_FACTS).unlink(missing_ok=True)


class PartFolder:
    """The idle parts, shared by the workers of a machine.

    Args:
        folder: created with the first part.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.n_bytes = 0
        """Bytes of all parts, at the last check."""

    def add(self, path: Path, facts: PartFacts) -> bool:
        """Link a file into the folder; return whether that succeeded.

        The file must not be appended to afterwards.
        """
        kept = self._path(facts.url)
        try:
            self._folder.mkdir(exist_ok=True)
            self.drop(facts.url)
            os.link(path, kept)
            write_facts(kept, facts)
        except OSError:  # a file system without hard links, or full
            return False
        return True

    def adopt(self, folder: Path) -> None:
        """Keep the parts in the folder of a process that has ended."""
        for facts_path in folder.glob(f"*{_FACTS}"):
            body = facts_path.with_suffix(_BODY)
            facts = read_facts(facts_path)
            if facts is not None and body.exists():
                self.add(body, facts)

    def take(self, url: str, path: Path) -> PartialBody | None:
        """Move the part of a URL to `path`; None if there is none."""
        kept = self._path(url)
        facts = read_facts(kept.with_suffix(_FACTS))
        try:
            kept.rename(path)  # atomic: only one process gets it
            n_bytes = path.stat().st_size
        except OSError:
            return None
        remove_facts(kept)
        if facts is None or facts.url != url or not n_bytes:
            path.unlink(missing_ok=True)
            return None
        return PartialBody(path=path, n_bytes=n_bytes, facts=facts)

    def drop(self, url: str) -> None:
        """Remove the part of a URL."""
        kept = self._path(url)
        kept.unlink(missing_ok=True)
        remove_facts(kept)

    def tidy(self, most_bytes: int) -> None:
        """Remove stale parts, then the oldest until the others fit."""
        n_bytes = n_parts = 0
        for age_secs, size, path in sorted(self._bodies()):
            facts = read_facts(path.with_suffix(_FACTS))
            is_stale = facts is None or facts.boot != boot_id()
            if (
                is_stale
                or age_secs > _LONGEST_SECS
                or n_bytes + size > most_bytes
                or n_parts == _MOST_PARTS
            ):
                path.unlink(missing_ok=True)
                remove_facts(path)
            else:
                n_bytes += size
                n_parts += 1
        for path in self._folder.glob(f"*{_FACTS}"):
            if not path.with_suffix(_BODY).exists():
                path.unlink(missing_ok=True)
        self.n_bytes = n_bytes
        with suppress(OSError):  # not empty, or missing
            self._folder.rmdir()

    def _bodies(self) -> Iterator[tuple[float, int, Path]]:
        now = time.time()  # file times use this clock
        for path in self._folder.glob(f"*{_BODY}"):
            with suppress(FileNotFoundError):
                facts = path.stat()
                yield abs(now - facts.st_mtime), facts.st_size, path

    def _path(self, url: str) -> Path:
        digest = blake2b(url.encode(errors="replace"), digest_size=16).hexdigest()
        return self._folder / f"{digest}{_BODY}"


def read_facts(path: Path) -> PartFacts | None:
    """Return the facts next to a body; None if there are none."""
    from rdfcrawl.core.codec import decode  # noqa: PLC0415  needed by few workers

    try:
        return decode(path.with_suffix(_FACTS).read_text(), PartFacts)
    except (OSError, ValueError, SourceFault):
        return None
