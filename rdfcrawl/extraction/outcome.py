"""Outcome of a document, beside its statements."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Self

from rdfcrawl import formats
from rdfcrawl.errors import Fault, Reason
from rdfcrawl.links.relations import Link, Relation
from rdfcrawl.records import Member
from rdfcrawl.reservations import NOTHING, Reservations

MAX_MEMBERS: Final = 100  # of an archive are described; the others are only counted

_FORMATS: Final = {each.name: each for each in formats.FORMATS}


@dataclass(slots=True, kw_only=True)
class ExtractOutcome:
    """Outcome of a document; complete when its statements are read.

    Attributes:
        format: of the document; unset if not read.
        decided_by: how the format was detected.
        packings: from the outside in.
        members: of an archive, the first `MAX_MEMBERS`.
        n_members: of an archive.
        extracted: statements by extractor.
        links: of pages and of the header `Link`.
        reservations: of header and page, unless ignored.
        left: extractors that need a bounded process and were not run.
        n_quads: statements written.
        is_partial: the document has statements that were not read.
        faults: one per reason, in order.
    """

    format: formats.Format | None = None
    decided_by: str = ""
    packings: tuple[str, ...] = ()
    members: list[Member] = field(default_factory=list)
    n_members: int = 0
    extracted: dict[str, int] = field(default_factory=dict)
    links: set[Link] = field(default_factory=set)
    reservations: Reservations = NOTHING
    left: frozenset[str] = frozenset()
    n_quads: int = 0
    is_partial: bool = False
    faults: list[Fault] = field(default_factory=list)

    def to_json(self) -> bytes:
        """Encode the outcome."""
        members: dict[str, Any] = {
            "format": self.format.name if self.format else None,
            "decided_by": self.decided_by,
            "packings": self.packings,
            "members": [(m.name, m.format, m.n_quads) for m in self.members],
            "n_members": self.n_members,
            "extracted": self.extracted,
            "links": [(x.url, x.relation, x.media_type) for x in self.links],
            "reservations": asdict(self.reservations),
            "left": sorted(self.left),
            "n_quads": self.n_quads,
            "is_partial": self.is_partial,
            "faults": [(f.reason, f.detail, f.count) for f in self.faults],
        }
        return json.dumps(members).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Self:
        """Decode the result of `to_json`."""
        members: dict[str, Any] = json.loads(text)
        members["format"] = _FORMATS.get(members["format"])
        members["packings"] = tuple(members["packings"])
        members["members"] = [
            Member(name=name, format=format_name, n_quads=n)
            for name, format_name, n in members["members"]
        ]
        members["links"] = {
            Link(url, Relation(relation), media_type)
            for url, relation, media_type in members["links"]
        }
        members["reservations"] = Reservations.from_json(members["reservations"])
        members["left"] = frozenset(members["left"])
        members["faults"] = [
            Fault(Reason(reason), detail, count)
            for reason, detail, count in members["faults"]
        ]
        return cls(**members)
