"""The clocks of hosts: all requests to a politeness key take turns.

The clocks are in Redis (`lua/turn.lua`), so they apply to all workers and all requests:
visits of the host, a robots.txt to which another host redirects, or a context named by
a document. A turn is held until its request was sent, and the delay of the next request
counts from that moment: however busy a worker is, no two requests are closer.

With a delay of addresses in addition to that of hosts, a request takes a turn on both
clocks. Lock order: host, then address. This prevents deadlock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from time import monotonic
from typing import Final, NamedTuple
from zlib import crc32

from redis.exceptions import RedisError

from rdfcrawl.core.visits import Visit
from rdfcrawl.frontier.queue.frontier_client import Frontier
from rdfcrawl.frontier.queue.host_clocks import HostClocks, TurnEntry
from rdfcrawl.frontier.request_turns import (
    HostRestsError,
    PlainSleep,
    SoloTurn,
    SoloTurns,
    WorkerSleep,
    steady_time,
)
from rdfcrawl.frontier.worker.worker import FrontierWorker
from rdfcrawl.uri import host_of, host_of_address, is_of_web
from rdfcrawl.uri.guard.policy import literal_address

_LOOKUPS: Final = 3  # name servers may return addresses one by one
_WAIT, _GIVEN, _LOST, _RESTS = 0, 1, -1, -2
_IDLE_MS: Final = 50  # for so long, the turn of an address waits for that of a host


class HostTurns(SoloTurns):
    """Source of turns of a worker."""

    def __init__(
        self,
        clocks: HostClocks,
        frontier: Frontier,
        worker: FrontierWorker,
        sleepers: WorkerSleep,
        *,
        key_of: Callable[[str], str],
        prime: Callable[[str], Awaitable[None]],
        found: Callable[[str], Awaitable[list[str]]] | None = None,
        addresses: AddressDelay | None = None,
    ) -> None:
        self.clocks = clocks
        self.frontier = frontier
        self.worker = worker
        self.sleepers = sleepers
        self._key_of = key_of
        self._prime = prime
        self.found = found
        self._addresses = addresses
        self._undelayed = _Undelayed(self)

    async def of_visit(
        self, visit: Visit, url: str, *, is_for_rules: bool = False
    ) -> SoloTurn | None:
        """See `SoloTurns.of_visit`."""
        is_delayed = visit.delay_secs > 0 or self.frontier.delays.secs > 0
        if is_delayed or self._addresses is not None:
            self._report_rules_request(visit)
            turn = self._new_turn(visit.key, visit.delay_secs, visit, url)
            return turn if await turn.begin() else None
        # Hosts without a delay need no turns, but their leases must be valid.
        if not self._undelayed.is_good():
            if not await self._undelayed.take_another():
                return None
            if self.frontier.delays.secs > 0:  # known by now
                return await self.of_visit(visit, url, is_for_rules=is_for_rules)
        if visit.is_lost:
            return None
        if self.found is None and not is_for_rules:
            return self._undelayed
        undelayed = _ForRules(self, visit) if is_for_rules else _Undelayed(self)
        undelayed.address = await self.address_of(visit.key)
        return undelayed

    def _new_turn(
        self, key: str, delay_secs: float, visit: Visit | None, url: str
    ) -> _HostTurn:
        # Requests for the reading of a document go on while the worker stops.
        sleepers = PlainSleep() if visit is None else self.sleepers
        if self._addresses is None:
            return _HostTurn(self, key, delay_secs, visit, sleepers)
        turn = _AddressedTurn(self, key, delay_secs, visit, sleepers)
        turn.set_target(self._addresses, url)
        return turn

    def _report_rules_request(self, visit: Visit) -> None:
        """Put the request for robots.txt on the clock, if the host had none before."""
        if visit.rules_at:
            token, delay_secs = self.clocks.new_token(), visit.delay_secs
            self.clocks.report(
                TurnEntry(token, visit.key, delay_secs, sent_at=visit.rules_at)
            )
            visit.rules_at = 0.0

    async def of_url(
        self, url: str, delay_secs: float = 0.0, *, visit: Visit | None = None
    ) -> SoloTurn | None:
        """See `SoloTurns.of_url`."""
        hours = self.worker.options.hours
        if hours is not None and (secs := hours.closed_secs(host_of(url))):
            raise HostRestsError(secs)
        await self._prime(url)
        key = self._key_of(url)
        if visit is not None and key == visit.key:
            return await self.of_visit(visit, url)
        turn = self._new_turn(key, delay_secs, None, url)
        if visit is not None:
            turn.sleepers = self.sleepers
        if await turn.begin():
            return turn
        if turn.rests_secs:
            raise HostRestsError(turn.rests_secs)
        return None

    async def address_of(self, key: str) -> str:
        """Return the address of a key, if keys are addresses.

        A name without an address at first may have one by now.
        """
        if self.found is None:
            return ""
        address = literal_address(key)
        return address or (await self.found(key) or [""])[0]


class _Undelayed(SoloTurn):
    """The turn of all visits to hosts without a delay."""

    __slots__ = ("_turns", "_worker")

    def __init__(self, turns: HostTurns) -> None:
        super().__init__()
        self._turns = turns
        self._worker = turns.worker

    def is_good(self) -> bool:
        """See `SoloTurn.is_good`."""
        return steady_time() < self._worker.confirmed_until

    async def take_another(self) -> bool:
        """See `SoloTurn.take_another`."""
        with suppress(RedisError):
            await self._worker.leases.confirm()
        return self.is_good()

    async def elsewhere(self, url: str) -> bool:
        """See `SoloTurn.elsewhere`."""
        self.address = await _other_address(self._turns, url, self.address)
        return bool(self.address) and self.is_good()


class _ForRules(_Undelayed):
    """The turn of a visit for a robots.txt, which may set a delay."""

    __slots__ = ("_visit",)

    def __init__(self, turns: HostTurns, visit: Visit) -> None:
        super().__init__(turns)
        self._visit = visit

    def sent(self) -> None:
        """See `SoloTurn.sent`."""
        self.sent_at = self._visit.rules_at = monotonic()

    def end(self) -> None:
        """See `SoloTurn.end`; if unknown, the request counts as sent."""
        if not self.sent_at:
            self.sent()


class _HostTurn(SoloTurn):
    """One turn on the clock of a host."""

    __slots__ = (
        "_delay_secs", "_good_until", "_is_given", "_is_noting", "_key", "_lock",
        "_noted", "_token", "_turns", "_visit", "rests_secs", "sleepers",
    )  # fmt: skip

    def __init__(
        self,
        turns: HostTurns,
        key: str,
        delay_secs: float,
        visit: Visit | None,
        sleepers: WorkerSleep,
    ) -> None:
        super().__init__()
        self._turns = turns
        self.sleepers = sleepers
        self._key = key
        self._delay_secs = delay_secs
        self._visit = visit
        self._lock: asyncio.Lock | None = None
        self._token = ""
        self._good_until = 0.0
        self._is_given = self._is_noting = False
        # seconds for which the host rests after a refusal, so there is no turn
        self.rests_secs = 0.0
        self._noted = asyncio.Event()

    async def begin(self) -> bool:
        """Wait for the turn, on the clock of the address to connect to."""
        self.address = await self._turns.address_of(self._key)
        if self.address and self.address != literal_address(self._key):
            self._key = host_of_address(self.address)  # not leased here
        return await self.take()

    async def elsewhere(self, url: str) -> bool:
        """See `SoloTurn.elsewhere`."""
        self.end()
        address = await _other_address(self._turns, url, self.address)
        if not address:
            return False
        self.address, self._key = address, host_of_address(address)
        return await self.take()

    async def take(self) -> bool:
        """Wait for the turn; False if none comes."""
        lock = self._turns.clocks.lock(self._key)
        await lock.acquire()
        self._lock = lock
        is_given = False
        try:
            # An error: the worker stops, or the crawl is gone; reported elsewhere.
            with suppress(RedisError):
                is_given = await self._wait_for_turn()
        finally:
            if not is_given:
                self._give_back()
        return is_given

    async def _wait_for_turn(self) -> bool:
        turns, visit = self._turns, self._visit
        self._token, self.sent_at = turns.clocks.new_token(), 0.0
        while not self.sleepers.is_stopping:
            if steady_time() >= turns.worker.confirmed_until:
                await turns.worker.leases.confirm()
            if visit is not None and visit.is_lost:
                return False
            # Read before the call, so that the turn ends here before it ends in Redis.
            asked_at, lease_secs = steady_time(), turns.frontier.options.lease_secs
            self._is_given = True  # unknown until there is a reply
            delay = self._delay()
            entry = self._entry(delay, hold_secs=lease_secs + delay)
            what, ms, least_ms = await self._request(entry)
            if what == _RESTS:
                self.rests_secs = ms / 1000
                return False
            if what == _LOST and visit is not None:
                visit.is_lost = True
                return False
            self._good_until = asked_at + least_ms / 1000 + lease_secs
            await self._wait(ms / 1000)
            if what == _GIVEN and self.is_good():
                return not self.sleepers.is_stopping
        return False

    async def _request(self, entry: TurnEntry) -> tuple[int, int, int]:
        """Return the code, the ms to wait, and the ms until the turn begins."""
        what, ms = await self._turns.clocks.request(entry)
        self._is_given = what == _GIVEN
        return what, ms, ms

    async def _wait(self, secs: float) -> None:
        """Wait by the monotonic clock: timers may fire a clock tick early."""
        until = monotonic() + secs
        while (left := until - monotonic()) > 0 and not self.sleepers.is_stopping:
            await self.sleepers.sleep(left)

    def _entry(self, delay: float, *, hold_secs: float | None = None) -> TurnEntry:
        """Return an entry, with the lease of the visit if it is of the host."""
        visit = self._visit
        epoch: int | None = None
        partition: int | None = None
        if visit is not None and visit.key == self._key:
            epoch, partition = visit.epoch, visit.partition
        sent_at = self.sent_at
        return TurnEntry(
            self._token, self._key, delay, epoch, hold_secs, sent_at, partition
        )

    def _delay(self) -> float:
        if self._visit is not None:  # its robots.txt may have raised it
            self._delay_secs = self._visit.delay_secs
        return max(self._delay_secs, self._turns.frontier.delays.secs)

    def is_good(self) -> bool:
        """See `SoloTurn.is_good`."""
        return steady_time() < min(self._good_until, self._turns.worker.confirmed_until)

    def sent(self) -> None:
        """See `SoloTurn.sent`.

        Written data reaches the network at the end of this iteration of the event loop,
        or of the next one if there is a body.
        """
        if not self._is_noting:
            self._is_noting = True
            self._noted.clear()
            loop = asyncio.get_running_loop()
            loop.call_soon(loop.call_soon, self._note)

    def end(self) -> None:
        """See `SoloTurn.end`; if unknown, the request counts as sent."""
        if self._is_given and not self._is_noting:
            self._note()

    def rest(self, delay_secs: float) -> None:
        """See `SoloTurn.rest`; other workers must know it."""
        if self.sent_at:
            self._turns.clocks.report(self._entry(delay_secs))

    async def take_another(self) -> bool:
        """See `SoloTurn.take_another`."""
        if self._is_noting:
            await self._noted.wait()
        self.end()
        return await self.take()

    def _note(self) -> None:
        self._is_noting = False
        self._noted.set()
        self.sent_at = monotonic()
        self._report()

    def _give_back(self) -> None:
        self.sent_at = 0.0
        if self._is_given:
            self._report()
        self._leave()

    def _report(self) -> None:
        self._is_given = False
        self._turns.clocks.report(self._entry(self._delay()))
        self._leave()

    def _leave(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()


class AddressDelay(NamedTuple):
    """The delay of each address, for all of its hosts.

    Attributes:
        secs: least time between two requests to an address.
        of_host: returns the address of a host in this crawl; empty if it has none.
    """

    secs: float
    of_host: Callable[[str], Awaitable[str]]


class _AddressedTurn(_HostTurn):
    """One turn on the clock of a host, and on that of its address."""

    __slots__ = ("_has_place", "_place", "_place_lock", "_place_token", "_rule", "_url")

    def set_target(self, rule: AddressDelay, url: str) -> None:
        """Set the delay of addresses, and the requested URL."""
        self._rule, self._url = rule, url
        self._place = self._place_token = ""
        self._place_lock: asyncio.Lock | None = None
        self._has_place = False

    async def begin(self) -> bool:
        """See `_HostTurn.begin`."""
        is_of_host = is_of_web(self._url)  # a user's fetcher connects to another server
        host = host_of(self._url) if is_of_host else ""
        self.address = await self._rule.of_host(host) if host else ""
        return await self.take()

    async def elsewhere(self, url: str) -> bool:
        """See `SoloTurn.elsewhere`."""
        self.end()
        self.address = await _other_address(self._turns, url, self.address)
        return bool(self.address) and await self.take()

    async def _wait_for_turn(self) -> bool:
        # No key has this form: a host named by its address has another clock.
        self._place = self.address and f"@{self.address}"
        self._place_token = self._turns.clocks.new_token()
        if self._place:
            lock = self._turns.clocks.lock(self._place)
            await lock.acquire()
            self._place_lock = lock
        return await super()._wait_for_turn()

    async def _request(self, entry: TurnEntry) -> tuple[int, int, int]:
        if not self._place:
            return await super()._request(entry)
        hold_secs = self._turns.frontier.options.lease_secs + self._rule.secs
        self._has_place = True  # unknown until there is a reply
        request = self._turns.clocks.request
        host, place = await asyncio.gather(  # in one round trip
            request(entry), request(self._place_entry(hold_secs=hold_secs))
        )
        self._is_given, self._has_place = host[0] == _GIVEN, place[0] == _GIVEN
        ms = max(host[1], place[1])
        if not self._is_given or (self._has_place and host[1] > place[1] + _IDLE_MS):
            self._leave_place()  # for other requests meanwhile
            what = _WAIT if self._is_given else host[0]
            return what, host[1], host[1]
        what = _GIVEN if self._has_place else _WAIT
        return what, ms, min(host[1], place[1])

    def _place_entry(
        self, *, hold_secs: float | None = None, sent_at: float = 0.0
    ) -> TurnEntry:
        partition = crc32(self._place.encode()) % self._turns.frontier.partitions
        return TurnEntry(
            self._place_token,
            self._place,
            self._rule.secs,
            hold_secs=hold_secs,
            sent_at=sent_at,
            partition=partition,
        )

    def _leave_place(self) -> None:
        if self._has_place:
            self._has_place = False
            self._turns.clocks.report(self._place_entry())

    def _report(self) -> None:
        if self._has_place:
            self._has_place = False
            self._turns.clocks.report(self._place_entry(sent_at=self.sent_at))
        super()._report()

    def _leave(self) -> None:
        self._leave_place()
        lock, self._place_lock = self._place_lock, None
        if lock is not None:
            lock.release()
        super()._leave()


async def _other_address(turns: HostTurns, url: str, address: str) -> str:
    """Return another address of a host; empty if there is none."""
    if turns.found is None or not address:
        return ""
    for _ in range(_LOOKUPS):
        for each in await turns.found(host_of(url)):
            if each != address:
                return each
    return ""
