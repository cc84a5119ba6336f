"""Rules of origins that are known beyond one worker's memory, and where there are none.

`frontier.queue.kept_robots` keeps them in Redis.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


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
    """Knows nothing of other workers, for those that are alone."""

    def __init__(self, retry_secs: float) -> None:
        self._retry_secs = retry_secs

    async def look(self, origin: str, *, is_hasty: bool = False) -> KeptRules:
        """See `RulesKeeper.look`."""
        del origin, is_hasty
        return KeptRules(is_due=True)

    async def good(self, origin: str, rules: bytes, secs: float) -> None:
        """See `RulesKeeper.good`."""

    async def bad(self, origin: str, status: int) -> KeptRules:
        """See `RulesKeeper.bad`."""
        del origin
        return KeptRules(False, self._retry_secs, status)

    async def end(self, origin: str) -> None:
        """See `RulesKeeper.end`."""
