"""URIs that were given up: dead ones, and those of failed hosts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, cast

from rdfcrawl.monitor.operating.hosts import url_of

if TYPE_CHECKING:
    from rdfcrawl.monitor.operating.crawl import FrontierView

_BATCH_SIZE: Final = 500
OWED: Final = b"\x01"  # prefix of entries that the next run requests again
GivenUpList = Literal["dead", "failed"]


@dataclass(frozen=True, slots=True)
class GivenUpUri:
    """One URI that was given up.

    Attributes:
        url: of the record, or a substitute for an unreadable one.
        key: politeness key of its host.
        why: `dead` if its workers died, `failed` if its host did not respond.
    """

    url: str
    key: str
    why: GivenUpList


async def iter_given_up(
    crawl: FrontierView, name: GivenUpList
) -> AsyncIterator[GivenUpUri]:
    """Yield the entries of a list, partition by partition; it may grow meanwhile."""
    for prefix in crawl.prefixes:
        start = 0
        while page := await crawl.redis.lrange(
            f"{prefix}:{name}", start, start + _BATCH_SIZE - 1
        ):
            for entry in cast("list[bytes]", page):
                key, _, item = entry.removeprefix(OWED).partition(b"\0")
                text = key.decode(errors="replace")
                yield GivenUpUri(url_of(item, text), text, name)
            start += len(page)


async def discard_given_up(crawl: FrontierView, name: GivenUpList) -> int:
    """Remove all URIs from a list, so that no retry finds them; return their number."""
    total = 0
    for number in range(len(crawl.prefixes)):
        while n := await crawl.run("discard", number, name, _BATCH_SIZE):
            total += n
    return total
