"""Wait out local failures, without blaming hosts or records.

Every request fails without descriptors, name servers, a route or disk space; with a
wrong clock, every certificate does. The worker logs one line, waits until the cause has
passed, and repeats the request. The `Date` headers of hosts show whether the clock is
wrong.

Sources: RFC 9110 6.6.1 (Date); RFC 9111 5.1 (Age).
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from rdfcrawl.core.errors import (
    NO_FILES,
    PASSING,
    Fault,
    Reason,
    StoreFault,
    passing_fault,
)
from rdfcrawl.core.times import parse_http_date
from rdfcrawl.core.visits import Visit
from rdfcrawl.downloader.client import HttpClient, HttpResponse, RequestOptions
from rdfcrawl.downloader.host_delay import InterruptibleSleep
from rdfcrawl.downloader.network_faults import errno_of, look_up
from rdfcrawl.downloader.spool import Spool
from rdfcrawl.frontier.queue.worker_reports import user_part
from rdfcrawl.frontier.request_turns import FREE, SoloTurn, steady_time
from rdfcrawl.uri import host_of
from rdfcrawl.uri.hosts import registered_domain

logger = logging.getLogger(__name__)

_PAUSE_SECS: Final = 0.5, 30.0  # between two checks
_VALID_SECS: Final = 5.0  # of a check
_FREE_DESCRIPTORS: Final = 8  # needed to continue
_DISK_SECS: Final = 1.0  # between two checks of the disk
_MAX_KNOWN: Final = 5
_DISCARD_PORT: Final = 9
_LACKING: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
# May concern one host only, such as one with only IPv6 addresses.
_NO_ROUTE: Final = frozenset({errno.ENETUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL})
_OFF_SECS: Final = 3600.0  # smaller differences do not explain a refused certificate
_LEAST_HOSTS: Final = 3  # that must agree, unless Redis confirms them
_MOST_DATES: Final = 256
# lifetime of a date, so that wrong dates of hosts have a limited effect
_DATE_VALID_SECS: Final = 3600.0
_MAX_CHARS: Final = 64


class LocalFailure(StrEnum):
    """A failure of this machine, described for the operator."""

    DESCRIPTORS = "descriptors or memory for connections (see `ulimit -n`)"
    NAMES = "response of name servers, even for names resolved before"
    ROUTE = "route to any address reached before"
    DISK = "room on the disk"
    CLOCK = "correct clock, and certificates fail"


class KnownNames:
    """Names of different domains, from recent lookups.

    Args:
        note: called with each name and its lowest address.
    """

    def __init__(self, note: Callable[[str, str], None] | None = None) -> None:
        self.note = note
        self._addresses: dict[str, tuple[str, str]] = {}  # domain -> name, address

    def note_found(self, name: str, addresses: Sequence[str]) -> None:
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


def local_fault(error: BaseException) -> StoreFault | None:
    """Return a fault of this machine that may pass.

    An error that a user's component raises says nothing about our disk.
    """
    fault = passing_fault(error)
    return fault if fault is error or not user_part(error) else None


@dataclass(slots=True, eq=False)
class LocalFailures:
    """Recognize local failures, and wait them out; one per worker."""

    _known: KnownNames
    _sleepers: InterruptibleSleep
    _spool: Spool
    _clock: ClockCheck
    _looks: dict[LocalFailure, tuple[float, asyncio.Task[bool]]] = field(
        default_factory=dict
    )
    _waits: dict[LocalFailure, asyncio.Task[None]] = field(default_factory=dict)

    async def of(self, response: HttpResponse) -> LocalFailure | None:
        """Return the local failure behind a response, if any."""
        fault = response.fault
        if fault is None:
            return None
        if response.errno in _LACKING:
            return LocalFailure.DESCRIPTORS
        if fault.reason is Reason.INTERNAL and response.errno in PASSING:
            return LocalFailure.DISK
        # Without descriptors, the resolver reports a missing name.
        if fault.reason in (Reason.DNS, Reason.DNS_UNANSWERED) and _lacks():
            return LocalFailure.DESCRIPTORS
        suspected = None
        if fault.reason is Reason.DNS_UNANSWERED:
            suspected = LocalFailure.NAMES
        elif response.errno in _NO_ROUTE:
            suspected = LocalFailure.ROUTE
        elif response.is_untimely:
            suspected = LocalFailure.CLOCK
        if suspected and await self._look(suspected):
            return suspected
        return None

    async def wait_until_passed(self, failure: LocalFailure) -> None:
        """Wait until the failure has passed or the worker stops."""
        await asyncio.shield(self.start_pause(failure))

    def start_pause(self, failure: LocalFailure) -> asyncio.Task[None]:
        """Start a task that waits until the failure has passed or the worker stops."""
        task = self._waits.get(failure)
        if task is None:
            task = self._waits[failure] = asyncio.create_task(self._wait(failure))
        return task

    def pause_if_local_failure(self, error: BaseException, visit: Visit | None) -> bool:
        """Pause if writing failed on this machine; return whether so.

        Args:
            error: ended the processing of a document.
            visit: of the document. Its host is put off, except after a failed store:
                undone writes then leave room.
        """
        fault = local_fault(error)
        if fault is None:
            return False
        has_files = errno_of(fault) not in NO_FILES
        self.start_pause(LocalFailure.DISK if has_files else LocalFailure.DESCRIPTORS)
        if fault is not error and visit is not None:
            least = self._spool.put_off_secs
            visit.not_before_secs = max(visit.not_before_secs, least)
        return True

    def keeps_from_writing(self) -> bool:
        """Return whether writing to the stores would fail."""
        return (
            LocalFailure.DISK in self._waits or LocalFailure.DESCRIPTORS in self._waits
        )

    async def wait_until_all_passed(self) -> None:
        """Wait until no failure is left, or the worker stops."""
        while self._waits:
            await asyncio.shield(next(iter(self._waits.values())))

    def is_pausing(self) -> bool:
        """Return whether requests are paused."""
        return bool(self._waits)

    async def look_at_disk(self) -> None:
        """Pause whenever a disk is too full, until cancelled."""
        while not self.is_stopping:
            spool = self._spool
            if spool.disk.lack() and not (spool.drop_parts() and not spool.disk.lack()):
                await self.wait_until_passed(LocalFailure.DISK)
            await self._sleepers.sleep(_DISK_SECS)

    @property
    def is_stopping(self) -> bool:
        """Whether waits end immediately."""
        return self._sleepers.is_stopping

    async def _wait(self, failure: LocalFailure) -> None:
        is_disk = failure is LocalFailure.DISK
        if is_disk:
            self._spool.is_short = True
            self._spool.drop_parts()
        try:
            await self._wait_for(failure)
        finally:
            del self._waits[failure]
            if is_disk:
                self._spool.is_short = False

    async def _wait_for(self, failure: LocalFailure) -> None:
        since = time.monotonic()
        detail = await self._detail(failure)
        what = f"{failure}: {detail}" if detail else str(failure)
        logger.warning(
            "requests pause, hosts are not at fault: this machine has no %s", what
        )
        pause, longest = _PAUSE_SECS
        while not self.is_stopping:
            await self._sleepers.sleep(pause)
            pause = min(2 * pause, longest)
            if not await self._exists(failure):
                break
        self._looks.pop(failure, None)
        if not self.is_stopping:
            logger.info("requests continue after %.1f s", time.monotonic() - since)

    async def _detail(self, failure: LocalFailure) -> str:
        if failure is LocalFailure.DISK:
            return self._spool.disk.lack()
        return await self._clock.fault() if failure is LocalFailure.CLOCK else ""

    async def _look(self, failure: LocalFailure) -> bool:
        """Return whether the failure persists; concurrent checks share one result."""
        at, task = self._looks.get(failure, (0.0, None))
        if task is None or (task.done() and time.monotonic() - at > _VALID_SECS):
            task = asyncio.create_task(self._exists(failure))
            self._looks[failure] = time.monotonic(), task
        return await asyncio.shield(task)

    async def _exists(self, failure: LocalFailure) -> bool:
        if failure is LocalFailure.DESCRIPTORS:
            return _lacks(_FREE_DESCRIPTORS)
        if failure is LocalFailure.ROUTE:
            addresses = self._known.addresses()
            return bool(addresses) and not any(map(_has_route, addresses))
        if failure is LocalFailure.CLOCK:
            return bool(await self._clock.fault())
        if failure is LocalFailure.DISK:
            disk = self._spool.disk
            return bool(disk.lack() or await asyncio.to_thread(disk.refusal))
        names = self._known.names()
        if not names:
            return False  # unknown: hosts are put off without a penalty
        found = await asyncio.gather(
            *(asyncio.to_thread(look_up, name) for name in names)
        )
        return all(reason is Reason.DNS_UNANSWERED for reason in found)


class LocalFailureGuard:
    """A client that repeats requests after local failures.

    If the worker stops meanwhile, the response has `is_local_failure`.
    """

    def __init__(
        self, exchange: HttpClient, local_failures: LocalFailures, spool: Spool
    ) -> None:
        self._exchange = exchange
        self._local_failures = local_failures
        self._spool = spool

    async def get(
        self, url: str, options: RequestOptions, turn: SoloTurn = FREE
    ) -> HttpResponse:
        """See `HttpClient.get`."""
        if self._local_failures.is_pausing():
            turn.end()
            await self._local_failures.wait_until_all_passed()
            if self._local_failures.is_stopping or not await turn.take_another():
                return HttpResponse(fault=Fault(Reason.INTERNAL), is_local_failure=True)
        response = await self._exchange.get(url, options, turn)
        if response.fault is None:
            return response
        while (failure := await self._local_failures.of(response)) is not None:
            if failure is LocalFailure.DISK:
                self._spool.release(response)  # it occupies space
            turn.end()
            await self._local_failures.wait_until_passed(failure)
            if self._local_failures.is_stopping or not await turn.take_another():
                response.is_local_failure = True
                break
            self._spool.release(response)
            response = await self._exchange.get(url, options, turn)
        return response


def _lacks(n_wanted: int = 1) -> bool:
    """Return whether fewer than `n_wanted` sockets are available."""
    with ExitStack() as stack:
        try:
            for _ in range(n_wanted):
                stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        except OSError as exc:
            return exc.errno in _LACKING
    return False


def _has_route(address: str) -> bool:
    """Return whether the system has a route to an address; sends nothing."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, _DISCARD_PORT))
    except OSError as exc:
        return exc.errno not in _NO_ROUTE
    return True


