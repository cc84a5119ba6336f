"""Storage of robots.txt rules beyond one worker's memory, or none.

`frontier.queue.kept_robots` stores them in Redis.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import Final, NamedTuple, Protocol

from rdfcrawl.core.options.table import OptionsTable, integer


class KeptRules(NamedTuple):
    """The known state of the robots.txt of an origin.

    Attributes:
        is_due: the caller must request the file now, and report the result.
        secs: validity of this state.
        status: of the last response; 0 if there was none.
        rules: packed; None if unknown.
    """

    is_due: bool
    secs: float = 0.0
    status: int = 0
    rules: bytes | None = None


_UNKNOWN: Final = KeptRules(is_due=True)


class RulesKeeper(Protocol):
    """Stores rules for all workers, one of which may request a file."""

    async def look(self, origin: str, *, is_hasty: bool = False) -> KeptRules:
        """Return the known state, after the requests of other workers for it.

        Args:
            origin: as returned by `origin_of`.
            is_hasty: retry a failed request now.
        """

    async def keep_rules(self, origin: str, rules: bytes, secs: float) -> None:
        """Store rules that were read, and their validity."""

    async def note_failure(self, origin: str, status: int) -> KeptRules:
        """Record a failed request; return the state that is valid meanwhile."""

    async def end(self, origin: str) -> None:
        """Record that the file was not requested after all."""


class OwnRules:
    """Storage of a single process: no rules, only failed origins.

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

    async def keep_rules(self, origin: str, rules: bytes, secs: float) -> None:
        """See `RulesKeeper.keep_rules`."""
        del rules, secs
        self._failed.pop(origin, None)

    async def note_failure(self, origin: str, status: int) -> KeptRules:
        """See `RulesKeeper.note_failure`."""
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
    asking_secs: float = 600.0  # longest wait for the request of another worker
    stale_secs: float = 30 * 24 * 3600.0  # use of old rules while there are no others
    first_secs: float = 60.0  # after a failure; doubles
    longest_secs: float = 3600.0
