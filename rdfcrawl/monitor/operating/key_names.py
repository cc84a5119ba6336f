"""All keys of a crawl in Redis, by kind."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, cast

from rdfcrawl.monitor.operating.crawl import FrontierView

_IN_PARTITION: Final = re.compile(
    r"(0|[1-9][0-9]{0,3})\}:([a-z]+)(?::(.*))?", re.DOTALL
).fullmatch
# Of a partition (data model: `docs/explanation/frontier.md`), with their types: single
# keys, and keys for each host, domain, …
_SINGLE: Final = {
    name: kind
    for kind, names in (
        ("hash", "cnt over ip same robots"),
        ("zset", "ready lease down epochs eu"),
        ("set", "paused"),
        ("list", "dead failed unlikely"),
    )
    for name in names.split()
}
_MANY: Final = {
    name: kind
    for kind, names in (
        ("hash", "h d e ew t same robots forms"),
        ("zset", "later w es ed"),
        ("set", "s"),
        ("list", "q i el"),
        ("string", "eo claim rf"),
    )
    for name in names.split()
}
# Used only by the workers that run now.
_PASSING: Final = frozenset(
    ["workers", "delays", "kept", "drain", "own_faults", "logs", "cleared", "conf"]
)
_OF_CRAWL: Final = _PASSING | {
    *("arguments", "wildcards", "robots-deaths", "leave", "figures", "scope", "runs"),
    *("begun", "source", "pings", "context", "contexts", "unlikely"),
}
# Kinds of keys whose names have a member of a set of `PartitionKeys`.
_NAMED: Final = {
    "h": "hosts",
    "later": "others",
    "w": "crowds",
    "e": "quotas",
    "d": "counts",
    **dict.fromkeys(("ew", "es", "ed"), "domains"),
}
_CLAIM: Final = "claim:"
START_URLS: Final = "start_urls"


@dataclass(slots=True)
class PartitionKeys:
    """Parsed names of a partition's keys.

    Attributes:
        hosts: keys that have state.
        others: keys that have a queue and no known state.
        crowds: that have members.
        flights: (key, epoch) of each batch.
        domains: with URIs that wait for an epoch, or names of these.
        quotas: domains that have an epoch.
        counts: buckets in which hosts and URIs of domains are counted.
    """

    hosts: set[str] = field(default_factory=set)
    others: set[str] = field(default_factory=set)
    crowds: set[str] = field(default_factory=set)
    flights: set[tuple[str, str]] = field(default_factory=set)
    domains: set[str] = field(default_factory=set)
    quotas: set[str] = field(default_factory=set)
    counts: set[str] = field(default_factory=set)


@dataclass(slots=True)
class CrawlKeys:
    """Parsed names of a crawl's keys, by partition, and unknown names."""

    partitions: list[PartitionKeys]
    unknown: list[str] = field(default_factory=list)


async def read_keys(crawl: FrontierView) -> CrawlKeys:
    """Read the names of all keys of the server, a thousand at a time.

    Keys that exist throughout are found. Memory is for the names of the hosts.
    """
    found = CrawlKeys([PartitionKeys() for _ in crawl.prefixes])
    shared, head = f"rc:{{{crawl.crawl_id}}}:", f"rc:{{{crawl.crawl_id}/"
    for pattern in (f"{head}*", f"{shared}*"):
        async for raw in crawl.redis.scan_iter(match=pattern, count=1000):
            name = cast("bytes", raw).decode(errors="replace")
            if name.startswith(head):
                is_known = _take(found, name[len(head) :])
            else:
                is_known = name[len(shared) :].partition(":")[0] in _OF_CRAWL
            if not is_known:
                found.unknown.append(name)
    return found


def _take(found: CrawlKeys, text: str) -> bool:
    """Add a key; return whether its name is in the data model."""
    parts = _parts(text, len(found.partitions))
    if parts is None:
        return False
    number, kind, rest, _ = parts
    keys = found.partitions[number]
    key, _, last = rest.rpartition(":")
    if kind == "q":
        keys.others.add(key)
    elif kind == "i":
        keys.flights.add((key, last))
    elif kind in _NAMED:
        getattr(keys, _NAMED[kind]).add(rest)
    return True


def _parts(text: str, n_partitions: int) -> tuple[int, str, str, str] | None:
    """Return partition, kind, rest and type of a name after `rc:{<CRAWL_ID>/`.

    None if it is not in the data model.
    """
    match = _IN_PARTITION(text)
    if match is None or int(match[1]) >= n_partitions:
        return None
    kind, rest = match[2], match[3]
    type_of = (_SINGLE if rest is None else _MANY).get(kind)
    return (type_of and (int(match[1]), kind, rest or "", type_of)) or None


class KeyPlaces:
    """The names of a crawl's keys, with and without the name of the crawl.

    Without, it is `<partition>:<name>`, `:<name>` of the crawl, or `start_urls`.
    """

    def __init__(self, crawl_id: str, n_partitions: int) -> None:
        self._crawl_id = crawl_id
        self._n_partitions = n_partitions

    @property
    def patterns(self) -> tuple[str, ...]:
        """Patterns of the names in Redis, for `SCAN`."""
        name = self._crawl_id
        return f"rc:{{{name}/*}}:*", f"rc:{{{name}}}:*", f"{name}:{START_URLS}"

    def moved(self, name: str) -> str | None:
        """Return the place of a key; None if it is not moved with the crawl.

        Raises:
            ValueError: the name is not known.
        """
        place = self._place(name)
        self.check(place)
        number, _, rest = place.partition(":")
        is_passing = (not number and rest in _PASSING) or rest.startswith(_CLAIM)
        return None if is_passing else place

    def _place(self, name: str) -> str:
        head = f"rc:{{{self._crawl_id}"
        if name == f"{self._crawl_id}:{START_URLS}":
            return START_URLS
        if name.startswith(f"{head}}}:"):
            return name[len(head) + 1 :]
        number, _, rest = name.removeprefix(f"{head}/").partition("}:")
        return f"{number}:{rest}"

    def check(self, place: str, kind: str | None = None) -> None:
        """Check that a place, and a type if given, are in the data model.

        Raises:
            ValueError: they are not.
        """
        number, _, name = place.partition(":")
        if place == START_URLS or (not number and name.partition(":")[0] in _OF_CRAWL):
            return
        parts = _parts(f"{number}}}:{name}", self._n_partitions)
        if parts is None or kind not in (None, parts[3]):
            raise ValueError(place)

    def name(self, place: str) -> str:
        """Return the name in Redis of a place."""
        number, _, rest = place.partition(":")
        if place == START_URLS:
            return f"{self._crawl_id}:{START_URLS}"
        where = f"{self._crawl_id}/{number}" if number else self._crawl_id
        return f"rc:{{{where}}}:{rest}"