class ClockCheck:
    """Dates of hosts and Redis, compared with the local clock.

    Args:
        redis_secs: returns the time of Redis; None if it does not respond.
    """

    def __init__(self, redis_secs: Callable[[], Awaitable[float | None]]) -> None:
        self._redis_secs = redis_secs
        self._dates: deque[tuple[str, str, str, float]] = deque(maxlen=_MOST_DATES)

    def note(self, url: str, headers: Mapping[str, str]) -> None:
        """Store the `Date` of a response, to be parsed on demand."""
        date = headers.get("Date")
        if date is not None:
            age = headers.get("Age", "")
            self._dates.append((url, date[:_MAX_CHARS], age, steady_time()))

    async def fault(self) -> str:
        """Describe the error of the clock; empty if none is known."""
        redis_secs = await self._redis_secs()
        now = time.time()
        of_redis = None if redis_secs is None else now - redis_secs
        return fault_of_clock(self._of_hosts(now), of_redis)

    def _of_hosts(self, now: float) -> list[float]:
        """Return how far the clock is ahead of each domain, by its latest date."""
        steady = steady_time()
        found = {}
        for url, date, age, at in self._dates:
            passed = steady - at
            if passed > _DATE_VALID_SECS:
                continue
            theirs = _secs_of(date, age)
            if theirs is not None:
                found[registered_domain(host_of(url))] = now - theirs - passed
        return list(found.values())


