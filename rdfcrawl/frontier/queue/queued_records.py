"""Records of the frontier: visits from replies, and Scrapy requests."""

from __future__ import annotations

import json
import math
import secrets
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from scrapy import Request, Spider
from scrapy.http.request import NO_CALLBACK

from rdfcrawl.core.errors import Fault, Reason, SourceFault
from rdfcrawl.core.records import Document, Kind, Record, refused
from rdfcrawl.core.tasks import RequestTask
from rdfcrawl.core.visits import UrlDeferral, Visit
from rdfcrawl.frontier.queue.candidate import (
    Candidate,
    bucket_of,
    pack,
    parent_of,
    unpack,
    unpack_or_none,
)
from rdfcrawl.frontier.redis.operations import Argument, LuaScripts, millisecs
from rdfcrawl.uri import requestable

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from rdfcrawl.frontier.queue.options import FrontierOptions


_HEAD = 9  # fields of a row before its items
_OWED: Final = b"\1"  # prefix of given-up URIs that the next run requests
_MAX_READ: Final = 1000  # of these at once
_MAX_SHOWN = 100  # bytes of a payload in the detail of its fault

MAX_DEPTH = 255


def claim_arguments(
    options: FrontierOptions, delay_secs: float, most_keys: int, most_spare: int
) -> list[Argument]:
    """Return the first arguments of `lua/claim.lua`."""
    return [
        most_keys,
        options.batch,
        millisecs(options.lease_secs),
        millisecs(delay_secs),
        millisecs(options.window_secs),
        most_spare,
    ]


def visit_of(partition: int, row: Sequence[Any], least_delay_secs: float) -> Visit:
    """Return the visit of one key; `row` is described in `lua/claim.lua`."""
    least_delay_secs = max(least_delay_secs, row[7] / 1000)  # set by an operator
    delay_secs = max(row[2] / 1000, least_delay_secs)
    visit = Visit(
        key=row[0].decode(),
        partition=partition,
        epoch=row[1],
        records=(),
        delay_secs=delay_secs,
        least_delay_secs=least_delay_secs,
        floor_secs=least_delay_secs,
        claimed_delay_secs=delay_secs,
        failures=row[3],
        down_secs=row[4] / 1000,
        suspected=row[5].decode("latin-1"),
        has_answered=row[8] == 1,
        is_of_crowd=row[6] == 1,
    )
    add_items(visit, row[_HEAD:])
    return visit


def add_items(visit: Visit, items: Sequence[bytes]) -> None:
    """Add URIs of the frontier to a visit, to be requested.

    A document with a fault reports each unreadable one.
    """
    key, start = visit.key, len(visit.records)
    visit.n_done = start
    try:
        records = [unpack(item, key) for item in items]
    except (ValueError, LookupError, SourceFault):
        records = []
        for index, item in enumerate(items, start):
            record = unpack_or_none(item, key)
            if record is None:
                record = stand_in(item)
                visit.unreadable[index] = item
                visit.documents.append(_fault(record, key, item))
            records.append(record)
    visit.records += tuple(records)
    numbers = range(start, start + len(records))
    visit.pending += [i for i in numbers if i not in visit.unreadable]


def stand_in(item: bytes) -> Record:
    """Return the record that stands for an unreadable payload."""
    digest = blake2b(item, digest_size=8).hexdigest()
    return Record(f"urn:rdfcrawl:unreadable:{digest}", depth=1)


def release_arguments(visit: Visit) -> list[Argument]:
    """Return the arguments of `lua/release.lua` for a visit."""
    delay: Argument = ""
    if visit.delay_secs != visit.claimed_delay_secs:
        is_own_delay = visit.delay_secs > visit.least_delay_secs
        delay = millisecs(visit.delay_secs) if is_own_delay else 0
    arguments: list[Argument] = [
        visit.key,
        visit.epoch,
        millisecs(visit.rest_secs),
        _refusal(visit),
        delay,
        visit.address,
        bucket_of(visit.address) if visit.address else "",
        len(visit.returned),
    ]
    for index in sorted(visit.returned):
        item = visit.unreadable.get(index)
        place: Argument = index
        deferral = visit.deferred.get(index)
        if index in visit.unlikely:
            place = f"{index}x"
        elif index in visit.behind or index in visit.unrequested or deferral:
            place = f"{index}{'b' * (index in visit.behind)}"
            place += "u" * (index in visit.unrequested)
            place += f"d{_wait_ms(deferral)}" if deferral else ""
        arguments += (place, item or pack(visit.returned[index], visit.key))
    return arguments


