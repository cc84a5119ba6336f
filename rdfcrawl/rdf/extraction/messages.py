"""Messages between a process and its reading child: jobs, outcomes, and their frames.

A frame is `kind` (1 byte), `length` (4 bytes, big endian), a number (8 bytes) and
`length` bytes. In: `J`, a job, and then `P`, the path of the document, or `B`, its
bytes. Out: `S`, once, the confinement of the process by the kernel; `F`, the outcome as
known at the beginning, repeated when the reservations of a page are known; `C`, a chunk
of N-Quads; `Z`, one packed in the child, see `bulk`; `E`, the end with the outcome;
`D`, the end because a disk refuses data for now: the number of the error; `L`, a
request for a context, followed by `K`, the context, or `R`, the reason of its absence.
End of input ends the process. The number is that of the statements so far in `C` and
`Z`; in `E` and `D`, 1 if the process reads no further document.
"""

from __future__ import annotations

import json
import pickle
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, Self

from rdfcrawl.core import formats
from rdfcrawl.core.content import (
    NO_LINKS,
    ArchiveMember,
    DeflatePiece,
    FoundLinks,
    QuadChunk,
)
from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.core.formats import Link, Relation
from rdfcrawl.core.records import NO_FACTS, DocumentFacts
from rdfcrawl.core.reservations import (
    IGNORE_ALL,
    NOTHING,
    ReservationPolicy,
    Reservations,
)
from rdfcrawl.rdf.environment import DEFAULT_LIMITS, ParseLimits
from rdfcrawl.rdf.unpack.limits import UnpackLimits

if TYPE_CHECKING:
    from rdfcrawl.rdf.graphs import Trust
    from rdfcrawl.rdf.html.extractors import CustomExtractor
    from rdfcrawl.rdf.links.outlinks import OutlinkOptions
    from rdfcrawl.rdf.links.policy import LinkPolicy

# Checksum, length and digest of the content, number of statements, length of the piece;
# lengths of the links to one host and of the host, number of these links, length of the
# other links; whether the statements may describe data elsewhere. These fields follow.
_BULK_HEAD: Final = Struct(">IQ32sIIIIII?")
HEADER: Final = Struct(">cIQ")
PIPE_BYTES: Final = 2**20  # larger than a chunk, so that processes rarely wait
MAX_MEMBERS: Final = 100  # of an archive that are described; others are only counted

_FORMATS: Final = {each.name: each for each in formats.FORMATS}


class Confinement(StrEnum):
    """Value of the setting `EXTRACT_SANDBOX`."""

    AUTO = "auto"  # as far as the kernel supports it
    KERNEL = "kernel"  # required: otherwise no crawl begins
    PROCESS = "process"  # without the kernel


@dataclass(slots=True, kw_only=True)
class ExtractOutcome:
    """Outcome of a document; complete when its statements are read.

    Attributes:
        format: of the document; unset if not read.
        decided_by: see `sniffing.decide`.
        packings: from the outside in.
        members: of an archive, the first `MAX_MEMBERS`.
        extracted: number of statements by extractor.
        links: of pages and of the header `Link`.
        facts: if requested.
        outlinks: links in its statements, as lines of the log of links.
        targets: of all of these, for followers of the same links; None if unknown.
        reservations: of header and page, unless ignored.
        left: extractors that need a bounded process and did not run.
        is_partial: the document has statements that were not read.
        uniform: items of a page in the shape of extruct, as JSON, if they were wanted.
        faults: one per reason, in order.
    """

    format: formats.Format | None = None
    decided_by: str = ""
    packings: tuple[str, ...] = ()
    members: list[ArchiveMember] = field(default_factory=list)
    n_members: int = 0
    extracted: Counter[str] = field(default_factory=Counter)
    links: set[Link] = field(default_factory=set)
    facts: DocumentFacts = NO_FACTS
    outlinks: bytes = b""
    targets: set[bytes] | None = None
    reservations: Reservations = NOTHING
    left: frozenset[str] = frozenset()
    n_quads: int = 0
    is_partial: bool = False
    uniform: str = ""
    faults: list[Fault] = field(default_factory=list)

    def to_json(self) -> bytes:
        """Encode the outcome."""
        members = {name: getattr(self, name) for name in self.__slots__} | {
            "format": self.format and self.format.name,
            "members": [(m.name, m.format, m.n_quads) for m in self.members],
            "links": [(x.url, x.relation, x.media_type) for x in self.links],
            "outlinks": self.outlinks.decode("latin-1"),
            "targets": None,
            "reservations": asdict(self.reservations),
            "left": sorted(self.left),
            "faults": [(f.reason, f.detail, f.count, f.part) for f in self.faults],
        }
        return json.dumps(members).encode()

    @classmethod
    def from_json(cls, text: bytes) -> Self:
        """Decode the result of `to_json`."""
        members: dict[str, Any] = json.loads(text)
        members["format"] = _FORMATS.get(members["format"])
        members["extracted"] = Counter(members["extracted"])
        members["packings"] = tuple(members["packings"])
        members["members"] = [
            ArchiveMember(name=name, format=format_name, n_quads=n)
            for name, format_name, n in members["members"]
        ]
        members["links"] = {
            Link(url, Relation(relation), media_type)
            for url, relation, media_type in members["links"]
        }
        facts = DocumentFacts(*members["facts"])
        members["facts"] = NO_FACTS if facts == NO_FACTS else facts
        members["outlinks"] = members["outlinks"].encode("latin-1")
        stated = members["reservations"]
        stated["directives"] = tuple(stated["directives"])
        members["reservations"] = Reservations(**stated)
        members["left"] = frozenset(members["left"])
        members["faults"] = [
            Fault(Reason(reason), detail, count, part)
            for reason, detail, count, part in members["faults"]
        ]
        return cls(**members)


