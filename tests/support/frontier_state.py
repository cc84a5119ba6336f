"""All keys of a frontier in Redis, read one by one, and their invariants."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha1
from typing import TYPE_CHECKING, cast

from rdfcrawl.core.records import NO_BUDGET, CrawlBudget, Record
from rdfcrawl.frontier.queue.candidate import (
    STORED,
    away_partition,
    stored_items,
    unpack,
)
from rdfcrawl.frontier.worker.link_ingest import LINK_BAND, LinkIngest
from rdfcrawl.monitor.operating.checking import FrontierCheck
from rdfcrawl.monitor.operating.crawl import FrontierView
from rdfcrawl.monitor.operating.uris import DEFERRED
from rdfcrawl.uri import NormalForm, PolitenessKey, partition_of, registered_domain
from rdfcrawl.uri.link_filter import CrawlExtent, CrawlScope, LinkFilter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from redis.asyncio import Redis

    from rdfcrawl.frontier.queue.candidate import Candidate
    from rdfcrawl.frontier.queue.frontier_client import Frontier


_GRANT = re.compile(rb"\0\x05\d+:[sdf]\d+$")  # see `lua/schedule.lua`


def scope_of(extent: CrawlExtent, seeds: Iterable[str]) -> CrawlScope:
    """Return the scope around these seeds, which are requestable URLs."""
    scope = CrawlScope(extent)
    return CrawlScope(extent, frozenset(map(scope.entry, seeds)) - {""})


def new_ingest(frontier: Frontier, **changes: int) -> LinkIngest:
    """Return an ingest that takes every link of every scope."""
    return LinkIngest(
        keys=PolitenessKey(),
        normal_form=NormalForm(),
        link_filter=LinkFilter(CrawlScope()),
        partitions=frontier.partitions,
        max_depth=changes.get("max_depth", 255),
    )


def candidates(frontier: Frontier, urls: Iterable[str]) -> list[Candidate]:
    """Return the candidates of links that are requestable URLs."""
    ingest = new_ingest(frontier)
    return [ingest.candidate(Record(url), LINK_BAND) for url in urls]


@dataclass(slots=True)
class PartitionState:
    """Content of one partition, each key by its Redis type.

    Attributes:
        queues: (key, band) -> items.
        flights: (key, epoch) -> items; acknowledged ones are empty.
        leases: (key, epoch) -> expiry in ms.
        buckets: name -> (encoding, fingerprints).
        over: key and fingerprint of each URI over a budget, and its item.
        crowds: by name, the keys that wait in them.
        domains: registered domain -> its keys; `<domain> a`, `<domain> o`.
        epochs: by registered domain, the state of its epoch.
        waiting: by registered domain, name and item of URLs that wait for an epoch.
        waiting_by: (s or d, registered domain) -> names that wait by it.
        paused: keys that an operator has paused.
    """

    counters: Counter[str] = field(default_factory=Counter)
    hosts: dict[str, dict[str, str]] = field(default_factory=dict)
    queues: dict[tuple[str, int], list[bytes]] = field(default_factory=dict)
    flights: dict[tuple[str, int], list[bytes]] = field(default_factory=dict)
    ready: dict[str, float] = field(default_factory=dict)
    leases: dict[tuple[str, int], float] = field(default_factory=dict)
    buckets: dict[int, tuple[str, set[int]]] = field(default_factory=dict)
    dead: list[tuple[str, bytes]] = field(default_factory=list)
    down: dict[str, float] = field(default_factory=dict)
    over: dict[str, str] = field(default_factory=dict)
    crowds: dict[str, dict[str, float]] = field(default_factory=dict)
    domains: dict[str, int] = field(default_factory=dict)
    epochs: dict[str, dict[str, str]] = field(default_factory=dict)
    waiting: dict[str, dict[str, str]] = field(default_factory=dict)
    waiting_by: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    paused: set[str] = field(default_factory=set)

    def queued_urls(self) -> list[str]:
        """Return the URLs in the queues; those of one host in their order."""
        return [
            unpack(item, key).url
            for (key, _), items in sorted(self.queues.items())
            for item in items
        ]

    def leased_urls(self) -> list[str]:
        """Return the URLs in flight."""
        return [
            unpack(item, key).url
            for (key, _), items in self.flights.items()
            for item in items
            if item
        ]

    def waiting_urls(self) -> list[str]:
        """Return the URLs that wait for an epoch."""
        return [
            unpack(item[1:].encode("latin-1"), key).url
            for items in self.waiting.values()
            for key, _, item in (text.partition("\0") for text in items.values())
        ]

    def dead_urls(self) -> list[str]:
        """Return the URLs that were given up."""
        return [unpack(item, key).url for key, item in self.dead]

    def fingerprints(self) -> set[int]:
        """Return the seen-set."""
        return {mark for _, marks in self.buckets.values() for mark in marks}


async def read_partition(redis: Redis, prefix: str) -> PartitionState:
    """Return the content of a partition; every key under its prefix must be known.

    Raises:
        AssertionError: a key has a name that the data model does not have.
    """
    state = PartitionState()
    async for raw in redis.scan_iter(match=f"{prefix}:*", count=1000):
        name = raw.decode()
        kind, _, rest = name.removeprefix(f"{prefix}:").partition(":")
        await _read_key(redis, state, name, kind, rest)
    for key, host in state.hosts.items():
        values = [host.get(name, "").encode("latin-1") for name in STORED]
        for band, item in reversed(stored_items(values)):
            state.queues.setdefault((key, band), []).insert(0, item)
    return state


async def _read_key(
    redis: Redis, state: PartitionState, name: str, kind: str, rest: str
) -> None:
    head, _, tail = rest.rpartition(":")
    given_up = ("failed", "unlikely")
    if kind in (*given_up, "claim", "t", "ip", "epochs", "eo", "el", "eu", "forms"):
        # URLs for `retry`, the last claim of a worker, clocks, addresses; epochs to be
        # checked, results of their URLs, of those before, and unlogged ones; counts of
        # forms of URLs.
        return
    if kind in ("cnt", "d", "h", "over"):
        _take_hash(state, kind, rest, await _hash(redis, name))
    elif kind in ("q", "i", "later"):
        lists = state.flights if kind == "i" else state.queues
        place = (rest, DEFERRED) if kind == "later" else (head, int(tail))
        lists[place] = await _list(redis, name)
    elif kind in ("ready", "down"):
        setattr(state, kind, await sorted_set(redis, name))
    elif kind in ("e", "ew", "es", "ed"):
        await _read_epochs(redis, state, name, kind, rest)
    elif kind == "w":
        state.crowds[rest] = await sorted_set(redis, name)
    elif kind == "lease":
        for member, score in (await sorted_set(redis, name)).items():
            epoch, _, key = member.partition(":")
            state.leases[key, int(epoch)] = score
    elif kind in ("paused", "s"):
        await _read_set(redis, state, name, rest)
    else:
        assert kind == "dead", f"no such key in the data model: {name}"
        entries = [entry.partition(b"\0") for entry in await _list(redis, name)]
        state.dead = [(key.decode(), item) for key, _, item in entries]


async def _read_set(
    redis: Redis, state: PartitionState, name: str, bucket: str
) -> None:
    members = cast("set[bytes]", await redis.smembers(name))
    if bucket:
        encoding = cast("bytes", await redis.object("encoding", name)).decode()
        state.buckets[int(bucket)] = encoding, {int(mark) for mark in members}
    else:
        state.paused = {raw.decode() for raw in members}


async def _read_epochs(
    redis: Redis, state: PartitionState, name: str, kind: str, domain: str
) -> None:
    if kind == "e":
        found = await redis.hgetall(name)
        pairs = cast("dict[bytes, bytes]", found).items()
        state.epochs[domain] = {n.decode(): value.decode() for n, value in pairs}
    elif kind == "ew":
        state.waiting[domain] = await _hash(redis, name)
    else:
        state.waiting_by[kind[1], domain] = set(await sorted_set(redis, name))


def _take_hash(
    state: PartitionState, kind: str, rest: str, found: dict[str, str]
) -> None:
    if kind == "h":
        state.hosts[rest] = found
    elif kind == "over":
        state.over = found
    else:
        numbers = {name: int(value) for name, value in found.items()}
        (state.counters if kind == "cnt" else state.domains).update(numbers)


async def _hash(redis: Redis, name: str) -> dict[str, str]:
    raw = cast("dict[bytes, bytes]", await redis.hgetall(name))
    return {field.decode(): value.decode("latin-1") for field, value in raw.items()}


async def _list(redis: Redis, name: str) -> list[bytes]:
    is_sorted = await redis.type(name) == b"zset"
    read = redis.zrange if is_sorted else redis.lrange
    return cast("list[bytes]", await read(name, 0, -1))


async def sorted_set(redis: Redis, name: str) -> dict[str, float]:
    """Return the members of a sorted set by their scores."""
    raw = await redis.zrange(name, 0, -1, withscores=True)
    pairs = cast("list[tuple[bytes, float]]", raw)
    return {member.decode(): score for member, score in pairs}


def check_partition(state: PartitionState, *, budget: CrawlBudget = NO_BUDGET) -> None:
    """Check every invariant of the data model that is of one partition.

    Raises:
        AssertionError: one does not hold.
    """
    _check_counters(state)
    _check_hosts(state, budget.of_host)
    _check_crowds(state)
    _check_leases(state)
    _check_seen(state)
    _check_epochs(state)
    places = Counter(
        state.queued_urls()
        + state.leased_urls()
        + state.dead_urls()
        + state.waiting_urls()
    )
    assert all(n == 1 for n in places.values()), f"in two places: {places}"


def _check_counters(state: PartitionState) -> None:
    c = state.counters
    assert c["seen"] == sum(c[x] for x in ("q", "l", "w", "done", "dead", "known"))
    assert c["q"] == sum(map(len, state.queues.values()))
    assert c["q"] == sum(int(h["n"]) for h in state.hosts.values())
    assert c["l"] == len(state.leased_urls())
    assert c["dead"] == len(state.dead)
    assert c["hosts"] == len(state.hosts)
    assert all(c[name] >= 0 for name in ("q", "l", "w", "done", "dead", "known"))


def _check_epochs(state: PartitionState) -> None:
    assert state.counters["w"] == sum(map(len, state.waiting.values()))
    for domain, items in state.waiting.items():
        by = [state.waiting_by.get((source, domain), set()) for source in "sd"]
        assert by[0] | by[1] == items.keys(), f"{domain}: waits by no source"
    for source, domain in state.waiting_by:
        assert domain in state.waiting, (
            f"{domain}: {source} lists a domain without waiting URLs"
        )
    granted: Counter[str] = Counter()
    for (key, _), queued in [*state.queues.items(), *state.flights.items()]:
        n = sum(_GRANT.search(item) is not None for item in queued)
        if n:
            granted[key[-int(state.hosts[key]["e"]) :]] += n
    for domain, epoch in state.epochs.items():
        assert int(epoch.get("o", 0)) == granted[domain], f"{domain}: o"
        n = sum(int(epoch.get(name, 0)) for name in ("c", "gs", "gd", "gf"))
        assert n <= int(epoch.get("q", 0)), f"{domain}: over its quota"
    assert granted.keys() <= state.epochs.keys()


def _check_hosts(state: PartitionState, budget: int) -> None:
    ready = set(_waiting(state))
    assert ready <= set(state.hosts)
    assert {key for key, _ in state.queues} <= set(state.hosts)
    for key, host in state.hosts.items():
        n = sum(len(state.queues.get((key, band), ())) for band in range(DEFERRED + 1))
        assert int(host["n"]) == n, f"{key}: n"
        may_go = n > 0 and "lk" not in host
        assert (key in ready) == may_go, f"{key}: ready"
        assert key not in state.down or may_go or "lk" in host, f"{key}: down"
        n_counted = int(host["a"]) - int(host.get("x", 0))
        assert 0 <= n_counted <= (budget or n_counted), f"{key}: budget"
        n_over = sum(
            name.startswith(f"{key} ") and not item.startswith("d")
            for name, item in state.over.items()
        )
        assert int(host.get("o", 0)) == n_over, f"{key}: o"


def _waiting(state: PartitionState) -> list[str]:
    """Return the keys that wait to be claimed, in crowds or on their own."""
    alone = [key for key in state.ready if not key.startswith("@")]
    return alone + [key for crowd in state.crowds.values() for key in crowd]


def _check_crowds(state: PartitionState) -> None:
    places = {key for key in state.ready if key.startswith("@")}
    assert places == {f"@{name}" for name in state.crowds}
    n_waiting = sum(map(len, state.crowds.values()))
    assert state.counters["cw"] == n_waiting - len(places)
    for name, crowd in state.crowds.items():
        for key in crowd:
            is_of_domain = state.hosts[key]["g"] == str(len(name))
            assert (is_of_domain and key.endswith(name)) or state.hosts[key][
                "g"
            ] == name


def _check_domains(states: list[PartitionState], budget: CrawlBudget) -> None:
    """Compare the counters of a registered domain's partition with all its keys."""
    keys: dict[str, set[str]] = {}
    accepted: Counter[str] = Counter()
    over: Counter[str] = Counter()
    for key, host, number in _placed(states):
        domain = registered_domain(key)
        accepted[domain] += int(host["a"])
        home = partition_of(key, len(states))
        if number != home:
            assert number == away_partition(key, len(states)), f"{key}: astray"
            assert is_away(states[home], key), f"{key}: no mark"
            assert host["g"] == str(len(domain)), f"{key}: away, and not in a crowd"
        if key not in (domain, f"www.{domain}"):
            keys.setdefault(domain, set()).add(key)
    for state in states:
        for name, item in state.over.items():
            key = name.split()[0]
            domain = registered_domain(key)
            over[domain] += item.startswith("d")
            if is_away(state, key):  # and all of it was refused
                keys.setdefault(domain, set()).add(key)
    for domain in {*keys, *over}:
        counted = states[partition_of(domain, len(states))].domains
        n = len(keys.get(domain, ()))
        assert counted.get(domain, 0) == n, domain
        assert counted.get(f"{domain} o", 0) == over[domain], domain
        assert n <= (budget.hosts or n), domain
        if budget.of_domain:
            assert counted.get(f"{domain} a", 0) == accepted[domain], domain
            assert accepted[domain] <= budget.of_domain, domain