def fault_of_clock(of_hosts: Sequence[float], of_redis: float | None) -> str:
    """Describe the error of a clock; empty if none is known.

    Agreement with Redis proves nothing: it may be on the same machine.

    Args:
        of_hosts: seconds ahead of hosts of different domains.
        of_redis: seconds ahead of Redis; None if unknown.

    >>> fault_of_clock([7200.0, 7201.0, 7199.0, 0.5], None)
    'it is 2.0 hours ahead'
    >>> fault_of_clock([7200.0, 0.0], 0.0)
    ''
    """
    says_redis = of_redis is not None and abs(of_redis) > _OFF_SECS
    votes = list(of_hosts)
    if of_redis is not None and says_redis:
        votes.append(of_redis)
    off = sorted(secs for secs in votes if abs(secs) > _OFF_SECS)
    if not off:
        return ""
    middle = off[len(off) // 2]
    n_agreeing = sum(abs(secs - middle) <= _OFF_SECS for secs in off)
    if 2 * n_agreeing <= len(votes) or (n_agreeing < _LEAST_HOSTS and not says_redis):
        return ""
    where = "ahead" if middle > 0 else "behind"
    return f"it is {abs(middle) / 3600:.1f} hours {where}"


def _secs_of(date: str, age: str) -> float | None:
    """Return the time when a response was generated, before any caches."""
    moment = parse_http_date(date)
    if moment is None:
        return None
    age = age.strip()
    is_number = age.isascii() and age.isdigit() and len(age) < 10
    return moment.timestamp() + (int(age) if is_number else 0)
