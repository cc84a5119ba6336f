"""The attempts to fetch one record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rdfcrawl.records import Document, now_ms
from rdfcrawl.uri.origin import origin_of

if TYPE_CHECKING:
    from rdfcrawl.errors import Fault
    from rdfcrawl.fetch.answer import HttpResponse
    from rdfcrawl.records import Record
    from rdfcrawl.tasks.pages import RequestTask


@dataclass(slots=True, eq=False)
class RecordAttempt:
    """The attempts to fetch one record.

    Attributes:
        n_tried: times that it was asked for in this visit.
        has_gone_on: the last try broke off, and brought much all the same.
        not_before: monotonic time before which it is not asked for again.
        requested: URLs asked for in the present try.
        dead_origin: the origin that could not be reached for it.
        request: of a user's spider, as it is sent after redirects.
        claimed: redirect targets that the frontier now takes for this record's.
        best: what the tries so far came to.
    """

    index: int
    record: Record
    n_tried: int = 0
    not_before: float = 0.0
    has_gone_on: bool = False
    started_ms: int = 0
    requested: list[str] = field(default_factory=list)
    dead_origin: str = ""
    request: RequestTask | None = None
    claimed: set[str] = field(default_factory=set)
    best: Document | None = None
    origin: str = field(init=False)

    def __post_init__(self) -> None:
        self.origin = origin_of(self.record.url)

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
