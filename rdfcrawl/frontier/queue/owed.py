"""Hosts that refuse, or have only URIs that wait: looked for, listed, visited again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from rdfcrawl.frontier.redis.scripts import millisecs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfcrawl.frontier.redis.scripts import LuaScripts


@dataclass(frozen=True, slots=True)
class DownHosts:
    """What is left to do in a crawl.

    Attributes:
        n_others: other hosts with work or a lease.
        n_down: hosts that refuse, or have only deferred URIs.
        n_due: of these, how many are visited soon enough to be waited for.
        next_secs: seconds until the next of these is due; None if there is none, or
            if there are others.
    """

    n_others: int
    n_down: int
    n_due: int
    next_secs: float | None


@dataclass(frozen=True, slots=True)
class OwingHost:
    """A host with URIs that could not be fetched yet.

    Attributes:
        key: its politeness key.
        n_uris: how many.
        since_secs: seconds since it refused first.
        due_secs: seconds until it is worth asking again.
    """

    key: str
    n_uris: int
    since_secs: float
    due_secs: float


@dataclass(frozen=True, slots=True)
class OwedUris:
    """What a crawl owes.

    Attributes:
        n_waiting: URIs of hosts that refuse, or that wait by themselves.
        n_hosts: hosts of these.
        hosts: some of them, the longest owing first.
        n_failed: URIs that were given up in this run, while their hosts answered.
    """

    n_waiting: int = 0
    n_hosts: int = 0
    hosts: Sequence[OwingHost] = field(default_factory=tuple)
    n_failed: int = 0

    @property
    def n_uris(self) -> int:
        """URIs that the next run asks for."""
        return self.n_waiting + self.n_failed


NOTHING_OWED: Final = OwedUris()


class OwedHosts:
    """The hosts of a crawl that refuse, or have only URIs that wait.

    Attributes:
        prefixes: of the partitions of the crawl.
    """

    def __init__(self, scripts: LuaScripts) -> None:
        self.prefixes: Sequence[str] = ()
        self._scripts = scripts

    async def look(self, wait_secs: float) -> DownHosts:
        """Return what is left to do; `wait_secs` says which hosts are due soon."""
        arguments = [millisecs(max(0.0, wait_secs))]
        rows = cast(
            "list[tuple[int, int, int, int]]", await self._run("down", arguments)
        )
        others, down, due, next_due = zip(*rows, strict=True)
        waits = [ms / 1000 for ms in next_due if ms >= 0]
        return DownHosts(sum(others), sum(down), sum(due), min(waits, default=None))

    async def list(self, most: int) -> OwedUris:
        """Return what the crawl owes, with at most so many hosts."""
        answers = await self._run("owed", [most])
        rows = cast("list[tuple[int, int, list[Any], int]]", answers)
        hosts = [
            OwingHost(key.decode(errors="replace"), n, since / 1000, due / 1000)
            for _, _, listed, _ in rows
            for key, n, since, due in zip(*[iter(listed)] * 4, strict=True)
        ]
        hosts.sort(key=lambda host: -host.since_secs)
        waiting, n_hosts, _, failed = zip(*rows, strict=True)
        return OwedUris(sum(waiting), sum(n_hosts), hosts[:most], sum(failed))

    async def forgive(self) -> int:
        """Have hosts that refused in earlier runs visited now; return their number.

        Those that asked for a longer rest keep it.
        """
        return sum(cast("list[int]", await self._run("forgive", [])))

    async def _run(
        self, name: Literal["down", "owed", "forgive"], arguments: Sequence[int]
    ) -> Sequence[object]:
        calls = [(prefix, arguments) for prefix in self.prefixes]
        return await self._scripts.run(name, calls)
