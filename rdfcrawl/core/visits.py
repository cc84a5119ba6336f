"""A leased host during a visit: the claimed URIs, and the results of their requests."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any, Final, NamedTuple

from rdfcrawl.core.codec import decode, encode
from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.core.records import Document, FollowUp, Kind, Record, Urgency
from rdfcrawl.core.source_tasks import SourceTask
from rdfcrawl.core.tasks import (
    CollectionPage,
    DumpPart,
    ListedPage,
    PortalFile,
    RefreshedPage,
    RevisitedPage,
    Task,
)

_LASTING: Final = frozenset({Reason.DNS, Reason.DNS_BLOCKED, Reason.TLS})
_SCHEDULED: Final = (
    *(SourceTask, ListedPage, DumpPart, CollectionPage),
    *(RevisitedPage, PortalFile, RefreshedPage),
)

# Kind, depth, parent, change, profile and task of a record that was not requested yet.
_REST: Any = tuple[Kind, int, str, str, int, Task | None]
_CUT_AGAIN_SECS: Final = 1.0  # cancelled code needs some time to clean up


def has_own_schedule(record: Record) -> bool:
    """Return whether a failed record is requested again by its own schedule.

    Each run reads sources from the beginning, and sitemaps, datasets and `scrapy
    refresh` schedule their pages: retrying the record itself would request it twice.
    """
    return bool(record.change) or isinstance(record.task, _SCHEDULED)


def encode_record(record: Record) -> str:
    """Return the text of a waiting record, without its URL."""
    place = record.kind, record.depth, record.parent
    return encode((*place, record.change, record.profile, record.task))


def decode_record(url: str, text: str) -> Record:
    """Return the record of a text from `encode_record`.

    Raises:
        SourceFault: `BAD_RECORD`: the text is invalid.
    """
    kind, depth, parent, change, profile, task = decode(text, _REST)
    return Record(url, kind, depth, parent, task=task, change=change, profile=profile)


def encode_follow_up(follow_up: FollowUp) -> str:
    """Return the text of a waiting follow-up, without its URL."""
    record = replace(follow_up.record, change=follow_up.change)
    return f"{int(follow_up.urgency)} {encode_record(record)}"


def decode_follow_up(url: str, text: str) -> FollowUp:
    """Return the follow-up of a text from `encode_follow_up`.

    Raises:
        SourceFault: `BAD_RECORD`: the text is invalid.
    """
    urgency, _, rest = text.partition(" ")
    record = decode_record(url, rest)
    waiting = replace(record, change="")
    return FollowUp(waiting, urgency=Urgency(int(urgency)), change=record.change)


class UrlDeferral(NamedTuple):
    """Time until a refused URI is requested again."""

    secs: float
    is_by_server: bool  # requested by the server; otherwise our choice


@dataclass(slots=True, kw_only=True, eq=False)
class Visit:
    """One leased host with a batch of its URIs, and the results of their requests.

    Invariant: when the visit is over, each of `records` is either the `record` of
    one of `documents` (fetched, failed or refused) or the index of one of
    `returned` (not reached; goes back to the queue).
    """

    key: str  # politeness key the lease is for (registered domain, host or IP)
    partition: int  # of the frontier, which holds the key
    epoch: int  # fencing number of the lease
    records: tuple[Record, ...]  # as claimed; the order is the frontier's
    delay_secs: float  # least time between two requests to the host
    n_done: int = 0  # first records, processed before the visit went on with others
    began_at: float = 0.0  # monotonic time
    failures: int = 0  # consecutive earlier visits that the host refused
    down_secs: float = 0.0  # time since the first of these failures
    suspected: str = ""  # last refused URL, if none has succeeded since
    is_of_crowd: bool = False  # of very many hosts that share turns
    address: str = ""  # of the host, if it is known by the end of the visit
    ignores_failures: bool = False  # refused URIs are retried despite `failures`
    has_refresher: bool = False  # pages that fail are left to `scrapy refresh`
    least_delay_secs: float = 0.0  # of hosts without a separate delay
    # Delay by settings and robots.txt, which may be less than `delay_secs`; None if it
    # is the initial `delay_secs`.
    floor_secs: float | None = None
    open_until: float = 0.0  # monotonic time when its working hours end; 0: never
    claimed_delay_secs: float = 0.0  # `delay_secs`, as the frontier has it
    # Indexes into `records` still to request. Middlewares may remove some, and add
    # their documents.
    pending: list[int] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)  # in order of arrival
    # By index, the records that go back; `retries` is increased if they were tried.
    returned: dict[int, Record] = field(default_factory=dict)
    behind: set[int] = field(default_factory=set)  # of these, queued last
    # Of these, not requested again before a time; other URIs go first.
    deferred: dict[int, UrlDeferral] = field(default_factory=dict)
    # Targets of redirects on other hosts, to be added to the frontier.
    outlinks: list[Record] = field(default_factory=list)
    # URLs on the way to the documents, to be marked as seen.
    known: list[str] = field(default_factory=list)
    not_before_secs: float = 0.0  # pause of the host after the visit
    retry_after_secs: float = 0.0  # pause that the host itself requires
    has_answered: bool = False  # the host has responded, in this visit or before
    is_answering: bool = False  # it has responded in this visit
    has_recovered: bool = False  # in this visit, it responded after refusals
    is_connection_refused: bool = False  # no server listens
    host_refused: bool = False  # the host did not respond, or reported overload
    refused: str = ""  # URL refused in this visit, if none has succeeded since
    is_unrequested: bool = False  # no record may be requested: no pause afterwards
    is_only: bool = False  # the host is not visited again: refusals are final
    is_postponed: bool = False  # ended by us before any result about its host
    is_lost: bool = False  # the lease is lost: another worker may visit the host
    # Monotonic time of the request for robots.txt, if the clock of the host does not
    # have it yet; else 0.
    rules_at: float = 0.0
    step_at: float = 0.0  # monotonic time when the current request or wait began
    task: asyncio.Task[Any] | None = None  # makes it, or processes its documents
    is_cut: bool = False  # it must end now; unfinished records go back
    cut_at: float = float("-inf")  # monotonic time of the last cancellation
    # Indexes of `returned` that are not requested, as their forms of URL are unlikely.
    unlikely: set[int] = field(default_factory=set)
    # By index, unreadable records of the frontier; a document reports each.
    unreadable: dict[int, bytes] = field(default_factory=dict)
    # Indexes of records that were given up, and may succeed later.
    failed: list[int] = field(default_factory=list)
    owed: set[int] = field(default_factory=set)  # of these, for the next run
    # Whether each request for its pages counts for the quota of their domain.
    is_scheduled: bool = False
    # Indexes of `returned` that were not requested.
    unrequested: set[int] = field(default_factory=set)
    # Of a scheduled visit, by index: results of records (`frontier/domain_epochs`).
    outcomes: dict[int, str] = field(default_factory=dict)
    # The one of `documents` that is being processed; documents that it contains may be
    # in the pipelines in its place.
    current: Document | None = None
    error: str = ""  # that a downloader middleware raised for it

    def cut(self) -> None:
        """End the visit now, even while it waits.

        A library may swallow a cancellation: repeat the call until the visit has ended.
        """
        now = monotonic()
        if self.task is not None and now - self.cut_at > _CUT_AGAIN_SECS:
            self.is_cut, self.cut_at = True, now
            self.task.cancel()

    @contextmanager
    def cuttable(self) -> Iterator[None]:
        """Let `cut` end the context, without an exception."""
        from asyncio import CancelledError, current_task  # noqa: PLC0415 (commands import this without an event loop)

        self.task, self.is_cut = current_task(), False
        self.cut_at = float("-inf")
        task = self.task
        try:
            yield
        except CancelledError:
            if not self.is_cut or task is None:
                raise
            while task.uncancel():  # it may have been cut several times
                pass
        finally:
            self.task = None

    def keep_delay(self, secs: float) -> None:
        """Apply a minimum delay that the host requires."""
        self.delay_secs = max(self.delay_secs, secs)
        if self.floor_secs is not None:
            self.floor_secs = max(self.floor_secs, secs)

    def return_untried(self, index: int) -> None:
        """Return a requested record to the queue that cannot be stored now.

        The attempt does not count. But it may have marked redirect targets as seen,
        which are fetched only for records that were tried before.
        """
        record = self.records[index]
        self.returned[index] = replace(record, retries=max(1, record.retries))

    def give_up(self, index: int, faults: Sequence[Fault] | None) -> None:
        """Give up a record: for this run, or for good.

        The next run requests it again if its faults may have passed, unless another
        schedule does. `faults` is None if they cannot pass.
        """
        self.failed.append(index)
        record, lasting = self.records[index], self.lasting_reasons
        if has_own_schedule(record) or (self.has_refresher and record.kind.is_of_url):
            return
        if faults and not any(fault.reason in lasting for fault in faults):
            self.owed.add(index)

    def set_aside(self, index: int) -> None:
        """Leave out a pending record as unlikely; the frontier keeps it."""
        self.give_back([index])
        self.unlikely.add(index)

    @property
    def lasting_reasons(self) -> frozenset[Reason]:
        """The reasons that hardly pass soon, so its host is not waited for."""
        if self.has_answered:  # its name has an address, and a server listens on it
            return frozenset({Reason.TLS})
        if self.is_connection_refused:  # the host is up, but no server listens
            return _LASTING | {Reason.UNREACHABLE}
        return _LASTING

    def give_back(self, indexes: Collection[int] | None = None) -> None:
        """Return pending records to the queue, by default all."""
        given = frozenset(self.pending if indexes is None else indexes)
        for index in given:
            self.returned.setdefault(index, self.records[index])
            self.unrequested.add(index)
        self.pending = [index for index in self.pending if index not in given]

    @property
    def rest_secs(self) -> float:
        """Return the pause of the host after the visit, in seconds."""
        if self.is_unrequested:
            return 0.0
        return max(self.delay_secs, self.not_before_secs)

    @property
    def may_go_on(self) -> bool:
        """Whether the visit may get further URIs: all went well, without any delay."""
        # The fetches of a later run are known to its sources after the next flush.
        is_of_later_run = any(each.change for each in self.records)
        has_failed = self.failures or self.suspected or self.refused or self.failed
        has_results = self.returned or self.outlinks or self.known
        is_held = self.is_of_crowd or self.is_scheduled or self.open_until
        is_delayed = self.claimed_delay_secs or self.rest_secs
        is_ended = self.host_refused or self.is_lost or self.is_unrequested
        return self.is_answering and not (
            has_failed
            or has_results
            or is_held
            or is_delayed
            or is_ended
            or is_of_later_run
        )

    def index(self, document: Document) -> int:
        """Return the index of the record of a document in the batch."""
        record = document.record
        for index, each in enumerate(self.records):
            if each is record:  # equal ones may be in the batch
                return index
        raise ValueError(f"not of this visit: {document!r}")


# Sent and awaited before visits are acknowledged: handlers make everything durable that
# they have received. If a handler raises, the visits stay unacknowledged, and the
# signal is sent again. Arguments: none.
flush_stores = object()

# Sent once when the spider begins to close: each visit ends after its current request.
# Arguments: none.
stop_visits = object()

# Sent and awaited when all of a worker's visits are committed, before it leaves the
# frontier. Arguments: none.
before_leaving = object()
