"""Members of the logs of a crawl that an index has not read yet, and what they hold.

Members are split into pieces of complete lines, to limit memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from rdfcrawl.analysis.urldb.observations import (
    iter_described,
    number_of,
    text_of,
    time_of,
)
from rdfcrawl.core.namespaces import HTTP, PROV, RC, RDF_TYPE, SQUIRREL
from rdfcrawl.stores.reading import SegmentDamage, iter_read, reading
from rdfcrawl.stores.segment_file import (
    GzipMember,
    TornMember,
    is_whole,
    iter_content,
    list_segments,
)

PIECE_BYTES: Final = 4 * 1024 * 1024
"""Content of a piece; a piece that ends within an activity is longer."""
MOST_PIECE_BYTES: Final = 16 * 1024 * 1024
"""Maximum content: activities are split here, and longer lines dropped."""
_DOCUMENT: Final = b"#\tdocument "
# Precedes the first line of an activity, which has its type.
_ACTIVITY: Final = re.compile(
    rb"\n(?=<[^>\n]*> <%s> <%s>)"
    % (re.escape(RDF_TYPE.encode()), re.escape(f"{PROV}Activity".encode()))
)


class MemberPiece(NamedTuple):
    """A part of a member, or all of it.

    Attributes:
        content: complete lines.
        mark: line of the document to which the first lines belong, if the piece starts
            within a document; otherwise empty.
        is_last: this is the last piece of the member.
    """

    content: bytes
    mark: bytes
    is_last: bool


def read_pieces(
    fd: int, member: GzipMember, *, is_provenance: bool
) -> Iterator[MemberPiece]:
    """Return the pieces of a member, decompressed on demand.

    Args:
        fd: of the segment; keep it open until the last piece was read.
        member: its place there.
        is_provenance: pieces start at activities; otherwise at lines.

    Raises:
        TornMember: the member is damaged; raised here, before any piece is returned.
    """
    pieces = _iter_pieces(iter_content(fd, member), is_provenance=is_provenance)
    first = next(pieces)
    # The checksum is at the end, so a large member is read twice.
    if not first.is_last and not is_whole(fd, member):
        raise TornMember(member)
    return chain((first,), pieces)


def _iter_pieces(
    blocks: Iterator[bytes], *, is_provenance: bool
) -> Iterator[MemberPiece]:
    mark, kept, is_in_long_line = b"", bytearray(), False
    for block in blocks:
        begin = 0
        if is_in_long_line:
            if not (begin := block.find(b"\n") + 1):
                continue
            is_in_long_line = False
        kept += block[begin:]
        if len(kept) < PIECE_BYTES:
            continue
        is_full = len(kept) >= MOST_PIECE_BYTES
        if end := _last_cut(kept, is_provenance=is_provenance and not is_full):
            content = bytes(kept[:end])
            del kept[:end]
            yield MemberPiece(content, mark, is_last=False)
            mark = _last_mark(content) or mark
        elif is_full:  # a line cut in two could be read as two lines
            kept.clear()
            is_in_long_line = True
    yield MemberPiece(bytes(kept), mark, is_last=True)


def _last_cut(content: bytearray, *, is_provenance: bool) -> int:
    """Return the start of the last activity, or of the last line; 0: none."""
    if not is_provenance:
        return content.rfind(b"\n") + 1
    return max((found.end() for found in _ACTIVITY.finditer(content)), default=0)


def _last_mark(content: bytes) -> bytes:
    at = content.rfind(b"\n" + _DOCUMENT) + 1
    if not content.startswith(_DOCUMENT, at):
        return b""
    return content[at : content.index(b"\n", at) + 1]


_CRAWLED: Final = f"{SQUIRREL}crawled"
_STATUS: Final = f"{SQUIRREL}status"
_N_STATEMENTS: Final = f"{SQUIRREL}approxNumberOfTriples"
_STARTED: Final = f"{PROV}startedAtTime"
_ENDED: Final = f"{PROV}endedAtTime"
_HTTP_STATUS: Final = f"{HTTP}statusCodeValue"
_N_BYTES: Final = f"{RC}bytes"
_REASON: Final = f"{RC}reason"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedActivity:
    """One crawl of one URI.

    Attributes:
        uri: as given by the frontier.
        started_ms: Unix time; 0 if no request was sent.
        ended_ms: Unix time; 0 if no request was sent.
        status: `sq:status`.
        http_status: of the last response; 0 without one.
        n_statements: number of stored statements.
        n_bytes: of the decoded body; 0 if unknown.
        reason: of the first fault; empty if there is none.
        facts: all terms of the activity and its response, by predicate, as N-Quads.
    """

    uri: str
    started_ms: int
    ended_ms: int
    status: str
    http_status: int
    n_statements: int
    n_bytes: int
    reason: str
    facts: Mapping[str, str]


def iter_indexed(lines: bytes) -> Iterator[IndexedActivity]:
    """Yield the activities in complete lines of provenance."""
    for facts, _ in iter_described(lines.decode("utf-8", "replace")):
        if _CRAWLED in facts:
            yield _indexed(facts)


def _indexed(facts: dict[str, str]) -> IndexedActivity:
    def text(name: str) -> str:
        return text_of(facts[name]) if name in facts else ""

    return IndexedActivity(
        uri=text(_CRAWLED),
        started_ms=time_of(facts.get(_STARTED, "")),
        ended_ms=time_of(facts.get(_ENDED, "")),
        status=text(_STATUS),
        http_status=number_of(facts.get(_HTTP_STATUS), 0),
        n_statements=number_of(facts.get(_N_STATEMENTS), 0),
        n_bytes=number_of(facts.get(_N_BYTES), 0),
        reason=text(_REASON),
        facts=facts,
    )


KINDS: Final = ("provenance", "quads", "links", "decisions")


@dataclass(frozen=True)
class LogMember:
    """One member of a segment, or a piece of a large one.

    Pieces of provenance start at activities, others at lines.

    Attributes:
        kind: of the log, one of `KINDS`.
        segment: its name in that folder.
        offset: of the member in the segment.
        n_bytes: compressed size of the member.
        content: complete lines.
        mark: line of the document to which the first lines belong, if a piece starts
            within a document; otherwise empty.
        is_last: this is the last piece of the member.
    """

    kind: str
    segment: str
    offset: int
    n_bytes: int
    content: bytes
    mark: bytes = b""
    is_last: bool = True

    @property
    def name(self) -> str:
        """Name of the segment in checkpoints: `kind/segment`."""
        return f"{self.kind}/{self.segment}"

    @property
    def end(self) -> int:
        """Offset of the end of the member."""
        return self.offset + self.n_bytes

    @cached_property
    def activities(self) -> tuple[IndexedActivity, ...]:
        """Activities in the provenance; empty for other logs."""
        if self.kind != "provenance":
            return ()
        return tuple(iter_indexed(self.content))


def iter_new_members(root: Path, offsets: Mapping[str, int]) -> Iterator[LogMember]:
    """Yield the members after some offsets, log by log, if they are complete.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`; missing logs have no members.
        offsets: by `LogMember.name`, the end of the part already read.

    Raises:
        OSError: the disk cannot be read.
    """
    for kind in KINDS:
        if not (root / kind).is_dir():
            continue
        with reading(root / kind):
            for path in list_segments(root / kind):
                start = offsets.get(f"{kind}/{path.name}", 0)
                yield from _read_segment(path, kind, start)


def _read_segment(path: Path, kind: str, start: int) -> Iterator[LogMember]:
    def read(fd: int, member: GzipMember) -> Iterator[LogMember]:
        place = kind, path.name, member.offset, member.n_bytes
        pieces = read_pieces(fd, member, is_provenance=kind == "provenance")
        return (LogMember(*place, *piece) for piece in pieces)

    for pieces, _ in iter_read(path, path.name, start, read=read, on_damage=_ignore):
        yield from pieces


def _ignore(_damage: SegmentDamage) -> None:
    """Skip damaged parts; readers of the log report them."""
