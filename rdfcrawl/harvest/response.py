"""A response while it is harvested."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rdfcrawl.faultlog import FaultLog

if TYPE_CHECKING:
    from rdfcrawl.records import Document, FollowUp, Record


@dataclass(frozen=True, slots=True)
class HarvestedResponse:
    """What a harvester has found in a response, until the harvester yields it.

    Attributes:
        document: that the response is going to be; the harvester's own, made by
            `Document.harvested`.
        log: takes what is wrong.
        follow_ups: that were not yielded yet.
    """

    document: Document
    log: FaultLog = field(default_factory=FaultLog)
    follow_ups: list[FollowUp] = field(default_factory=list)

    @property
    def record(self) -> Record:
        """The record that was requested."""
        return self.document.record

    @property
    def final_url(self) -> str:
        """The URL that gave the response, after redirects on its host."""
        return self.document.response.requested[-1]

    def take_follow_ups(self) -> list[FollowUp]:
        """Return the follow-ups that were found since this was called last."""
        found = self.follow_ups.copy()
        self.follow_ups.clear()
        return found
