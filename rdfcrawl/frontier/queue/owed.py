"""Hosts that owe URIs: find, list and revisit them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from rdfcrawl.frontier.redis.scripts import millisecs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfcrawl.frontier.redis.scripts import LuaScripts


@dataclass(frozen=True, slots=True)
class DownHosts:
    """The remaining work of a crawl.

    Attributes:
        n_others: other hosts with work or a lease.
        n_down: hosts that refuse, or have only deferred URIs.
        n_due: number of these due soon enough to wait for.
        next_secs: seconds until the next of these is due; None without any, or with
            others.
    """

    n_others: int
    n_down: int
    n_due: int
    next_secs: float | None


@dataclass(frozen=True, slots=True)
class OwingHost:
    """A host that owes URIs.

    Attributes:
        key: its politeness key.
        n_uris: number of owed URIs.
        since_secs: seconds since its first refusal.
        due_secs: seconds until it is due.
    """

    key: str
    n_uris: int
    since_secs: float
    due_secs: float


@dataclass(frozen=True, slots=True)
class OwedUris:
    """The owed URIs of a crawl.

    Attributes:
        n_waiting: URIs of hosts that refuse, or deferred URIs.
        n_hosts: hosts of these.
        hosts: some of them, oldest first.
        n_failed: URIs given up in this run, while their hosts responded.
    """

    n_waiting: int = 0
    n_hosts: int = 0
    hosts: Sequence[OwingHost] = field(default_factory=tuple)
    n_failed: int = 0

    @property
    def n_uris(self) -> int:
        """URIs that the next run requests."""
        return self.n_waiting + self.n_failed


NOTHING_OWED: Final = OwedUris()


class OwedHosts:
    """The hosts of a crawl that refuse, or have only deferred URIs.

    Attributes:
        prefixes: of the partitions of the crawl.
    """

    def __init__(self, scripts: LuaScripts) -> None:
        self.prefixes: Sequence[str] = ()
        self._scripts = scripts

    async def look(self, wait_secs: float) -> DownHosts:
        """Return the remaining work; hosts due within `wait_secs` count as due."""
        arguments = [millisecs(max(0.0, wait_secs))]
        rows = cast(
            "list[tuple[int, int, int, int]]", await self._run("down", arguments)
        )
        others, down, due, next_due = zip(*rows, strict=True)
        waits = [ms / 1000 for ms in next_due if ms >= 0]
        return DownHosts(sum(others), sum(down), sum(due), min(waits, default=None))

    async def list(self, most: int) -> OwedUris:
        """Return the owed URIs of the crawl, with some of their hosts."""
        replies = await self._run("owed", [most])
        rows = cast("list[tuple[int, int, list[Any], int]]", replies)
        hosts = [
            OwingHost(key.decode(errors="replace"), n, since / 1000, due / 1000)
            for _, _, listed, _ in rows
            for key, n, since, due in zip(*[iter(listed)] * 4, strict=True)
        ]
        hosts.sort(key=lambda host: -host.since_secs)
        waiting, n_hosts, _, failed = zip(*rows, strict=True)
        return OwedUris(sum(waiting), sum(n_hosts), hosts[:most], sum(failed))

    async def forgive(self) -> int:
        """Make hosts that refused in earlier runs due now; return their number.

        A longer `Retry-After` is kept.
        """
        return sum(cast("list[int]", await self._run("forgive", [])))

    async def _run(
        self, name: Literal["down", "owed", "forgive"], arguments: Sequence[int]
    ) -> Sequence[object]:
        calls = [(prefix, arguments) for prefix in self.prefixes]
        return await self._scripts.run(name, calls)
