"""Write all data of a crawl in Redis to a file that `importing` reads.

Keys are read in pages by commands that all variants of Redis support. Reading takes a
while and must be consistent, so no worker may run.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, cast

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.frontier.redis.server_state import INCARNATION, SCHEMA
from rdfcrawl.monitor.operating.crawl import FrontierView
from rdfcrawl.monitor.operating.frontier_file import (
    TYPES,
    FileHead,
    FileTally,
    FrontierWriter,
    KeyChunk,
    KeyType,
)
from rdfcrawl.monitor.operating.key_names import KeyPlaces
from rdfcrawl.stores.export.output import draft_file

_KEYS_AT_ONCE: Final = 100
_PAGE: Final = 500  # members
_PART_BYTES: Final = 256 * 1024  # of a string
_LINE_CHARS: Final = 2**20
_SCANS: Final = {"set": "sscan", "hash": "hscan", "zset": "zscan"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedFrontier:
    """A frontier that was written to a file, or read from one.

    Attributes:
        crawl: its name.
        counts: URIs by state, and hosts.
        n_keys: keys of Redis.
        left_out: names of keys that this version does not know.
    """

    crawl: str
    counts: Mapping[str, int]
    n_keys: int
    left_out: tuple[str, ...] = ()


@dataclass(slots=True)
class _Key:
    """A key that is being read; `at` is the start of the next page."""

    name: bytes
    place: str
    kind: KeyType
    rest_ms: int | None
    at: int = 0


async def export_frontier(crawl: FrontierView, path: Path) -> MovedFrontier:
    """Write the frontier of a crawl to a file, which appears when it is complete.

    Raises:
        ConfigError: workers run, or something has changed meanwhile.
        OSError: the file cannot be written.
    """
    await check_idle(crawl)
    before = await _signs_of_work(crawl)
    conf = await crawl.redis.hgetall(crawl.frontier.key("conf"))
    settings = {_text(k): _text(v) for k, v in cast("Any", conf).items()}
    settings.pop(INCARNATION, None)
    counts = asdict(await crawl.frontier.counts())
    head = FileHead(
        schema=SCHEMA,
        crawl=crawl.crawl_id,
        partitions=crawl.frontier.partitions,
        counts=counts,
        conf=settings,
    )
    reader, tally = _FrontierReading(crawl), FileTally()
    with draft_file(path) as file:
        writer = FrontierWriter(file, head)
        async for chunk in reader.chunks():
            writer.write(chunk)
            tally.add(chunk)
        writer.finish()
        await check_idle(crawl)
        if before != await _signs_of_work(crawl):
            raise ConfigError("the crawl has changed meanwhile; export it again")
        if tally.difference:
            raise ConfigError(
                f"there are {tally.difference}: run `frontier check --repair`, and"
                " export again"
            )
    return MovedFrontier(
        crawl=crawl.crawl_id,
        counts=counts,
        n_keys=reader.n_keys,
        left_out=tuple(sorted(reader.left_out)),
    )


async def check_idle(crawl: FrontierView) -> None:
    """Raise `ConfigError` if workers of a crawl run."""
    if live := await crawl.frontier.live_workers():
        raise ConfigError(
            "workers of the crawl are running, or died within the last"
            f" {crawl.frontier.reports.silence_secs:g} s: {', '.join(live)}"
        )


async def _signs_of_work(crawl: FrontierView) -> Any:
    """Return values that change when a worker or an operator writes."""
    pipe = crawl.redis.pipeline(transaction=False)
    for prefix in crawl.prefixes:
        pipe.hgetall(f"{prefix}:cnt")
        pipe.zcard(f"{prefix}:ready")
        pipe.scard(f"{prefix}:paused")
        pipe.hlen(f"{prefix}:over")
    pipe.hkeys(crawl.frontier.key("figures"))
    return await pipe.execute()


class _FrontierReading:
    """Reads all keys of a crawl."""

    def __init__(self, crawl: FrontierView) -> None:
        self.n_keys = 0
        self.left_out: list[str] = []
        self._redis = crawl.redis
        self._places = KeyPlaces(crawl.crawl_id, crawl.frontier.partitions)

    async def chunks(self) -> AsyncIterator[KeyChunk]:
        """Yield the content of all keys."""
        async for keys in self._keys():
            self.n_keys += len(keys)
            unread = keys
            while unread:
                pages = await self._pages(unread)
                unread = []
                for key, members, at in pages:
                    for some in _lines(members, key.kind):
                        yield KeyChunk(key.place, key.kind, some, key.rest_ms)
                    if at:
                        key.at = at
                        unread.append(key)

    async def _pages(self, keys: Sequence[_Key]) -> list[tuple[_Key, list[str], int]]:
        """Return the next page of each key, and the start of the page after it."""
        pipe = self._redis.pipeline(transaction=False)
        for key in keys:
            _request_page(pipe, key)
        answers = await pipe.execute()
        return [
            (key, *_page(key, each)) for key, each in zip(keys, answers, strict=True)
        ]

    async def _keys(self) -> AsyncIterator[list[_Key]]:
        """Yield all keys to be moved, in groups."""
        some: dict[bytes, str] = {}
        async for name, place in self._names():
            some[name] = place
            if len(some) == _KEYS_AT_ONCE:
                yield await self._looked_at(some)
                some = {}
        yield await self._looked_at(some)

    async def _names(self) -> AsyncIterator[tuple[bytes, str]]:
        """Yield each name with its place once, although a scan may repeat it."""
        seen: set[bytes] = set()
        for pattern in self._places.patterns:
            async for name in self._redis.scan_iter(match=pattern, count=1000):
                if name in seen:
                    continue
                seen.add(name)
                try:
                    place = self._places.moved(_text(name))
                except ValueError:
                    self.left_out.append(_text(name))
                    continue
                if place is not None:
                    yield name, place

    async def _looked_at(self, names: Mapping[bytes, str]) -> list[_Key]:
        pipe = self._redis.pipeline(transaction=False)
        for name in names:
            pipe.type(name)
            pipe.pttl(name)
        found = await pipe.execute()
        return [
            _Key(name, place, cast("KeyType", _text(kind)), ms if ms >= 0 else None)
            for (name, place), kind, ms in zip(
                names.items(), found[::2], found[1::2], strict=True
            )
            if _text(kind) in TYPES  # else it has expired
        ]


def _request_page(pipe: Any, key: _Key) -> None:
    if key.kind == "string":
        pipe.getrange(key.name, key.at, key.at + _PART_BYTES - 1)
    elif key.kind == "list":
        pipe.lrange(key.name, key.at, key.at + _PAGE - 1)
    else:
        getattr(pipe, _SCANS[key.kind])(key.name, key.at, count=_PAGE)


def _page(key: _Key, answer: Any) -> tuple[list[str], int]:
    """Return the content of a response, and the start of the next page, or 0."""
    if key.kind == "string":
        n = len(answer)
        return [_text(answer)] if n else [], key.at + n if n == _PART_BYTES else 0
    if key.kind == "list":
        return [*map(_text, answer)], key.at + _PAGE if len(answer) == _PAGE else 0
    at, rows = answer
    if key.kind == "set":
        return [*map(_text, rows)], at
    if key.kind == "hash":
        return [_text(each) for pair in rows.items() for each in pair], at
    return [each for name, n in rows for each in (_text(name), f"{n:.17g}")], at


def _lines(members: Sequence[str], kind: KeyType) -> Iterator[tuple[str, ...]]:
    """Yield members in short lines, pairs together."""
    step = 2 if kind in ("hash", "zset") else 1
    some: list[str] = []
    n = 0
    for start in range(0, len(members), step):
        group = members[start : start + step]
        some += group
        n += sum(map(len, group))
        if n >= _LINE_CHARS:
            yield tuple(some)
            some, n = [], 0
    if some:
        yield tuple(some)


def _text(value: bytes) -> str:
    return value.decode("latin-1")
