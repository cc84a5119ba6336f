"""First URL of each content in a crawl, by `lua/contents.lua`.

The table is bounded: it knows at least the last `most / 2` contents. A repeated call
returns the same result, as the first URL of a content stays.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, cast

from rdfcrawl.core.counting import in_batches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfcrawl.frontier.redis.scripts import Argument, LuaScripts

_BATCH_SIZE = 500  # contents per call: long scripts block all other workers
# Partitions that share the table. Each flush has few new contents, so calls would cost
# more than the look-up.
_MAX_PARTS = 4


# 128-bit hash of a document in hexadecimal, and its URL.
FetchedContent = tuple[str, str]


class FirstContents:
    """The first URLs of the contents of one crawl, in a few partitions by hash."""

    def __init__(self, scripts: LuaScripts) -> None:
        self._scripts = scripts
        self._prefixes: Sequence[str] = ()

    def open(self, prefixes: Sequence[str]) -> None:
        """Set the prefixes of the partitions."""
        self._prefixes = prefixes[:_MAX_PARTS]

    async def look_up(self, contents: Sequence[FetchedContent], most: int) -> list[str]:
        """Return the first URL of each content; empty for new ones.

        This adds them to the table, in order. One round trip covers all parts.

        Args:
            contents: of the fetched documents.
            most: approximate size of the table; at least two per part.

        Raises:
            RedisError: the call may be repeated.
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
            for group in in_batches(places, _BATCH_SIZE)
        ]
        calls: list[tuple[str, list[Argument]]] = [
            (prefix, [of_half, *[rows[place] for place in group]])
            for prefix, group in groups
        ]
        replies = await self._scripts.run("contents", calls)
        found = [""] * len(contents)
        for (_, group), reply in zip(groups, replies, strict=True):
            known = cast("list[Any]", reply)
            for n, url in zip(known[::2], known[1::2], strict=True):
                found[group[n]] = url.decode()
        return found
