"""A leased host while its URIs are asked for: what was claimed, and what came of it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rdfcrawl.core.errors import lasting_reasons
from rdfcrawl.core.task_records import is_asked_again

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator, Sequence

    from rdfcrawl.core.errors import Fault, Reason
    from rdfcrawl.core.records import Document, Record

_CUT_AGAIN_SECS: Final = 1.0  # what is cut needs some time to clean up


class UrlDeferral(NamedTuple):
    """How long a refused URI waits."""

    secs: float
    is_asked: bool  # its server has asked for that; else it is our own choice


@dataclass(slots=True, kw_only=True, eq=False)
class Visit:
    """One leased host with a batch of its URIs, and what came of asking for them.

    Invariant: when the visit is over, each of `records` is either the `record` of
    one of `documents` (fetched, failed or refused) or the index of one of
    `returned` (not reached; goes back to the queue).
    """

    key: str  # politeness key the lease is for (registered domain, host or IP)
    partition: int  # of the frontier, which holds the key
    epoch: int  # fencing number of the lease
    records: tuple[Record, ...]  # as claimed; the order is the frontier's
    delay_secs: float  # least time between two requests to the host
    failures: int = 0  # visits in a row, before this one, that the host refused
    down_secs: float = 0.0  # how long ago the first of these failures was
    suspected: str = ""  # URL that was refused last, if none was answered since
    is_of_crowd: bool = False  # of very many hosts that take turns with others as one
    address: str = ""  # of the host, if it is known by the end of the visit
    is_borne: bool = False  # what is refused is tried again, however many `failures`
    has_refresher: bool = False  # pages that fail are left to `scrapy refresh`
    least_delay_secs: float = 0.0  # of all hosts that ask for nothing else
    # What the settings and robots.txt say, which `delay_secs` may be above; None if it
    # is what `delay_secs` was at the beginning.
    floor_secs: float | None = None
    open_until: float = 0.0  # monotonic time when its working hours end; 0: never
    claimed_delay_secs: float = 0.0  # `delay_secs`, as the frontier has it
    # Indexes into `records` still to be asked for. Middlewares may take out what must
    # not be asked for, and add its document.
    pending: list[int] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)  # in the order they came
    # By index, as the records go back; `retries` is raised of those that were tried.
    returned: dict[int, Record] = field(default_factory=dict)
    behind: set[int] = field(default_factory=set)  # of these, what is wanted last
    # Of these, what is not requested again before a time; other URIs go first.
    deferred: dict[int, UrlDeferral] = field(default_factory=dict)
    # Targets of redirects on other hosts, to be added to the frontier.
    outlinks: list[Record] = field(default_factory=list)
    # URLs on the way to the documents, to be marked as seen.
    known: list[str] = field(default_factory=list)
    not_before_secs: float = 0.0  # for so long after the visit the host is left alone
    retry_after_secs: float = 0.0  # for so long the host itself has asked for that
    has_answered: bool = False  # the host did so once, in this visit or before
    is_answering: bool = False  # it did so in this visit
    has_recovered: bool = False  # in this visit, it answered after refusals
    is_connection_refused: bool = False  # nothing listens on it
    host_refused: bool = False  # the host did not answer, or said that it is busy
    refused: str = ""  # URL that was refused in this visit, if none was answered since
    is_unasked: bool = False  # no record may be asked for: the host is not kept waiting
    is_only: bool = False  # the host is not visited again: what is refused is final
    is_put_off: bool = False  # ended by us before it could tell anything about its host
    is_lost: bool = False  # so is the lease: somebody else may visit the host by now
    # Monotonic time when the host was asked for robots.txt, if the clock of the host
    # does not have that yet; else 0.
    rules_at: float = 0.0
    step_at: float = 0.0  # monotonic time when the present request or wait began
    task: asyncio.Task[Any] | None = None  # makes it, or processes its documents
    is_cut: bool = False  # it must end now; what is not done goes back
    cut_at: float = float("-inf")  # monotonic time of the last cancellation
    # By index, what the frontier has there and nobody can read: a document says so.
    unreadable: dict[int, bytes] = field(default_factory=dict)
    # Indexes of records that were given up, and may be had another time.
    failed: list[int] = field(default_factory=list)
    owed: set[int] = field(default_factory=set)  # of these, what the next run asks for
    # Whether pages of it count for the quota of their domain, a request each.
    is_scheduled: bool = False
    # Indexes of `returned` that were not asked for.
    unasked: set[int] = field(default_factory=set)
    # Of a scheduled visit, by index: what became of records (`frontier/domain_epochs`).
    outcomes: dict[int, str] = field(default_factory=dict)
    # Of `documents`, the one that is processed; others that it stands for may be in
    # the pipelines in its place.
    current: Document | None = None

    def cut(self) -> None:
        """End the visit now, whatever it waits for.

        A cancellation may get lost in a library: call this until the visit has ended.
        """
        now = monotonic()
        if self.task is not None and now - self.cut_at > _CUT_AGAIN_SECS:
            self.is_cut, self.cut_at = True, now
            self.task.cancel()

    @contextmanager
    def cuttable(self) -> Iterator[None]:
        """Let `cut` end what is done within; then it ends without an exception."""
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
        """Keep at least a delay that the host asks for."""
        self.delay_secs = max(self.delay_secs, secs)
        if self.floor_secs is not None:
            self.floor_secs = max(self.floor_secs, secs)

    def return_untried(self, index: int) -> None:
        """Return a requested record to the queue that cannot be stored now.

        It loses no try; but it may have marked redirect targets as seen, which are
        fetched only for records that were tried before.
        """
        record = self.records[index]
        self.returned[index] = replace(record, retries=max(1, record.retries))

    def give_up(self, index: int, faults: Sequence[Fault] | None) -> None:
        """Give up a record: for this run, or for good.

        The next run asks for it again if its faults may pass by then, unless something
        else does so in its time; None says that they are no matter of time.
        """
        self.failed.append(index)
        record, lasting = self.records[index], self.lasting_reasons
        if is_asked_again(record) or (self.has_refresher and record.kind.is_of_url):
            return
        if faults and not any(fault.reason in lasting for fault in faults):
            self.owed.add(index)

    @property
    def lasting_reasons(self) -> frozenset[Reason]:
        """The reasons for which its host is not waited for."""
        return lasting_reasons(
            has_answered=self.has_answered,
            is_connection_refused=self.is_connection_refused,
        )

    def give_back(self) -> None:
        """Return all pending records to the queue."""
        for index in self.pending:
            self.returned.setdefault(index, self.records[index])
            self.unasked.add(index)
        self.pending.clear()

    @property
    def rest_secs(self) -> float:
        """Return how long the host is left alone after the visit, in seconds."""
        if self.is_unasked:
            return 0.0
        return max(self.delay_secs, self.not_before_secs)

    def index(self, document: Document) -> int:
        """Return the index in the batch of the record of a document."""
        record = document.record
        return next(i for i, each in enumerate(self.records) if each is record)
