"""Rules of origins that are known beyond one worker's memory, and where there are none.

`frontier.queue.kept_robots` keeps them in Redis.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import Final, NamedTuple, Protocol

from rdfcrawl.core.options.table import OptionsTable, integer


class KeptRules(NamedTuple):
    """What is known of the robots.txt of an origin.

    Attributes:
        is_due: whoever has looked is to ask the origin now, and say what came of it.
        secs: for how long what is known holds.
        status: of the last answer; 0 if there was none.
        rules: packed; None if none are known.
    """

    is_due: bool
    secs: float = 0.0
    status: int = 0
    rules: bytes | None = None


_UNKNOWN: Final = KeptRules(is_due=True)


class RulesKeeper(Protocol):
    """Keeps rules for all workers, one of which may ask an origin."""

    async def look(self, origin: str, *, is_hasty: bool = False) -> KeptRules:
        """Return what is known, once nobody else is about to find out more.

        Args:
            origin: as `origin_of` has it.
            is_hasty: ask again at once what could not be asked a while ago.
        """

    async def good(self, origin: str, rules: bytes, secs: float) -> None:
        """Keep rules that were read, and hold for so long."""

    async def bad(self, origin: str, status: int) -> KeptRules:
        """Say that the origin cannot be asked; return what holds meanwhile."""

    async def end(self, origin: str) -> None:
        """Say that the origin was not asked after all."""


class OwnRules:
    """Keeps no rules, for a process that is alone, but the origins without an answer.

    Args:
        first_secs: pause after the first failure of an origin; it doubles.
        longest_secs: longest pause.
    """

    MOST = 10_000  # origins

    def __init__(self, first_secs: float, longest_secs: float = 3600.0) -> None:
        self._pauses = first_secs, longest_secs
        self._failed: dict[str, tuple[KeptRules, float, int]] = {}

    async def look(self, origin: str, *, is_hasty: bool = False) -> KeptRules:
        """See `RulesKeeper.look`."""
        found, until, _ = self._failed.get(origin, (_UNKNOWN, 0.0, 0))
        secs = until - monotonic()
        if is_hasty or secs <= 0:
            return _UNKNOWN
        return found._replace(secs=secs)

    async def good(self, origin: str, rules: bytes, secs: float) -> None:
        """See `RulesKeeper.good`."""
        del rules, secs
        self._failed.pop(origin, None)

    async def bad(self, origin: str, status: int) -> KeptRules:
        """See `RulesKeeper.bad`."""
        _, _, n = self._failed.pop(origin, (_UNKNOWN, 0.0, 0))
        first, longest = self._pauses
        found = KeptRules(False, min(longest, first * 2.0 ** min(n, 40)), status)
        self._failed[origin] = found, monotonic() + found.secs, n + 1
        if len(self._failed) > self.MOST:
            del self._failed[next(iter(self._failed))]
        return found

    async def end(self, origin: str) -> None:
        """See `RulesKeeper.end`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepingOptions(OptionsTable):
    """How rules are kept; times in seconds."""

    most: int = integer("ROBOTSTXT_CACHE_MAX", 1_000_000, 1)
    """origins whose `robots.txt` is known to all workers of the crawl, in Redis, and
    files of reservations, which count as well; each takes some 150 bytes, and 250
    with a few rules"""
    most_bytes: int = integer("ROBOTSTXT_CACHE_BYTES", 256 * 1024 * 1024, 1024)
    """size of all these rules, compressed"""
    asking_secs: float = 600.0  # for so long, others wait for those that ask
    stale_secs: float = 30 * 24 * 3600.0  # for so long, rules hold while none come
    first_secs: float = 60.0  # after a failure; it doubles
    longest_secs: float = 3600.0