def _placed(
    states: list[PartitionState],
) -> Iterator[tuple[str, dict[str, str], int]]:
    """Yield each key, its state and the number of its one partition."""
    found: set[str] = set()
    for number, state in enumerate(states):
        for key, host in state.hosts.items():
            assert key not in found, f"{key}: in two partitions"
            found.add(key)
            yield key, host, number


def is_away(state: PartitionState, key: str) -> bool:
    """Return whether the partition of a key's domain is marked as away."""
    digest = sha1(f"away {key}".encode()).hexdigest()  # see `lua/seen.lua`
    return int(digest[:13], 16) in state.fingerprints()


def _check_leases(state: PartitionState) -> None:
    assert set(state.leases) == set(state.flights), "a lease is a batch in flight"
    for key, host in state.hosts.items():
        last = int(host.get("ep", 0))
        assert all(e <= last for k, e in state.leases if k == key), f"{key}: epoch"
        assert ("p" in host) == (key in state.paused), f"{key}: paused"
        if host.get("lk") == "paused":
            assert key in state.paused, f"{key}: locked for ever"
        elif "lk" in host:
            assert (key, int(host["lk"])) in state.leases, f"{key}: locked for ever"
        else:
            assert key not in state.paused, f"{key}: paused and not locked"


def _check_seen(state: PartitionState) -> None:
    n_members = state.counters["seen"] + state.counters["mk"]
    assert n_members == sum(len(m) for _, m in state.buckets.values())
    assert n_members == len(state.fingerprints())
    encodings = {encoding for encoding, _ in state.buckets.values()}
    assert encodings <= {"intset"}, encodings


