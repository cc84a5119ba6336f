"""Own faults of a crawl: counts and an example for each failed part."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Final, Self, cast

from redis.exceptions import RedisError

from rdfcrawl.core.messages import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from redis.asyncio import Redis
    from scrapy.statscollectors import StatsCollector

OWN_FAULT: Final = "own_fault/"
DOCUMENTS: Final = "own_fault/documents"
PARTS: Final = "own_fault/part/"
EXAMPLES: Final = "own_fault/example/"  # text, only in this worker
KEY: Final = "own_faults"  # in Redis: the last example of each part
_EXTRA: Final = re.compile(r"'rdfcrawl\[([a-z-]+)\]'")


@dataclass(frozen=True, slots=True)
class OwnFaults:
    """Documents on which our code or a missing library has failed.

    Attributes:
        n_documents: number of documents with such faults.
        parts: documents by the part that failed, such as an extractor.
        examples: the detail of a known fault of each part.
    """

    n_documents: int = 0
    parts: Mapping[str, int] = field(default_factory=dict)
    examples: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        statistics: Mapping[str, object],
        examples: Mapping[str, str],
        earlier: Mapping[str, float] | None = None,
    ) -> Self:
        """Return the faults in statistics, or their increase since earlier ones."""
        grown = {
            name: int(value) - int((earlier or {}).get(name, 0))
            for name, value in statistics.items()
            if name.startswith(OWN_FAULT) and isinstance(value, int | float)
        }
        parts = {
            name.removeprefix(PARTS): n
            for name, n in grown.items()
            if n and name.startswith(PARTS)
        }
        return cls(grown.get(DOCUMENTS, 0), parts, examples)

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return self.n_documents > 0

    def __str__(self) -> str:
        """Return the number of documents, the parts, and an example of each."""
        ordered = sorted(self.parts.items(), key=lambda pair: (-pair[1], pair[0]))
        shown = [f"{part} {n:,}{self._example(part)}" for part, n in ordered]
        return f"{counted(self.n_documents, 'document')}: {', '.join(shown)}"

    def _example(self, part: str) -> str:
        text = self.examples.get(part, "").removeprefix(f"{part}: ")
        return f" ({text})" if text else ""

    @property
    def hint(self) -> str:
        """Advice to the operator."""
        found = {*_EXTRA.findall(" ".join(self.examples.values()))}
        retry = "-a retry=failed requests the documents again"
        if found:
            extras = ",".join(sorted(found))
            return f"pip install 'rdfcrawl[{extras}]'; then {retry}"
        return f"own faults: the log has the tracebacks; once they are mended, {retry}"


def part_key(part: str) -> str:
    """Return the statistic of the documents on which a part has failed."""
    return f"own_fault/part/{part}"


def note_own_fault(stats: StatsCollector, part: str, detail: str) -> None:
    """Count a document given up because a part of the crawler failed."""
    stats.inc_value(DOCUMENTS)
    stats.inc_value(part_key(part))
    keep_example(stats, part, detail)


def keep_example(stats: StatsCollector, part: str, detail: str) -> None:
    """Keep the detail of the first fault of a part."""
    key = f"own_fault/example/{part}"
    if stats.get_value(key) is None:
        stats.set_value(key, detail)


def examples_of(statistics: Mapping[str, object]) -> dict[str, str]:
    """Return the examples kept by this worker, by part."""
    return {
        name.removeprefix(EXAMPLES): str(text)
        for name, text in statistics.items()
        if name.startswith(EXAMPLES)
    }


async def share_examples(
    redis: Redis, key: Callable[[str], str], examples: Mapping[str, str]
) -> None:
    """Share the examples of this worker for the summary of all workers."""
    if examples:
        with suppress(RedisError):  # they are in the log of this worker
            await redis.hset(key(KEY), items=[*chain(*examples.items())])


async def shared_examples(redis: Redis, key: Callable[[str], str]) -> dict[str, str]:
    """Return the last shared example of each part."""
    found = cast("dict[bytes, bytes]", await redis.hgetall(key(KEY)))
    return {
        part.decode(errors="replace"): text.decode(errors="replace")
        for part, text in found.items()
    }
