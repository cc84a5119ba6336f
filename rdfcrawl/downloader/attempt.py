"""The attempts to fetch one record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.records import Document, Record
from rdfcrawl.core.times import now_ms
from rdfcrawl.downloader.cookies import ChainCookies
from rdfcrawl.uri.origin import origin_of

if TYPE_CHECKING:
    from rdfcrawl.core.errors import Fault
    from rdfcrawl.core.tasks import RequestTask
    from rdfcrawl.downloader.client import HttpResponse


# 520 to 524 come from a content delivery network that cannot reach the server.
FAILING: Final = frozenset({500, 502, 504, 520, 521, 522, 523, 524})


@dataclass(frozen=True, slots=True)
class UrlRefusal:
    """A server's refusal of one URL.

    Attributes:
        requested_secs: requested wait; None if the server names none.
        is_own: another URL succeeded after an earlier refusal of this one, so the host
            itself does not refuse.
        is_confirmed: another URL was refused before, and none succeeded since, so the
            host refuses.
    """

    requested_secs: float | None
    is_own: bool = False
    is_confirmed: bool = False


@dataclass(slots=True, eq=False)
class RecordAttempt:
    """The attempts to fetch one record."""

    index: int
    record: Record
    n_tried: int = 0  # requests of this record in this visit
    not_before: float = 0.0  # monotonic time of the earliest retry
    has_progressed: bool = False  # the last try broke off after a large part
    started_ms: int = 0
    # URLs requested in the present try
    requested: list[str] = field(default_factory=list)
    cookies: ChainCookies | None = None  # set in the present try
    dead_origin: str = ""  # origin that could not be reached
    refusal: UrlRefusal | None = None  # of the last try
    # of a user's spider, changed by redirects
    request: RequestTask | None = None
    # redirect targets claimed for this record in the frontier
    claimed: set[str] = field(default_factory=set)
    best: Document | None = None  # best result so far
    origin: str = field(init=False)

    def __post_init__(self) -> None:
        self.origin = origin_of(self.record.url)

    def note_cookies(self, url: str, response: HttpResponse) -> None:
        """Keep the cookies of a redirect for the requests after it."""
        if response.cookies and self.request is None:
            self.cookies = self.cookies or ChainCookies()
            self.cookies.note(url, response.cookies)

    def may_return_to(self, target: str) -> bool:
        """Return whether a URL that redirected may now respond differently."""
        if self.cookies is None or target not in self.requested:
            return False
        return self.cookies.are_new_to(target)

    def document(self, response: HttpResponse, faults: list[Fault]) -> Document:
        """Return the result of the present try."""
        response.requested = tuple(self.requested)
        response.ended_ms = now_ms()
        response.started_ms = self.started_ms or response.ended_ms
        return Document(
            record=self.record,
            url=self.requested[-1] if self.requested else self.record.url,
            response=response,
            faults=list(faults),
        )
