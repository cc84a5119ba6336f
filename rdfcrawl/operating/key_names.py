"""All keys of a crawl in Redis, sorted out by kind."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from rdfcrawl.operating.crawl import FrontierView

_IN_PARTITION: Final = re.compile(r"([0-9]+)\}:([a-z]+)(?::(.*))?", re.DOTALL).fullmatch
# Of a partition (data model: `docs/explanation/frontier.md`): those of which there is
# one, and those of which there is one for each host, domain, bucket or worker.
_SINGLE: Final = frozenset(
    [
        "cnt",
        "ready",
        "lease",
        "down",
        "paused",
        "over",
        "dead",
        "failed",
        "epochs",
        "eu",
        "ip",
        "same",
    ]
)
_MANY: Final = frozenset(
    [
        "s",
        "q",
        "h",
        "w",
        "d",
        "i",
        "e",
        "es",
        "ed",
        "ew",
        "eo",
        "el",
        "eu",
        "t",
        "claim",
        "same",
    ]
)
_OF_CRAWL: Final = frozenset(
    [
        "conf",
        "arguments",
        "wildcards",
        "cleared",
        "robots-deaths",
        "workers",
        "delays",
        "kept",
        "leave",
        "figures",
        "scope",
        "runs",
        "source",
        "pings",
        "context",
        "contexts",
        "drain",
    ]
)


@dataclass(slots=True)
class PartitionKeys:
    """What the names of a partition's keys tell.

    Attributes:
        hosts: keys that have state.
        others: keys that have a queue and no state, as far as it was seen.
        crowds: that have members.
        flights: (key, epoch) of each batch.
        domains: with URIs that wait for an epoch, or names of these.
    """

    hosts: set[str] = field(default_factory=set)
    others: set[str] = field(default_factory=set)
    crowds: set[str] = field(default_factory=set)
    flights: set[tuple[str, str]] = field(default_factory=set)
    domains: set[str] = field(default_factory=set)


@dataclass(slots=True)
class CrawlKeys:
    """What the names of a crawl's keys tell, by partition, and names nobody knows."""

    partitions: list[PartitionKeys]
    unknown: list[str] = field(default_factory=list)


async def read_keys(crawl: FrontierView) -> CrawlKeys:
    """Read the names of all keys of the server, a thousand at a time.

    What is there from begin to end is found. Memory is for the names of the hosts.
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
    """Sort out a key; return whether its name is one of the data model."""
    match = _IN_PARTITION(text)
    if match is None or int(match[1]) >= len(found.partitions):
        return False
    keys, kind, rest = found.partitions[int(match[1])], match[2], match[3]
    if rest is None:
        return kind in _SINGLE
    if kind == "h":
        keys.hosts.add(rest)
    elif kind == "q":
        keys.others.add(rest.rpartition(":")[0])
    elif kind == "w":
        keys.crowds.add(rest)
    elif kind == "i":
        key, _, epoch = rest.rpartition(":")
        keys.flights.add((key, epoch))
    elif kind in ("ew", "es", "ed"):
        keys.domains.add(rest)
    return kind in _MANY
