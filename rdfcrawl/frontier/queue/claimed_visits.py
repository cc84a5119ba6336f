"""Arguments of claims and releases, and visits from replies.

Unreadable payloads are set aside singly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from rdfcrawl.core.errors import Fault, Reason, SourceFault
from rdfcrawl.core.records import Document, Record, refused
from rdfcrawl.core.visits import UrlDeferral, Visit
from rdfcrawl.frontier.queue.partitions import bucket_of
from rdfcrawl.frontier.queue.payload import pack, parent_of, unpack, unpack_or_none
from rdfcrawl.frontier.redis.scripts import millisecs

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.candidate import Candidate
    from rdfcrawl.frontier.queue.options import FrontierOptions
    from rdfcrawl.frontier.redis.scripts import Argument

_HEAD = 9  # fields of a row before its items
_MAX_SHOWN = 100  # bytes of a payload in the detail of its fault


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
    key: str = row[0].decode()
    items = row[_HEAD:]
    least_delay_secs = max(least_delay_secs, row[7] / 1000)  # set by an operator
    delay_secs = max(row[2] / 1000, least_delay_secs)
    unreadable: dict[int, bytes] = {}
    try:
        records = tuple([unpack(item, key) for item in items])
    except (ValueError, LookupError, SourceFault):
        found = [unpack_or_none(item, key) for item in items]
        unreadable = {i: items[i] for i, record in enumerate(found) if record is None}
        records = tuple(
            record or stand_in(item) for record, item in zip(found, items, strict=True)
        )
    return Visit(
        key=key,
        partition=partition,
        epoch=row[1],
        records=records,
        delay_secs=delay_secs,
        least_delay_secs=least_delay_secs,
        floor_secs=least_delay_secs,
        claimed_delay_secs=delay_secs,
        failures=row[3],
        down_secs=row[4] / 1000,
        suspected=row[5].decode("latin-1"),
        has_answered=row[8] == 1,
        is_of_crowd=row[6] == 1,
        pending=[i for i in range(len(records)) if i not in unreadable],
        # Unreadable payloads already have a document with a fault.
        documents=[_fault(records[i], key, item) for i, item in unreadable.items()],
        unreadable=unreadable,
    )


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
        if index in visit.behind or index in visit.unrequested or deferral:
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
