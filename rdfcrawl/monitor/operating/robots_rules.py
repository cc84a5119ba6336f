"""The stored robots.txt rules of an origin, read without a request."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final
from zlib import crc32

from rdfcrawl.downloader.robots.storage import unpack_records

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfcrawl.downloader.robots.parser import RobotsRecords
    from rdfcrawl.monitor.operating.crawl import OperatedCrawl

MAX_LINES: Final = 200
"""Lines of a kind to show of a robots.txt."""
_MAX_PACKED: Final = 256 * 1024  # longer rules are not shown: they take a while
_MAX_CHARS: Final = 500  # of a line


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptOrigin:
    """The rules of one origin that all workers share.

    Attributes:
        origin: scheme, host and port.
        fetched_ms: when they were read, Unix time; 0 if they never were.
        due_ms: time of the next request for them.
        n_failures: consecutive failures to read them.
        status: of the last response; 0 if there was none.
        lines: of the group for this crawler, each `Allow` or `Disallow` and a
            pattern; the first of them.
        n_lines: number of all lines.
        delay_secs: `Crawl-delay`; 0 if there is none.
        sitemaps: the first named sitemaps.
        signals: lines of `Content-Signal`, each with its path.
        is_readable: the stored entry could be read.
    """

    origin: str
    fetched_ms: int
    due_ms: int
    n_failures: int
    status: int
    lines: tuple[tuple[str, str], ...] = ()
    n_lines: int = 0
    delay_secs: float = 0.0
    sitemaps: tuple[str, ...] = ()
    signals: tuple[str, ...] = ()
    is_readable: bool = True


async def read_origins(
    crawl: OperatedCrawl, origins: Sequence[str]
) -> list[KeptOrigin]:
    """Return the stored rules of origins, for those that have any."""
    pipe = crawl.redis.pipeline(transaction=False)
    for origin in origins:
        prefix = crawl.prefixes[crc32(origin.encode()) % len(crawl.prefixes)]
        pipe.hget(f"{prefix}:robots", origin)
        pipe.hget(f"{prefix}:robots:old", origin)
    values = await pipe.execute() if origins else []
    return [
        _kept(origin, young or old)
        for origin, young, old in zip(origins, values[::2], values[1::2], strict=True)
        if young or old
    ]


def _kept(origin: str, value: bytes) -> KeptOrigin:
    """Parse an entry written by `frontier/lua/robots.lua`."""
    head, _, packed = value.partition(b"|")
    numbers = [int(x) for x in head.split() if x.isdigit()]
    fetched, due, failures, status = (*numbers, 0, 0, 0, 0)[:4]
    kept = KeptOrigin(
        origin=origin,
        fetched_ms=fetched,
        due_ms=due,
        n_failures=failures,
        status=status,
        is_readable=not packed,
    )
    if not packed or len(packed) > _MAX_PACKED:
        return kept
    records = unpack_records(packed)
    return kept if records is None else _with_records(kept, records)


def _with_records(kept: KeptOrigin, records: RobotsRecords) -> KeptOrigin:
    lines = [
        ("Allow" if allows else "Disallow", pattern[:_MAX_CHARS])
        for pattern, allows in records.rules.items()
    ]
    signals = [
        f"{rule.pattern} {', '.join(f'{use}={word}' for use, word in rule.said)}"
        for rule in records.signals
    ]
    return replace(
        kept,
        is_readable=True,
        lines=tuple(lines[:MAX_LINES]),
        n_lines=len(lines),
        delay_secs=records.delay_secs,
        sitemaps=tuple(each[:_MAX_CHARS] for each in records.sitemaps[:MAX_LINES]),
        signals=tuple(each.strip()[:_MAX_CHARS] for each in signals[:MAX_LINES]),
    )
