"""The frontier: which URI next. One object per crawl and Redis server.

All state is in Redis under the prefix of the crawl, divided into partitions; each
method takes one round trip. `lua/` has the operations and their invariants.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, cast

from redis.asyncio import Redis

from rdfcrawl.core import __version__
from rdfcrawl.core.codec import encode
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.records import Record
from rdfcrawl.core.times import now_ms
from rdfcrawl.core.visits import Visit
from rdfcrawl.frontier.arguments.parsers import GivenUp
from rdfcrawl.frontier.queue.bands import (
    EPOCHS,
    SCHEDULE,
    DomainEpochs,
    outcome_arguments,
)
from rdfcrawl.frontier.queue.candidate import KeyLocations, unpack_or_none
from rdfcrawl.frontier.queue.candidate_adder import MAX_URIS_PER_CALL, CandidateAdder
from rdfcrawl.frontier.queue.host_clocks import TurnTaker
from rdfcrawl.frontier.queue.options import FrontierOptions
from rdfcrawl.frontier.queue.queued_records import (
    OwedHosts,
    add_items,
    claim_arguments,
    release_arguments,
    stand_in,
    visit_of,
)
from rdfcrawl.frontier.queue.tables import AddressTable, FirstContents
from rdfcrawl.frontier.queue.worker_reports import WorkerDrains, WorkerReports
from rdfcrawl.frontier.redis.operations import (
    Argument,
    LuaScripts,
    delete_keys,
    millisecs,
)
from rdfcrawl.frontier.redis.server_state import (
    INCARNATION,
    MARK,
    SCHEMA,
    VERSION,
    PartitionMarks,
    ServerState,
    check_schema,
)

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.form_counts import FormCounts

# intset-encoded SETs: a bucket holds up to 2 x fill before it is split, and must stay
# below set-max-intset-entries, else its members take 56 instead of 8 bytes.
FILL_BY_INTSET_LIMIT = {4096: 1000, 512: 200}
_CLEARED_SECS = 60
_STEAL_AFTER_MS = 1000  # for so long, hosts are left to their home machine
_FAILED_BEFORE = "failed_before"  # field of the crawl's settings
_RUN_BEGAN = "run_began"  # likewise
# fields of `StateCounts`, in order, and their names in scripts
COUNTERS = {
    "queued": "q",
    "leased": "l",
    "done": "done",
    "dead": "dead",
    "known": "known",
    "seen": "seen",
    "hosts": "hosts",
    "waiting": "w",
    "unlikely": "un",
}


@dataclass(frozen=True, slots=True)
class StateCounts:
    """URIs of a crawl by state (`seen` is their sum), and its hosts."""

    queued: int = 0
    leased: int = 0
    done: int = 0
    dead: int = 0
    known: int = 0
    seen: int = 0
    hosts: int = 0
    waiting: int = 0  # for an epoch of their domain
    unlikely: int = 0  # of those done, set aside without a request

    @property
    def is_over(self) -> bool:
        """Whether no URI is queued, waiting or leased."""
        return self.queued <= 0 and self.leased <= 0 and self.waiting <= 0


class Frontier:
    """The operations of one crawl (data model: `docs/explanation/frontier.md`)."""

    def __init__(
        self,
        redis: Redis,
        scripts: LuaScripts,
        *,
        crawl_id: str,
        options: FrontierOptions,
        intset_limit: int = 512,
        state: ServerState | None = None,
    ) -> None:
        self.redis = redis
        self.state = state or ServerState("Redis")
        self.crawl_id = crawl_id
        self.options = options
        self.partitions = options.partitions
        self.reports = WorkerReports(redis, scripts, self.key, options)
        self.beat, self.report = self.reports.beat, self.reports.report
        self.live_workers, self.figures = self.reports.live, self.reports.all
        self.delays = self.reports.delays
        self.drains = WorkerDrains(redis, self.key)
        self.buried: list[Record] = []
        """URIs given up by `reap` here, until the caller takes them."""
        self.scripts = scripts
        self.fill = FILL_BY_INTSET_LIMIT.get(intset_limit, 200)
        self._prefixes: list[str] = []
        self.locations = KeyLocations(self.state)
        self.adder = CandidateAdder(redis, scripts, self.locations, options.budget)
        self.add = self.adder.add
        self.unseen = self.adder.unseen
        self.take_up = self.adder.take_up
        self.take_up_some = self.adder.take_up_some
        self.turns = TurnTaker(scripts, self.locations)
        self.epochs = DomainEpochs(redis, scripts, crawl_id)
        self.contents = FirstContents(scripts)
        self.addresses = AddressTable(redis)
        self.owed = OwedHosts(redis, scripts)
        self.marks = PartitionMarks(redis, self.state)
        self._name = secrets.token_hex(6)
        self._claims = count(1)

    def key(self, name: str) -> str:
        """Return the Redis key of an object shared by the crawl."""
        return f"rc:{{{self.crawl_id}}}:{name}"

    @cached_property
    def forms(self) -> FormCounts:
        """Counts of forms of URLs, in a crawl that wants certain statements."""
        from rdfcrawl.frontier.queue.form_counts import FormCounts  # noqa: PLC0415 (few crawls)

        return FormCounts(self.redis, self.scripts, self._prefixes, self.key)

    async def open(self) -> None:
        """Create or join the crawl.

        Raises:
            ConfigError: it has another schema, or was begun without quotas.
        """
        stored = await self._begin_or_join()
        self.partitions = int(stored[b"partitions"])
        self.fill = int(stored[b"fill"])
        self._prefixes = [f"rc:{{{self.crawl_id}/{p}}}" for p in range(self.partitions)]
        self.locations.n_partitions = self.partitions
        most_here = int(stored[b"domain_hosts"])
        self.turns.prefixes = self._prefixes
        self.contents.open(self._prefixes)
        self.addresses.prefixes = self._prefixes
        self.owed.prefixes = self._prefixes
        self.epochs.open(self._prefixes, stored, self.options.epochs)
        self.adder.open(self._prefixes, fill=self.fill, most_here=most_here)
        mark, cleared = stored[INCARNATION.encode()], self.key("cleared")
        await self.marks.write(self._prefixes, mark)
        # Checks the right to run scripts.
        await self.scripts.run("renew", [(self._prefixes[0], [1])])
        self.state.join(
            self.crawl_id, conf=self.key("conf"), cleared=cleared, mark=mark
        )

    async def _begin_or_join(self) -> dict[bytes, bytes]:
        """Return the fixed options of the crawl, stored here if it is new."""
        conf = self.key("conf")
        begun = cast("dict[bytes, bytes]", await self.redis.hgetall(conf))
        check_schema(self.crawl_id, begun)
        wanted = {
            "schema": SCHEMA,
            VERSION: __version__,
            "partitions": self.options.partitions,
            "fill": self.fill,
            # A domain with a quota is in one partition.
            "domain_hosts": 0 if self.options.epochs else self.options.domain_hosts,
            SCHEDULE: "domain" if self.options.epochs else "none",
            INCARNATION: secrets.token_hex(16),
        }
        if begun:
            # They may differ if another version began it.
            del wanted[SCHEDULE], wanted[VERSION]
        stored = begun
        # A full Redis takes no writes, but may be read.
        if missing := wanted.keys() - {name.decode() for name in begun}:
            pipe = self.redis.pipeline(transaction=True)
            for field in missing:
                pipe.hsetnx(conf, field, str(wanted[field]))
            pipe.hgetall(conf)
            check_schema(self.crawl_id, stored := (await pipe.execute())[-1])
        return stored

    async def keep_epochs(self) -> None:
        """Store the quota of this worker, for all workers from now on.

        Raises:
            ConfigError: the crawl has quotas but none is stored yet, or running workers
                have others.
        """
        given = self.epochs.given
        if given is not None:
            conf, text = self.key("conf"), encode(given).encode()
            kept = await self.redis.hget(conf, EPOCHS)
            if kept not in (None, text) and (live := await self.live_workers()):
                raise ConfigError(
                    f"argument quota={given.quota}: workers of the crawl run with"
                    " another one, or with other epochs, or died within the last 15 s:"
                    f" {', '.join(live)}"
                )
            await self.redis.hset(conf, EPOCHS, text)
        elif self.epochs.is_scheduled and self.epochs.options is None:
            raise ConfigError(
                f"argument quota: crawl {self.crawl_id} was begun with schedule=domain;"
                " give both"
            )

    async def begin_run(self) -> int:
        """Return the number of this run, which is the number of finished runs.

        Workers that begin during a run get its number.
        """
        return int(await self.redis.scard(self.key("runs")))

    async def note_begin(self, run: int) -> int:
        """Record that a worker begins a run.

        Return the time when the first one did (Unix time in ms).
        """
        conf, began_ms = self.key("conf"), now_ms()
        if await self.redis.sadd(self.key("begun"), run):
            await self.redis.hset(conf, _RUN_BEGAN, began_ms)
        return int(await self.redis.hget(conf, _RUN_BEGAN) or began_ms)

    async def has_begun(self, run: int) -> bool:
        """Return whether any worker has begun a run."""
        return bool(await self.redis.sismember(self.key("begun"), str(run)))

    async def is_new_run(self) -> bool:
        """Return whether no worker has begun this run, or no work is left."""
        run = await self.begin_run()
        if not await self.has_begun(run):
            return True
        return (await self.counts()).is_over

    async def end_run(self, run: int) -> None:
        """Record the end of a run; repeated calls have no effect."""
        if await self.redis.sadd(self.key("runs"), run):
            await self.redis.hset(
                self.key("conf"), _FAILED_BEFORE, await self.n_failed()
            )

    async def failed_before(self) -> int:
        """Return how many URIs were given up in finished runs."""
        return int(await self.redis.hget(self.key("conf"), _FAILED_BEFORE) or 0)

    async def n_failed(self) -> int:
        """Return how many URIs were given up in all runs."""
        pipe = self.redis.pipeline(transaction=False)
        for prefix in self._prefixes:
            pipe.hget(f"{prefix}:cnt", "failed")
        return sum(int(n or 0) for n in await pipe.execute())

    async def clear(self, *, is_over: bool = False) -> None:
        """Delete all keys of the crawl; its documents stay.

        Args:
            is_over: other workers are about to notice the end of the crawl: keep its
                incarnation for a while, marked as ended.
        """
        conf, cleared = self.key("conf"), self.key("cleared")
        mark = await self.redis.hget(conf, INCARNATION)
        self.state.leave()
        if mark and is_over:  # before its partitions are gone
            await self.redis.set(cleared, mark, ex=_CLEARED_SECS)
        await delete_keys(self.redis, self.crawl_id)
        if mark and is_over:
            await self.redis.set(cleared, mark, ex=_CLEARED_SECS)

    async def counts(self) -> StateCounts:
        """Return the exact counters, summed over all partitions.

        Raises:
            CrawlGone: the crawl is no longer in Redis.
        """
        pipe = self.redis.pipeline(transaction=False)
        for prefix in self._prefixes:
            pipe.hmget(f"{prefix}:cnt", *COUNTERS.values(), MARK)
        pipe.hget(self.key("conf"), INCARNATION)
        pipe.get(self.key("cleared"))
        *rows, mark, cleared = await pipe.execute()
        self.state.check(mark, cleared)
        *columns, marks = zip(*rows, strict=True)
        if mark is not None and mark != cleared:
            self.marks.check(marks)
        # `scrapy frontier check` repairs damaged counters.
        sums = (sum(int(n or 0) for n in column) for column in columns)
        return StateCounts(*(max(0, n) for n in sums))

    def new_claim(self) -> int:
        """Return the number of a new claim; only the last one can be repeated."""
        return next(self._claims)

    async def claim(
        self,
        partitions: Sequence[int],
        *,
        most_keys: int,
        most_spare: int | None = None,
        number: int | None = None,
        not_at_home: Sequence[int] = (),
    ) -> tuple[list[Visit], float | None]:
        """Lease hosts that are due.

        Safe to repeat with the same number, which returns the same leases.

        Args:
            partitions: partitions to claim from.
            most_keys: most hosts per partition.
            most_spare: of these, most hosts of crowds beyond their turns, if no other
                host is due; by default, as many.
            number: of this claim (`new_claim`), if it may be repeated.
            not_at_home: partitions of other workers, which have a second to claim.

        Returns:
            The visits, and the seconds until the next host is due, or None.
        """
        ticket: list[Argument] = ["", ""] if number is None else [self._name, number]
        most = most_keys, most_keys if most_spare is None else most_spare
        arguments = [*claim_arguments(self.options, self.delays.secs, *most), *ticket]
        elsewhere = [*arguments, _STEAL_AFTER_MS]
        calls = [
            (self._prefixes[p], elsewhere if p in not_at_home else arguments)
            for p in partitions
        ]
        replies = await self.scripts.run("claim", calls)
        visits: list[Visit] = []
        due: list[int] = []
        for partition, (next_due, *rows) in zip(
            partitions, cast("list[list[Any]]", replies), strict=True
        ):
            visits += [visit_of(partition, row, self.delays.secs) for row in rows]
            if next_due >= 0:
                due.append(next_due)
        for visit in visits if self.epochs.options else ():
            visit.is_scheduled = True
        return visits, (min(due) / 1000 if due else None)

    async def begin(self, visit: Visit, what: Literal["asked", "read"]) -> bool:
        """Record the next step with the single record of a visit, a suspect.

        The step has a cost if the worker dies in it. Return whether the lease is valid.
        """
        arguments: list[Argument] = [visit.key, visit.epoch, what]
        calls = [(self._prefixes[visit.partition], arguments)]
        return (await self.scripts.run("begin", calls))[0] == 1

    async def extend(self, visits: Sequence[Visit]) -> list[Visit]:
        """Add links of their hosts that were queued meanwhile to visits that go on.

        Safe to repeat. Return the visits that have further URIs.
        """
        most = self.options.batch
        calls = self._by_partition(
            visits, lambda x: [x.key, x.epoch, n := len(x.records), most - n]
        )
        found = zip(visits, await self._of_each("extend", calls, visits), strict=True)
        extended = [(visit, items) for visit, items in found if items]
        for visit, items in extended:
            add_items(visit, items)
        return [visit for visit, _ in extended]

    async def release(self, visits: Sequence[Visit]) -> int:
        """Unlock the hosts of finished visits, and put back returned records.

        Return the number of visits that had lost their lease.
        """
        calls = self._by_partition(visits, release_arguments)
        replies = await self.scripts.run("release", calls)
        return b"".join(cast("list[bytes]", replies)).count(b"0")

    async def ack(self, visits: Sequence[Visit]) -> int:
        """Commit visits whose children are queued and whose documents are stored.

        Return the number of lost leases, whose URIs are crawled again.
        """
        calls = self._by_partition(
            visits,
            lambda x: [
                x.key,
                x.epoch,
                len(x.failed),
                *(f"{i}o" if i in x.owed else i for i in x.failed),
                *outcome_arguments(x),
            ],
        )
        calls = [(prefix, [self.fill, *arguments]) for prefix, arguments in calls]
        replies = await self.scripts.run("ack", calls)
        return b"".join(cast("list[bytes]", replies)).count(b"0")

    async def renew(
        self, visits: Sequence[Visit], secs: float | None = None
    ) -> list[Visit]:
        """Let leases expire after `secs`, or their usual time; return the lost ones."""
        lease = millisecs(self.options.lease_secs if secs is None else secs)
        calls = self._by_partition(visits, lambda x: [f"{x.epoch}:{x.key}"])
        calls = [(prefix, [lease, *names]) for prefix, names in calls]
        marks = await self._of_each("renew", calls, visits)
        return [x for x, mark in zip(visits, marks, strict=True) if mark == ord("0")]

    async def reap(
        self, partitions: Iterable[int] | None = None
    ) -> tuple[int, int, int]:
        """Put back the batches of dead workers, in some partitions or in all.

        Returns:
            Numbers of batches, URIs put back, and URIs given up, which go to `buried`.
        """
        arguments: list[Argument] = [100, millisecs(self.delays.secs)]
        prefixes = self._prefixes
        if partitions is not None:
            prefixes = [prefixes[number] for number in partitions]
        replies = await self.scripts.run(
            "reap", [(prefix, arguments) for prefix in prefixes]
        )
        rows = cast("list[tuple[int, int, list[bytes]]]", replies)
        buried = [
            unpack_or_none(item, key.decode()) or stand_in(item)
            for _, _, dead in rows
            for key, item in zip(dead[::2], dead[1::2], strict=True)
        ]
        self.buried += buried
        return sum(row[0] for row in rows), sum(row[1] for row in rows), len(buried)

    async def retry(self, names: Iterable[GivenUp]) -> int:
        """Queue given-up URIs again; return their number. Safe to repeat."""
        n_queued = 0
        for name in names:
            calls = [(prefix, [name, MAX_URIS_PER_CALL]) for prefix in self._prefixes]
            while calls:
                replies = cast("list[int]", await self.scripts.run("retry", calls))
                n_queued += sum(replies)
                pairs = zip(calls, replies, strict=True)
                calls = [call for call, n in pairs if n == MAX_URIS_PER_CALL]
        return n_queued

    async def retry_owed(self) -> int:
        """Queue URIs given up in earlier runs; return their number."""
        n_queued = 0
        for prefix in self._prefixes:
            left = int(await self.redis.llen(f"{prefix}:failed"))
            while left > 0:
                n = min(left, MAX_URIS_PER_CALL)
                replies = await self.scripts.run("retry", [(prefix, ["owed", n])])
                n_queued += sum(cast("list[int]", replies))
                left -= n
        return n_queued

    async def _of_each(
        self,
        name: Literal["extend", "renew"],
        calls: Sequence[tuple[str, list[Argument]]],
        visits: Sequence[Visit],
    ) -> list[Any]:
        """Run an operation; return its result for each visit."""
        replies = cast("list[Iterable[Any]]", await self.scripts.run(name, calls))
        rows = {call[0]: iter(row) for call, row in zip(calls, replies, strict=True)}
        return [next(rows[self._prefixes[x.partition]]) for x in visits]

    def _by_partition(
        self, visits: Iterable[Visit], arguments_of: Callable[[Visit], list[Argument]]
    ) -> list[tuple[str, list[Argument]]]:
        calls: dict[int, list[Argument]] = {}
        for visit in visits:
            calls.setdefault(visit.partition, []).extend(arguments_of(visit))
        return [(self._prefixes[p], arguments) for p, arguments in calls.items()]

    async def leave(self, worker: str) -> None:
        """Remove an ending worker from the live ones; its figures stay."""
        await self.reports.leave(worker)
        await self.drains.forget(worker)