def _refusal(visit: Visit) -> Argument:
    """Return the health of a host after a visit; see `lua/release.lua`."""
    if visit.host_refused:
        mark = "=" if visit.has_recovered else ""
        return f"{mark}{millisecs(visit.retry_after_secs)} {visit.refused}".rstrip()
    if visit.is_postponed:
        return "-"
    if visit.refused:
        return f"{'!' if visit.is_answering else '?'}{visit.refused}"
    return "+" if visit.is_answering else ""


def _wait_ms(deferral: UrlDeferral) -> int:
    """Return a wait for `lua/release.lua`: odd if chosen by the crawl."""
    return millisecs(deferral.secs) // 2 * 2 + (not deferral.is_by_server)


class WaitingLinks:
    """Links that are not queued yet, and the visits that wait for them."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self._parents: set[str] = set()
        self._has_marks = False
        self._is_empty = True
        for candidate in candidates:
            self._is_empty = False
            payload = candidate.item[1:]
            if not payload:  # a URI that is only marked as seen
                self._has_marks = True
            else:
                self._parents.add(parent_of(payload, candidate.key))

    def has_none_of(self, visit: Visit) -> bool:
        """Return whether all links of a visit are known to be queued.

        For sources and redirects, this is unknown while any link waits.
        """
        if self._is_empty:
            return True
        is_plain = not (visit.outlinks or (visit.known and self._has_marks))
        urls = {*visit.known, *(record.url for record in visit.records)}
        return (
            is_plain
            and all(record.kind.is_of_url for record in visit.records)
            and self._parents.isdisjoint(urls)
        )


def _fault(record: Record, key: str, item: bytes) -> Document:
    detail = f"in the queue of {key}: {item[:_MAX_SHOWN]!r}"[: Fault.MAX_DETAIL]
    return refused(record, [Fault(Reason.BAD_RECORD, detail)])


class UnqueueableError(Exception):
    """Error: a request contains a value that the frontier cannot store."""


def record_of(request: Request, spider: Spider) -> Record:
    """Return the record of a request.

    Its callback and errback are methods of the spider.

    Raises:
        UnqueueableError: a value of it cannot be passed to other processes.
    """
    try:
        depth = request.meta.get("depth", 0)
        record = Record(
            requestable(request.url),
            Kind.REQUEST,
            min(MAX_DEPTH, depth) if isinstance(depth, int) else 0,
            task=RequestTask(
                callback=_name_of(request.callback, "callback", spider),
                errback=_name_of(request.errback, "errback", spider),
                method=request.method,
                body=b64encode(request.body).decode(),
                nonce=secrets.token_hex(8) if request.dont_filter else "",
                headers=tuple(
                    (name.decode("latin-1"), value.decode("latin-1"))
                    for name, values in request.headers.items()
                    for value in values
                ),
                details=_details(request),
            ),
        )
        record.task_text()
    except SourceFault as error:
        fault = error.fault
        raise UnqueueableError(f"{fault.reason}: {fault.detail[:100]}") from error
    return record


def request_of(url: str, task: RequestTask, spider: Spider | None) -> Request:
    """Return the request of a record.

    Without a spider, the request has no callbacks.

    Raises:
        UnqueueableError: the spider has no such method.
    """
    details = json.loads(task.details) if task.details else {}
    headers: dict[str, list[str]] = {}
    for name, value in task.headers:
        headers.setdefault(name, []).append(value)
    return Request(
        url,
        callback=_method(task.callback, spider) if spider else NO_CALLBACK,
        errback=_method(task.errback, spider) if spider else None,
        method=task.method,
        headers={
            name: [value.encode("latin-1") for value in values]
            for name, values in headers.items()
        },
        body=b64decode(task.body),
        dont_filter=True,
        **details,
    )


def meta_of(task: RequestTask) -> dict[str, Any]:
    """Return the `meta` of a request."""
    if not task.details:
        return {}
    meta: dict[str, Any] = json.loads(task.details).get("meta", {})
    return meta


def _details(request: Request) -> str:
    found = {
        "meta": request.meta,
        "cb_kwargs": request.cb_kwargs,
        "cookies": request.cookies,
        "flags": request.flags,
    }
    details = {name: _json(value, name) for name, value in found.items() if value}
    if request.encoding != "utf-8":
        details["encoding"] = request.encoding
    return json.dumps(details, sort_keys=True) if details else ""


def _json(value: Any, place: str) -> Any:
    """Return a value that JSON leaves unchanged, or raise `UnqueueableError`."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, list | tuple):
        return [_json(each, f"{place}[{n}]") for n, each in enumerate(value)]
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: _json(x, f"{place}[{name!r}]") for name, x in value.items()}
    what = "has keys that are no str" if isinstance(value, Mapping) else "is not JSON"
    raise UnqueueableError(f"{place} {what}: {type(value).__name__}")


