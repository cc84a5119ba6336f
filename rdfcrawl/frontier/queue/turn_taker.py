"""Turns of hosts: one line for the requests of all workers to a host."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, cast

from rdfcrawl.frontier.redis.scripts import millisecs

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.partitions import KeyLocations
    from rdfcrawl.frontier.redis.scripts import Argument, LuaScripts

_ELSEWHERE = -3  # the clock of a key is in another partition


class TurnEntry(NamedTuple):
    """A request for a turn of a host, or the report of one."""

    token: str  # of the turn, unique
    key: str  # politeness key of the host
    delay_secs: float  # least time since the previous request, or until the next
    epoch: int | None = None  # of its lease
    # for so long the turn is held; None if no turn is requested
    hold_secs: float | None = None
    sent_at: float = 0.0  # monotonic time of the request; 0 if it was not sent
    # of the leased key; None: looked up
    partition: int | None = None


class TurnTaker:
    """Takes turns in the partitions of the clocks of hosts."""

    def __init__(self, scripts: LuaScripts, locations: KeyLocations) -> None:
        self._scripts = scripts
        self._locations = locations
        self.prefixes: list[str] = []  # key prefix of each partition

    async def take(self, entries: Sequence[TurnEntry]) -> list[tuple[int, int]]:
        """Request turns of hosts, and report sent requests.

        Safe to repeat.

        Returns:
            For each request: 1 and the ms until the turn begins; 0 and the ms until the
            request may be repeated; -1, the lease is lost; or -2 and the ms for which
            the host rests after a refusal.
        """
        found = await self._take(entries)
        away = [i for i, (what, _) in enumerate(found) if what == _ELSEWHERE]
        if away:
            asked = [entry for entry in entries if entry.hold_secs is not None]
            again = [asked[i] for i in away]
            for entry in again:
                self._locations.note_away(entry.key)
            for i, reply in zip(away, await self._take(again), strict=True):
                found[i] = reply
        return found

    async def _take(self, entries: Sequence[TurnEntry]) -> list[tuple[int, int]]:
        calls: dict[int, list[Argument]] = {}
        places: dict[int, list[int]] = {}
        n_asked = 0
        for entry in entries:
            partition = entry.partition
            if partition is None:
                partition = self._locations.of(entry.key)
            calls.setdefault(partition, []).extend(_turn_arguments(entry))
            if entry.hold_secs is not None:
                places.setdefault(partition, []).append(n_asked)
                n_asked += 1
        replies = await self._scripts.run(
            "turn", [(self.prefixes[p], arguments) for p, arguments in calls.items()]
        )
        found = [(0, 0)] * n_asked
        rows = cast("list[list[tuple[int, int]]]", replies)
        for partition, given in zip(calls, rows, strict=True):
            for place, (what, ms) in zip(places.get(partition, ()), given, strict=True):
                found[place] = what, ms
        return found


def _turn_arguments(entry: TurnEntry) -> list[Argument]:
    hold, sent_at = entry.hold_secs, entry.sent_at
    return [
        entry.token,
        entry.key,
        "" if entry.epoch is None else entry.epoch,
        millisecs(entry.delay_secs),
        "" if hold is None else millisecs(hold),
        # Computed now, as the entry may have waited.
        millisecs(monotonic() - sent_at) if sent_at and hold is None else "",
    ]