async def check_frontier(
    frontier: Frontier, *, is_twice: bool = True
) -> list[PartitionState]:
    """Check every partition of a frontier, and that `counts` gives their sum.

    All is read key by key here, and `is_twice`, as `scrapy frontier check` does.

    Raises:
        AssertionError: an invariant does not hold.
    """
    redis, budget = frontier.redis, frontier.options.budget
    states = [await read_partition(redis, p) for p in frontier._prefixes]
    for state in states:
        check_partition(state, budget=budget)
    _check_domains(states, budget)
    total: Counter[str] = Counter()
    for state in states:
        total.update(state.counters)
    counts = await frontier.counts()
    assert counts.queued == total["q"]
    assert counts.leased == total["l"]
    assert counts.waiting == total["w"]
    assert counts.seen == total["seen"]
    assert counts.hosts == total["hosts"]
    damages = await FrontierCheck(FrontierView(frontier)).run() if is_twice else []
    assert not damages, [each.line() for each in damages]
    return states


async def expire_leases(
    frontier: Frontier, only: Iterable[tuple[int, str]] = ()
) -> None:
    """Age leases until they have run out.

    Args:
        frontier: whose leases.
        only: (epoch, key) of those meant; by default all.
    """
    wanted = {f"{epoch}:{key}" for epoch, key in only}
    for prefix in frontier._prefixes:
        name = f"{prefix}:lease"
        for member in await sorted_set(frontier.redis, name):
            if not wanted or member in wanted:
                await frontier.redis.zadd(name, {member: 1})
