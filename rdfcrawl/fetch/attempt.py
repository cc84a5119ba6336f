"""The attempts to fetch one record, and the origins that fail in a visit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rdfcrawl.clock import now_ms
from rdfcrawl.fetch.cookies import ChainCookies
from rdfcrawl.records import Document, Kind, Record
from rdfcrawl.uri.origin import origin_of

if TYPE_CHECKING:
    from rdfcrawl.errors import Fault
    from rdfcrawl.fetch.answer import HttpResponse
    from rdfcrawl.tasks.pages import RequestTask
    from rdfcrawl.visits import Visit


@dataclass(slots=True, eq=False)
class RecordAttempt:
    """The attempts to fetch one record."""

    index: int
    record: Record
    n_tried: int = 0  # times that it was asked for in this visit
    not_before: float = 0.0  # monotonic time before which it is not asked for again
    has_gone_on: bool = False  # the last try broke off, and brought much all the same
    started_ms: int = 0
    # URLs asked for in the present try
    requested: list[str] = field(default_factory=list)
    cookies: ChainCookies | None = None  # that were set in the present try
    dead_origin: str = ""  # the origin that could not be reached for it
    # of a user's spider, as it is sent after redirects
    request: RequestTask | None = None
    # redirect targets that the frontier now takes for this record's
    claimed: set[str] = field(default_factory=set)
    best: Document | None = None  # what the tries so far came to
    origin: str = field(init=False)

    def __post_init__(self) -> None:
        self.origin = origin_of(self.record.url)

    def note_cookies(self, url: str, answer: HttpResponse) -> None:
        """Keep the cookies of a redirect for the requests after it."""
        if answer.cookies and self.request is None:
            self.cookies = self.cookies or ChainCookies()
            self.cookies.note(url, answer.cookies)

    def may_return_to(self, target: str) -> bool:
        """Return whether a URL that redirected may now answer in another way."""
        if self.cookies is None or target not in self.requested:
            return False
        return self.cookies.are_new_to(target)

    def document(self, answer: HttpResponse, faults: list[Fault]) -> Document:
        """Return what the present try came to."""
        answer.requested = tuple(self.requested)
        answer.ended_ms = now_ms()
        answer.started_ms = self.started_ms or answer.ended_ms
        return Document(
            record=self.record,
            url=self.requested[-1] if self.requested else self.record.url,
            response=answer,
            is_partial=answer.is_partial,
            faults=list(faults),
        )


# 520 to 524 are those of a content delivery network that cannot reach the server.
FAILING: Final = frozenset({500, 502, 504, 520, 521, 522, 523, 524})
_ENOUGH: Final = 3  # different URIs of an origin
# Who asks these is told that it was too much, and asks for less.
_ADAPTING: Final = frozenset({Kind.SPARQL, Kind.CKAN})


class FailingOrigins:
    """Tell hosts that fail from single pages that fail.

    A gateway whose server is down says 502 or 504, and a server without its database
    500, for each of its URIs. That is a bad hour of the host, which costs only time, as
    503 does. The same statuses of one page, where others are answered, are its own.

    Args:
        visit: whose host may have failed in the visits before, too.
    """

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._failed: dict[str, set[int]] = {}  # origin -> indexes of records
        self._answering: set[str] = set()

    def note(self, attempt: RecordAttempt, origin: str, status: int) -> None:
        """Note the status of an answer, 0 if there was none."""
        if status in FAILING:
            if attempt.record.kind not in _ADAPTING:
                self._failed.setdefault(origin, set()).add(attempt.index)
        elif status:
            self._answering.add(origin)

    def is_to_blame(
        self, attempt: RecordAttempt, origin: str, *, is_last_try: bool
    ) -> bool:
        """Return whether the origin has failed, not only the page.

        On the last try, the record is not requested again in this visit.
        """
        visit = self._visit
        failed = self._failed.get(origin, ())
        if attempt.index not in failed or origin in self._answering:
            return False
        if visit.failures:
            return True
        if not visit.is_borne:
            return False
        if len(failed) >= _ENOUGH:
            return True
        # One that was put back for it, and whose host has answered since, is bad.
        return is_last_try and not attempt.record.retries
