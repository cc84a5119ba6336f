"""Failures of our own, not of hosts: waited out, at the cost of no record.

Without descriptors, name servers, a route or room on the disk, every request fails; by
a clock that is wrong, every certificate does. The hosts are not to blame: the worker
says so in one line, waits until what has worked before works again, and asks once more.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import NO_FILES, PASSING, Fault, Reason, passing_fault
from rdfcrawl.downloader.answer import HttpClient, HttpResponse, RequestOptions
from rdfcrawl.downloader.system_errors import errno_of, look_up
from rdfcrawl.frontier.request_turns import FREE, SoloTurn
from rdfcrawl.uri.politeness import registered_domain

if TYPE_CHECKING:
    from rdfcrawl.core.visits import Visit
    from rdfcrawl.downloader.clock import ClockCheck
    from rdfcrawl.downloader.host_delay import InterruptibleSleep
    from rdfcrawl.downloader.spool import Spool

logger = logging.getLogger(__name__)

_PAUSE_SECS: Final = 0.5, 30.0  # between two looks whether it has passed
_VALID_SECS: Final = 5.0  # of a look
_FREE_DESCRIPTORS: Final = 8  # before it goes on
_DISK_SECS: Final = 1.0  # between two looks at the disk
_MAX_KNOWN: Final = 5
_DISCARD_PORT: Final = 9
_LACKING: Final = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM},
)
# Of one host that may be so, as of one with addresses of IPv6 alone.
_NO_ROUTE: Final = frozenset(
    {errno.ENETUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL},
)


class LocalTrouble(StrEnum):
    """What this machine lacks, in words for the operator."""

    DESCRIPTORS = "descriptors or memory for connections (see `ulimit -n`)"
    NAMES = "answers of name servers, for no name that was known before"
    ROUTE = "route to any address that was known before"
    DISK = "room on the disk"
    CLOCK = "clock that is right, and certificates fail by it"


class KnownNames:
    """A few names of different domains that were looked up last.

    Args:
        note: is told of each name and its lowest address.
    """

    def __init__(self, note: Callable[[str, str], None] | None = None) -> None:
        self.note = note
        self._addresses: dict[str, tuple[str, str]] = {}  # domain -> name, address

    def found(self, name: str, addresses: Sequence[str]) -> None:
        """Store a name with its addresses, and report the lowest."""
        self.add(name, addresses[0])
        if self.note is not None:
            self.note(name, min(addresses))

    def add(self, name: str, address: str) -> None:
        """Note that a name has an address."""
        domain = registered_domain(name)
        self._addresses.pop(domain, None)
        self._addresses[domain] = name, address
        if len(self._addresses) > _MAX_KNOWN:
            del self._addresses[next(iter(self._addresses))]

    def names(self) -> list[str]:
        """Return the names, the latest first."""
        return [name for name, _ in reversed(self._addresses.values())]

    def addresses(self) -> list[str]:
        """Return an address of each."""
        return [address for _, address in reversed(self._addresses.values())]


@dataclass(slots=True, eq=False)
class OwnTrouble:
    """Tell our failures from those of hosts, and wait for their end; one per worker."""

    _known: KnownNames
    _sleepers: InterruptibleSleep
    _spool: Spool
    _clock: ClockCheck
    _looks: dict[LocalTrouble, tuple[float, asyncio.Task[bool]]] = field(
        default_factory=dict
    )
    _waits: dict[LocalTrouble, asyncio.Task[None]] = field(default_factory=dict)

    async def of(self, answer: HttpResponse) -> LocalTrouble | None:
        """Return what of ours, if anything, has kept us from a better answer."""
        fault = answer.fault
        if fault is None:
            return None
        if answer.errno in _LACKING:
            return LocalTrouble.DESCRIPTORS
        if fault.reason is Reason.INTERNAL and answer.errno in PASSING:
            return LocalTrouble.DISK
        # The resolver says the same of no descriptor as of no name.
        if fault.reason in (Reason.DNS, Reason.DNS_UNANSWERED) and _lacks():
            return LocalTrouble.DESCRIPTORS
        suspected = None
        if fault.reason is Reason.DNS_UNANSWERED:
            suspected = LocalTrouble.NAMES
        elif answer.errno in _NO_ROUTE:
            suspected = LocalTrouble.ROUTE
        elif answer.is_untimely:
            suspected = LocalTrouble.CLOCK
        if suspected and await self._look(suspected):
            return suspected
        return None

    async def passes(self, trouble: LocalTrouble) -> None:
        """Wait until the trouble has passed or the worker stops."""
        await asyncio.shield(self.begin(trouble))

    def begin(self, trouble: LocalTrouble) -> asyncio.Task[None]:
        """Pause until the trouble has passed or the worker stops; return that task."""
        task = self._waits.get(trouble)
        if task is None:
            task = self._waits[trouble] = asyncio.create_task(self._wait(trouble))
        return task

    def pause_if_local_failure(self, error: BaseException, visit: Visit | None) -> bool:
        """Pause if this machine has refused to write; return whether so.

        Args:
            error: that ended the processing of a document.
            visit: of the document. Its host is put off, unless a store has failed:
                then other writes are undone, and leave room.
        """
        fault = passing_fault(error)
        if fault is None:
            return False
        has_files = errno_of(fault) not in NO_FILES
        self.begin(LocalTrouble.DISK if has_files else LocalTrouble.DESCRIPTORS)
        if fault is not error and visit is not None:
            least = self._spool.put_off_secs
            visit.not_before_secs = max(visit.not_before_secs, least)
        return True

    def keeps_from_writing(self) -> bool:
        """Return whether stores would refuse data now."""
        return (
            LocalTrouble.DISK in self._waits or LocalTrouble.DESCRIPTORS in self._waits
        )

    async def all_pass(self) -> None:
        """Wait until there is no trouble, or the worker stops."""
        while self._waits:
            await asyncio.shield(next(iter(self._waits.values())))

    def is_pausing(self) -> bool:
        """Return whether no request is made for now."""
        return bool(self._waits)

    async def look_at_disk(self) -> None:
        """Pause whenever a disk is too full, until cancelled."""
        while not self.is_stopping:
            await self._sleepers.sleep(_DISK_SECS)
            spool = self._spool
            if spool.disk.lack() and not (spool.drop_parts() and not spool.disk.lack()):
                await self.passes(LocalTrouble.DISK)

    @property
    def is_stopping(self) -> bool:
        """Whether nothing is waited for any more."""
        return self._sleepers.is_stopping

    async def _wait(self, trouble: LocalTrouble) -> None:
        is_disk = trouble is LocalTrouble.DISK
        if is_disk:
            self._spool.is_short = True
            self._spool.drop_parts()
        try:
            await self._wait_for(trouble)
        finally:
            del self._waits[trouble]
            if is_disk:
                self._spool.is_short = False

    async def _wait_for(self, trouble: LocalTrouble) -> None:
        since = time.monotonic()
        detail = await self._detail(trouble)
        what = f"{trouble}: {detail}" if detail else str(trouble)
        logger.warning(
            "requests pause, hosts are not at fault: this machine has no %s", what
        )
        pause, longest = _PAUSE_SECS
        while not self.is_stopping:
            await self._sleepers.sleep(pause)
            pause = min(2 * pause, longest)
            if not await self._exists(trouble):
                break
        self._looks.pop(trouble, None)
        if not self.is_stopping:
            logger.info("requests continue after %.1f s", time.monotonic() - since)

    async def _detail(self, trouble: LocalTrouble) -> str:
        if trouble is LocalTrouble.DISK:
            return self._spool.disk.lack()
        return await self._clock.fault() if trouble is LocalTrouble.CLOCK else ""

    async def _look(self, trouble: LocalTrouble) -> bool:
        """Return whether there is trouble; looked for once for many who ask."""
        at, task = self._looks.get(trouble, (0.0, None))
        if task is None or (task.done() and time.monotonic() - at > _VALID_SECS):
            task = asyncio.create_task(self._exists(trouble))
            self._looks[trouble] = time.monotonic(), task
        return await asyncio.shield(task)

    async def _exists(self, trouble: LocalTrouble) -> bool:
        if trouble is LocalTrouble.DESCRIPTORS:
            return _lacks(_FREE_DESCRIPTORS)
        if trouble is LocalTrouble.ROUTE:
            addresses = self._known.addresses()
            return bool(addresses) and not any(map(_has_route, addresses))
        if trouble is LocalTrouble.CLOCK:
            return bool(await self._clock.fault())
        if trouble is LocalTrouble.DISK:
            disk = self._spool.disk
            return bool(disk.lack() or await asyncio.to_thread(disk.refusal))
        names = self._known.names()
        if not names:
            return False  # it cannot be known: hosts are put off, and lose nothing
        found = await asyncio.gather(
            *(asyncio.to_thread(look_up, name) for name in names)
        )
        return all(reason is Reason.DNS_UNANSWERED for reason in found)


class BearingExchange:
    """A client that repeats requests that failed for a reason of our own.

    If the worker stops meanwhile, the answer says so (`HttpResponse.is_own_fault`).
    """

    def __init__(self, exchange: HttpClient, trouble: OwnTrouble, spool: Spool) -> None:
        self._exchange = exchange
        self._trouble = trouble
        self._spool = spool

    async def get(
        self, url: str, ask: RequestOptions, turn: SoloTurn = FREE
    ) -> HttpResponse:
        """See `HttpClient.get`."""
        if self._trouble.is_pausing():
            turn.end()
            await self._trouble.all_pass()
            if self._trouble.is_stopping or not await turn.again():
                return HttpResponse(fault=Fault(Reason.INTERNAL), is_own_fault=True)
        answer = await self._exchange.get(url, ask, turn)
        if answer.fault is None:  # as most
            return answer
        while (trouble := await self._trouble.of(answer)) is not None:
            if trouble is LocalTrouble.DISK:
                self._spool.release(answer)  # it is in the way
            turn.end()
            await self._trouble.passes(trouble)
            if self._trouble.is_stopping or not await turn.again():
                answer.is_own_fault = True
                break
            self._spool.release(answer)
            answer = await self._exchange.get(url, ask, turn)
        return answer


def _lacks(n_wanted: int = 1) -> bool:
    """Return whether so many sockets cannot be had."""
    with ExitStack() as stack:
        try:
            for _ in range(n_wanted):
                stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        except OSError as exc:
            return exc.errno in _LACKING
    return False


def _has_route(address: str) -> bool:
    """Return whether the system knows a way to an address; nothing is sent."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, _DISCARD_PORT))
    except OSError as exc:
        return exc.errno not in _NO_ROUTE
    return True
