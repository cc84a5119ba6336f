"""Check the invariants of a frontier, with or without running workers.

Each check of hosts, leases and counters is one script, so that changes under way are
not reported. Larger checks compare with the state before and after, and report only
errors in both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
)
from itertools import chain
from typing import Any, Final, NamedTuple

from rdfcrawl.core.batches import in_batches
from rdfcrawl.frontier.queue.candidate import away_partition, bucket_of
from rdfcrawl.monitor.operating.crawl import FrontierView
from rdfcrawl.monitor.operating.damages import OF_KEYS, DamageKind, FrontierDamage
from rdfcrawl.monitor.operating.key_names import CrawlKeys, PartitionKeys, read_keys
from rdfcrawl.uri import partition_of, registered_domain

MAX_ADDED_UP: Final = 10_000
"""Hosts with work, leases, buckets and URIs that one script examines while workers
run: 4 to 10 us each, for which all other clients wait."""
_BUDGETS_IN_BATCH: Final = 500  # hosts in one script
_OF_DOMAIN: Final = b" o"
_BATCH_SIZE: Final = 50  # hosts in one script
_PAGE: Final = 1000


async def pages_of(
    scan: Callable[..., Awaitable[Any]], name: str, *, match: str | None = None
) -> AsyncIterator[Any]:
    """Yield the content of a key, page by page, as `scan` of the client returns it."""
    cursor = 0
    while True:
        cursor, rows = await scan(name, cursor, match=match, count=_PAGE)
        yield rows
        if not cursor:
            return


class Charged(NamedTuple):
    """A host or, with the bucket of its count, a registered domain."""

    name: str
    bucket: str = ""


class BudgetCheck:
    """The checks of one crawl."""

    def __init__(self, crawl: FrontierView, *, has_workers: bool) -> None:
        self._crawl = crawl
        self._has_workers = has_workers

    async def over_budgets(
        self, number: int, names: PartitionKeys
    ) -> list[FrontierDamage] | None:
        """Return hosts and domains with a wrong count of URIs over a budget.

        None if there are too many to examine while workers run.
        """
        crawl, prefix = self._crawl, self._crawl.prefixes[number]
        found = await self._found_over(number)
        counted = await self._counted_over(number, names, found)
        doubtful = [x for x in {*found, *counted} if found[x] != counted[x]]
        if not doubtful:
            return []
        n_over = await crawl.redis.hlen(f"{prefix}:over")
        if self._has_workers and n_over > MAX_ADDED_UP:
            return None
        damages = []
        for charged in doubtful:  # a second time, in one script
            n, says = await crawl.run("inspect", number, "over", *charged)
            if n != says:
                kinds = DamageKind.OVER_OF_HOST, DamageKind.OVER_OF_DOMAIN
                kind, name = kinds[bool(charged.bucket)], charged.name
                damages.append(FrontierDamage(kind, number, name, str(says), str(n)))
        return damages

    async def _found_over(self, number: int) -> Counter[Charged]:
        found: Counter[Charged] = Counter()
        name = f"{self._crawl.prefixes[number]}:over"
        async for page in pages_of(self._crawl.redis.hscan, name):
            for field, item in page.items():
                key = field.rpartition(b" ")[0].decode(errors="replace")
                domain = registered_domain(key)
                if item.startswith(b"d"):
                    found[Charged(domain, str(bucket_of(domain)))] += 1
                else:
                    found[Charged(key)] += 1
        return found

    async def _counted_over(
        self, number: int, names: PartitionKeys, found: Iterable[Charged]
    ) -> Counter[Charged]:
        prefix, redis = self._crawl.prefixes[number], self._crawl.redis
        hosts = names.hosts | {each.name for each in found if not each.bucket}
        counted: Counter[Charged] = Counter()
        for some in in_batches(hosts, _BUDGETS_IN_BATCH):
            pipe = redis.pipeline(transaction=False)
            for key in some:
                pipe.hget(f"{prefix}:h:{key}", "o")
            for key, n in zip(some, await pipe.execute(), strict=True):
                if n:
                    counted[Charged(key)] = int(n)
        for bucket in names.counts:
            async for page in pages_of(redis.hscan, f"{prefix}:d:{bucket}"):
                for field, n in page.items():
                    if field.endswith(_OF_DOMAIN):
                        domain = field.removesuffix(_OF_DOMAIN).decode(errors="replace")
                        counted[Charged(domain, bucket)] = int(n)
        return counted

    async def quotas(
        self, number: int, names: PartitionKeys
    ) -> list[FrontierDamage] | None:
        """Return domains with a wrong count of granted URIs, or over their quota.

        None if there are too many to examine while workers run.
        """
        crawl = self._crawl
        if not crawl.frontier.epochs.is_scheduled:
            return []
        size = await crawl.run("inspect", number, "size")
        queued = await crawl.redis.hget(f"{crawl.prefixes[number]}:cnt", "q")
        if self._has_workers and size + int(queued or 0) > MAX_ADDED_UP:
            return None
        rows: Any = await crawl.run("inspect", number, "grants", *names.quotas)
        damages = []
        for i in range(0, len(rows), 4):
            name, n, says, n_over = rows[i : i + 4]
            kinds = {
                DamageKind.GRANTED: (n != says, str(says), str(n)),
                DamageKind.OVER_QUOTA: (n_over > 0, str(n_over), ""),
            }
            damages += [
                FrontierDamage(kind, number, name.decode(), found, expected)
                for kind, (is_wrong, found, expected) in kinds.items()
                if is_wrong
            ]
        return damages


class FrontierCheck:
    """One check of all data of a crawl in Redis.

    Attributes:
        damages: violated invariants.
        not_compared: partitions that are too large for a check of their counters while
            workers run.
        n_hosts: checked hosts.
    """

    def __init__(self, crawl: FrontierView) -> None:
        self._crawl = crawl
        self.damages: list[FrontierDamage] = []
        self.not_compared: list[int] = []
        self.n_hosts = 0
        self._has_workers = True

    async def run(self) -> list[FrontierDamage]:
        """Check everything; return the damage."""
        crawl = self._crawl
        self._has_workers = bool(await crawl.frontier.live_workers())
        before = await self._hosts_counted()
        keys = await read_keys(crawl)
        after = await self._hosts_counted()
        for name in keys.unknown:
            self._note(DamageKind.UNKNOWN_KEY, -1, name)
        for number, names in enumerate(keys.partitions):
            self.n_hosts += len(names.hosts)
            await self._check_keys(number, names)
            await self._check_leases(number, names)
            await self._check_crowds(number, names)
            await self._check_waiting(number, names.domains)
            await self._check_counters(number, names)
            await self._check_budgets(number, names)
            n, low, high = len(names.hosts), before[number], after[number]
            if not low <= n <= high:
                self._note(DamageKind.HOSTS_COUNTER, number, "hosts", str(high), str(n))
        await self._check_places(keys)
        await self._check_domains(keys)
        return self.damages

    def _note(
        self,
        kind: DamageKind,
        partition: int,
        name: str,
        found: str = "",
        expected: str = "",
    ) -> None:
        self.damages.append(FrontierDamage(kind, partition, name, found, expected))

    async def _hosts_counted(self) -> list[int]:
        pipe = self._crawl.redis.pipeline(transaction=False)
        for prefix in self._crawl.prefixes:
            pipe.hget(f"{prefix}:cnt", "hosts")
        return [int(n or 0) for n in await pipe.execute()]

    async def _check_keys(self, number: int, names: PartitionKeys) -> None:
        listed = await self._listed(number, names)
        looked: set[str] = set()
        for some in in_batches(chain(names.hosts, names.others, listed), _BATCH_SIZE):
            fresh = [key for key in dict.fromkeys(some) if key not in looked]
            looked.update(key for key in fresh if key not in names.hosts)
            rows = await self._crawl.run("inspect", number, "keys", *fresh)
            for key, faults, length in _triples(rows):
                for letter in faults.decode():
                    found = str(length)
                    self._note(OF_KEYS[letter], number, key.decode(), found)

    async def _listed(self, number: int, names: PartitionKeys) -> set[str]:
        """Return keys that wait, refuse or are paused, and have no state."""
        prefix, redis = self._crawl.prefixes[number], self._crawl.redis
        found: set[str] = set()

        def take(members: Iterable[bytes]) -> None:
            keys = {each.decode(errors="replace") for each in members}
            found.update(x for x in keys - names.hosts if not x.startswith("@"))

        for name in ("ready", "down", *(f"w:{crowd}" for crowd in names.crowds)):
            async for page in pages_of(redis.zscan, f"{prefix}:{name}"):
                take(member for member, _ in page)
        async for page in pages_of(redis.sscan, f"{prefix}:paused"):
            take(page)
        return found

    async def _check_leases(self, number: int, names: PartitionKeys) -> None:
        run = self._crawl.run
        for member in await run("inspect", number, "leases"):
            self._note(
                DamageKind.LEASE_WITHOUT_BATCH, number, member.decode(errors="replace")
            )
        for some in in_batches(names.flights, _BATCH_SIZE):
            words = [word for pair in some for word in pair]
            lost = await run("inspect", number, "flights", *words)
            for key, epoch in zip(lost[::2], lost[1::2], strict=True):
                self._note(
                    DamageKind.BATCH_WITHOUT_LEASE, number, key.decode(), epoch.decode()
                )

    async def _check_crowds(self, number: int, names: PartitionKeys) -> None:
        prefix, redis = self._crawl.prefixes[number], self._crawl.redis
        crowds = set(names.crowds)
        async for page in pages_of(redis.zscan, f"{prefix}:ready", match="@*"):
            crowds.update(member.decode()[1:] for member, _ in page)
        for some in in_batches(crowds, _BATCH_SIZE):
            for crowd in await self._crawl.run("inspect", number, "crowds", *some):
                self._note(DamageKind.CROWD_PLACE, number, crowd.decode())
        for crowd in crowds:
            async for page in pages_of(redis.zscan, f"{prefix}:w:{crowd}"):
                for some in in_batches((key for key, _ in page), _BATCH_SIZE):
                    rows = await self._crawl.run(
                        "inspect", number, "members", crowd, *some
                    )
                    for key in rows:
                        self._note(DamageKind.WRONG_CROWD, number, key.decode(), crowd)

    async def _check_waiting(self, number: int, domains: Collection[str]) -> None:
        """Check URIs that wait for epochs, each looked up by name."""
        prefix, redis = self._crawl.prefixes[number], self._crawl.redis
        for domain in domains:
            items, by = (
                f"{prefix}:ew:{domain}",
                [f"{prefix}:e{x}:{domain}" for x in "sd"],
            )
            n_lost = n_left = 0
            async for page in pages_of(redis.hscan, items):
                n_lost += await self._count(number, "lost", domain, page)
            for name in by:
                async for page in pages_of(redis.zscan, name):
                    members = [member for member, _ in page]
                    n_left += await self._count(number, "left", domain, members)
            if n_lost:
                self._note(DamageKind.WAITS_BY_NO_SOURCE, number, domain, str(n_lost))
            if n_left:
                self._note(DamageKind.SOURCE_WITHOUT_URI, number, domain, str(n_left))

    async def _count(
        self, number: int, what: str, domain: str, names: Iterable[bytes]
    ) -> int:
        n = 0
        for some in in_batches(names, 10 * _BATCH_SIZE):
            answer = await self._crawl.run("inspect", number, what, domain, *some)
            n += answer[0]
        return n

    async def _check_counters(self, number: int, names: PartitionKeys) -> None:
        rows = await read_totals(
            self._crawl, number, names.domains, has_workers=self._has_workers
        )
        if rows is None:
            self.not_compared.append(number)
            return
        for name, value, expected in rows:
            if value != expected:
                self._note(DamageKind.COUNTER, number, name, str(value), str(expected))

    async def _check_budgets(self, number: int, names: PartitionKeys) -> None:
        check = BudgetCheck(self._crawl, has_workers=self._has_workers)
        for damages in (
            await check.over_budgets(number, names),
            await check.quotas(number, names),
        ):
            if damages is not None:
                self.damages += damages
            elif number not in self.not_compared:
                self.not_compared.append(number)

    async def _check_places(self, keys: CrawlKeys) -> None:
        """Find hosts in wrong partitions."""
        n = len(keys.partitions)
        for number, names in enumerate(keys.partitions):
            for key in names.hosts:
                home = partition_of(key, n)
                if number == home:
                    continue
                at_home = await self._crawl.run("host", home, key, 0)
                is_away, has_state = at_home[8] == 1, bool(at_home[1])
                place = away_partition(key, n) if is_away else home
                if has_state:
                    stray, other = (home, number) if is_away else (number, home)
                    self._note(DamageKind.TWO_PARTITIONS, stray, key, str(other))
                elif number != place:
                    self._note(DamageKind.WRONG_PARTITION, number, key, str(place))

    async def _check_domains(self, keys: CrawlKeys) -> None:
        """Find domains that count too few hosts.

        They may count too many for a while: a worker that counts a host may die before
        it adds the host.
        """
        n = len(keys.partitions)
        hosts: Counter[str] = Counter()
        for number, names in enumerate(keys.partitions):
            for key in names.hosts:
                domain = registered_domain(key)
                if key not in (domain, f"www.{domain}") and number in (
                    partition_of(key, n),
                    away_partition(key, n),
                ):
                    hosts[domain] += 1
        for some in in_batches(hosts, _PAGE):
            pipe = self._crawl.redis.pipeline(transaction=False)
            for domain in some:
                prefix = self._crawl.prefixes[partition_of(domain, n)]
                pipe.hget(f"{prefix}:d:{bucket_of(domain)}", domain)
            for domain, counted in zip(some, await pipe.execute(), strict=True):
                if int(counted or 0) < hosts[domain]:
                    self._note(
                        DamageKind.DOMAIN_COUNT,
                        partition_of(domain, n),
                        domain,
                        str(int(counted or 0)),
                        str(hosts[domain]),
                    )


async def read_totals(
    crawl: FrontierView, number: int, domains: Collection[str], *, has_workers: bool
) -> list[tuple[str, int, int]] | None:
    """Return counters of a partition with their correct values, at one moment.

    None if it is too large to be added up in one script while workers run.
    """
    size = await crawl.run("inspect", number, "size")
    if has_workers and size > MAX_ADDED_UP:
        return None
    words = total_words(crawl, domains, has_workers=has_workers)
    rows = await crawl.run("inspect", number, "totals", *words)
    return [(name.decode(), n, must) for name, n, must in _triples(rows)]


def total_words(
    crawl: FrontierView, domains: Collection[str], *, has_workers: bool
) -> list[str]:
    """Return the arguments of `totals` about URIs that wait for epochs.

    While workers run, the set of such domains may have changed since it was listed.
    """
    is_exact = not (has_workers and crawl.frontier.epochs.is_scheduled)
    return ["1" if is_exact else "0", *domains]


def _triples(rows: Any) -> Iterator[tuple[Any, Any, Any]]:
    return zip(rows[::3], rows[1::3], rows[2::3], strict=True)