@dataclass(kw_only=True)
class BulkOutput:
    """Options for the child."""

    follow: LinkPolicy  # selects the links
    wants_links: bool  # whether to look for links


def encode_chunk(chunk: QuadChunk) -> bytes:
    """Encode a chunk that is packed."""
    packed, *content = chunk.packed or DeflatePiece(b"", 0, 0, b"")
    near, host, n_near, others = chunk.links or NO_LINKS
    head = _BULK_HEAD.pack(
        *(*content, chunk.n_quads, len(packed)),
        *(len(near), len(host), n_near, len(others), chunk.is_describing),
    )
    return b"".join((head, packed, near, host, others))


def decode_chunk(payload: bytes) -> QuadChunk:
    """Decode the result of `encode_chunk`."""
    crc, n_content, digest, *numbers = _BULK_HEAD.unpack_from(payload)
    n_quads, n_packed, *lengths, is_describing = numbers
    n_links, n_host, n_near, n_others = lengths
    fields = []
    end = _BULK_HEAD.size
    for length in (n_packed, n_links, n_host, n_others):
        begin, end = end, end + length
        fields.append(payload[begin:end])
    packed, near, host, others = fields
    links = FoundLinks(near, host, n_near, others)
    piece = DeflatePiece(packed, crc, n_content, digest)
    return QuadChunk(b"", n_quads, links, piece, is_describing=is_describing)


@dataclass(slots=True, kw_only=True)  # creating a frozen one takes three times as long
class ReadingJob:
    """Metadata of a document, and options of the reading."""

    url: str  # of the document, after redirects, without fragment
    graph: str | None  # of its statements; None: the default graph
    media_type: str = ""
    charset: str = ""
    http_links: str = ""  # of the header `Link`, or empty
    base: str | None = None  # of relative IRIs; `url` if unset
    key: str = ""  # source of the blank node labels; `url` if empty
    # see `rdf.graphs.GraphRule`
    trust: Trust = "same-origin"
    wants_hyperlinks: bool = False  # of pages, in addition to links to data
    # left by a first reading of a page, see `rest`; None: all that the page needs
    extractors: frozenset[str] | None = None
    rules: str = ""  # file or folder of scraping rules, or empty
    custom: tuple[CustomExtractor, ...] = ()
    reservations: Reservations = NOTHING  # of the headers of the response
    # the reservations to obey, including those in a page
    reservation_policy: ReservationPolicy = IGNORE_ALL
    at_secs: float = 0.0  # Unix time of the response
    limits: ParseLimits = DEFAULT_LIMITS
    unpack: UnpackLimits = field(default_factory=UnpackLimits)
    wants_fingerprint: bool = False  # for comparing documents
    outlinks: OutlinkOptions | None = None  # options of the log of links
    wants_uniform: bool = False  # items of a page in the shape of extruct
    bulk: BulkOutput | None = None  # options for packing the statements in a child

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
            # Labels of blank nodes must not collide with those of the first reading.
            key=f"{self.key or self.url}#rest",
            limits=replace(self.limits, n_quads=n_quads),
        )

    def to_bytes(self) -> bytes:
        """Encode the job."""
        return pickle.dumps(self)

    @classmethod
    def from_bytes(cls, payload: bytes) -> Self:
        """Decode the result of `to_bytes`, which must come from the parent."""
        job: Self = pickle.loads(payload)  # noqa: S301  # see above
        return job
