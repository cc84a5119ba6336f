"""Jobs for a reader, in a form that goes through a pipe."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from rdfcrawl.html.extractors import CustomExtractor
from rdfcrawl.rdf.limits import DEFAULT_LIMITS, ParseLimits
from rdfcrawl.reservations import IGNORE_ALL, NOTHING, ReservationPolicy, Reservations
from rdfcrawl.unpack.limits import UnpackLimits

if TYPE_CHECKING:
    from rdfcrawl.extraction.bulk import BulkOutput
    from rdfcrawl.extraction.outcome import ExtractOutcome
    from rdfcrawl.rdf.graphs import Trust


@dataclass(slots=True, kw_only=True)  # frozen ones take thrice as long to make
class ReadingJob:
    """Metadata of a document before it is read, and how to read its bytes.

    Attributes:
        url: of the document, after redirects, without fragment.
        graph: of its statements; None is the default graph.
        media_type: of the Content-Type, or empty.
        charset: of the Content-Type, or empty.
        http_links: of the header `Link`, or empty.
        base: of relative IRIs; `url` if unset.
        key: makes the blank node labels; `url` if empty.
        trust: whose graph names are believed; see `rdf.output.Output`.
        wants_hyperlinks: of pages, beside the links that point to data.
        extractors: left by a first reading of a page, see `rest`; None are all that
            the page needs.
        rules: file or folder of scraping rules; empty is none.
        custom: the user's extractors.
        reservations: of the headers of the response.
        reservation_policy: which reservations are obeyed, also those in a page.
        at_secs: Unix time of the response.
        limits: on one document.
        unpack: limits on its packing.
        bulk: instructions for packing its statements in a child.
    """

    url: str
    graph: str | None
    media_type: str = ""
    charset: str = ""
    http_links: str = ""
    base: str | None = None
    key: str = ""
    trust: Trust = "same-origin"
    wants_hyperlinks: bool = False
    extractors: frozenset[str] | None = None
    rules: str = ""
    custom: tuple[CustomExtractor, ...] = ()
    reservations: Reservations = NOTHING
    reservation_policy: ReservationPolicy = IGNORE_ALL
    at_secs: float = 0.0
    limits: ParseLimits = DEFAULT_LIMITS
    unpack: UnpackLimits = field(default_factory=UnpackLimits)
    bulk: BulkOutput | None = None

    @property
    def page_url(self) -> str:
        """URL of a page, which also selects its rules."""
        return (self.base or self.url).partition("#")[0]

    def rest(self, outcome: ExtractOutcome) -> Self:
        """Return the job for the extractors that a first reading left."""
        n_quads = self.limits.n_quads - outcome.n_quads
        return replace(
            self,
            extractors=outcome.left,
            reservations=outcome.reservations,
            # Labels of blank nodes must not meet those given out before.
            key=f"{self.key or self.url}#rest",
            limits=replace(self.limits, n_quads=n_quads),
        )

    def to_json(self) -> bytes:
        """Encode the job."""
        members = asdict(self)
        if self.extractors is not None:
            members["extractors"] = sorted(self.extractors)
        return json.dumps(members).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Self:
        """Decode the result of `to_json`."""
        members: dict[str, Any] = json.loads(text)
        members["limits"] = ParseLimits(**members["limits"])
        members["unpack"] = UnpackLimits(**members["unpack"])
        members["custom"] = tuple(CustomExtractor(*each) for each in members["custom"])
        members["reservations"] = Reservations.from_json(members["reservations"])
        members["reservation_policy"] = ReservationPolicy.from_json(
            members["reservation_policy"]
        )
        if members["bulk"] is not None:
            from rdfcrawl.extraction.bulk import BulkOutput  # noqa: PLC0415  # few have it

            members["bulk"] = BulkOutput.from_members(members["bulk"])
        if members["extractors"] is not None:
            members["extractors"] = frozenset(members["extractors"])
        return cls(**members)
