"""Which URL each content of a crawl was first fetched from: calls `lua/contents.lua`.

The table is bounded: it knows at least the half of `most` contents that were asked for
last. Whoever dies after a call, and asks again, is told the same, as the first URL of a
content stays.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, cast

from rdfcrawl.frontier.redis.batches import in_batches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfcrawl.frontier.redis.scripts import Argument, LuaScripts

_AT_ONCE = 500  # contents in a call: a long script holds up all other workers
# Partitions that have a part of the table. There are few new contents at each flush,
# so that calls would cost more than what they ask for.
_MAX_PARTS = 4


# The hash of a document of 128 bits, as 32 hexadecimal digits; and its URL.
FetchedContent = tuple[str, str]


class FirstContents:
    """The first URLs of the contents of one crawl, in a few partitions by hash."""

    def __init__(self, scripts: LuaScripts) -> None:
        self._scripts = scripts
        self._prefixes: Sequence[str] = ()

    def open(self, prefixes: Sequence[str]) -> None:
        """Set the prefixes of the partitions."""
        self._prefixes = prefixes[:_MAX_PARTS]

    async def ask(self, contents: Sequence[FetchedContent], most: int) -> list[str]:
        """Return the first URL of each content; empty for those that were not known.

        From now on they are known. Of equal contents, the first one is the first.
        All goes in one round trip, in which each part is asked.

        Args:
            contents: that were fetched.
            most: contents that are remembered, about; at least two in each part.

        Raises:
            RedisError: nothing is known; it is safe to repeat.
        """
        n_partitions = len(self._prefixes)
        rows = [
            bytes.fromhex(content) + url.encode("utf-8", "replace")
            for content, url in contents
        ]
        parts: defaultdict[int, list[int]] = defaultdict(list)
        for place, row in enumerate(rows):
            parts[row[0] % n_partitions].append(place)
        of_half = max(1, most // (2 * n_partitions))
        groups = [
            (self._prefixes[part], group)
            for part, places in parts.items()
            for group in in_batches(places, _AT_ONCE)
        ]
        calls: list[tuple[str, list[Argument]]] = [
            (prefix, [of_half, *[rows[place] for place in group]])
            for prefix, group in groups
        ]
        answers = await self._scripts.run("contents", calls)
        found = [""] * len(contents)
        for (_, group), answer in zip(groups, answers, strict=True):
            known = cast("list[Any]", answer)
            for n, url in zip(known[::2], known[1::2], strict=True):
                found[group[n]] = url.decode()
        return found
