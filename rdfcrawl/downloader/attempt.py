"""The attempts to fetch one record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.clock import now_ms
from rdfcrawl.core.records import Document, Record
from rdfcrawl.downloader.cookies import ChainCookies
from rdfcrawl.uri.origin import origin_of

if TYPE_CHECKING:
    from rdfcrawl.core.errors import Fault
    from rdfcrawl.core.tasks.pages import RequestTask
    from rdfcrawl.downloader.answer import HttpResponse


# 520 to 524 are those of a content delivery network that cannot reach the server.
FAILING: Final = frozenset({500, 502, 504, 520, 521, 522, 523, 524})


@dataclass(frozen=True, slots=True)
class UrlRefusal:
    """How a server refused one URL.

    Attributes:
        asked_secs: for so long it is not to be requested; None if nothing says so.
        is_own: another URL was answered after an earlier refusal of this one, so that
            the host does not refuse.
        is_confirmed: another URL was refused before, and none was answered since, so
            that the host refuses.
    """

    asked_secs: float | None
    is_own: bool = False
    is_confirmed: bool = False


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
    refusal: UrlRefusal | None = None  # of the last try
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
            faults=list(faults),
        )