def _name_of(function: Any, what: str, spider: Spider) -> str:
    if function is None:
        return ""
    name = getattr(getattr(function, "__func__", None), "__name__", "")
    if getattr(function, "__self__", None) is spider and hasattr(spider, name):
        return str(name)
    raise UnqueueableError(f"{what} {function!r} is not a method of the spider")


def _method(name: str, spider: Spider) -> Any:
    if not name:
        return None
    method = getattr(spider, name, None)
    if not callable(method):
        raise UnqueueableError(f"spider {spider.name} has no method {name}")
    return method


@dataclass(frozen=True, slots=True)
class DownHosts:
    """The remaining work of a crawl.

    Attributes:
        n_others: other hosts with work or a lease.
        n_down: hosts that refuse, or have only deferred URIs.
        n_due: number of these due soon enough to wait for.
    """

    n_others: int
    n_down: int
    n_due: int


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

    def __init__(self, redis: Redis, scripts: LuaScripts) -> None:
        self.prefixes: Sequence[str] = ()
        self._redis, self._scripts = redis, scripts

    async def look(self, wait_secs: float) -> DownHosts:
        """Return the remaining work; hosts due within `wait_secs` count as due."""
        arguments = [millisecs(max(0.0, wait_secs))]
        rows = cast("list[tuple[int, int, int]]", await self._run("down", arguments))
        return DownHosts(*map(sum, zip(*rows, strict=True)))

    async def refusing(self, most: int) -> tuple[int, Sequence[str]]:
        """Return the number of refusing hosts with work, and some of these."""
        pipe = self._redis.pipeline(transaction=False)
        for prefix in self.prefixes:
            pipe.zcard(f"{prefix}:down")
            pipe.zrange(f"{prefix}:down", 0, most - 1)
        found = await pipe.execute()
        names = [name.decode(errors="replace") for some in found[1::2] for name in some]
        return sum(found[::2]), names[:most]

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

    async def failed(self, *, only_owed: bool) -> AsyncIterator[str]:
        """Yield the URLs that were given up; if wanted, only those that are owed."""
        for prefix in self.prefixes:
            n_read = 0
            while entries := await self._redis.lrange(
                f"{prefix}:failed", n_read, n_read + _MAX_READ - 1
            ):
                n_read += len(entries)
                for entry in cast("list[bytes]", entries):
                    key, _, item = entry.removeprefix(_OWED).partition(b"\0")
                    record = unpack_or_none(item, key.decode())
                    if record and (entry.startswith(_OWED) or not only_owed):
                        yield record.url

    async def n_given_up(self) -> int:
        """Return how many given-up URIs `retry=failed` would queue now."""
        pipe = self._redis.pipeline(transaction=False)
        for prefix in self.prefixes:
            pipe.llen(f"{prefix}:failed")
        return sum(await pipe.execute())

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
