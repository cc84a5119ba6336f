"""Find members of the logs that may mention a URI: all, or those an index names."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, Self

from rdfcrawl.analysis.crawl_index.members import read_pieces
from rdfcrawl.analysis.crawl_index.uri_places import MemberPlace, PlaceRole, UriIndex
from rdfcrawl.stores.reading import SegmentDamage, iter_lines, iter_read, reading
from rdfcrawl.stores.segment_file import (
    SEAL,
    GzipMember,
    TornMember,
    iter_content,
    list_segments,
)
from rdfcrawl.uri import NormalForm

_Places = dict[tuple[str, int], MemberPlace]

_KINDS: Final = {
    PlaceRole.FETCH: "provenance",
    PlaceRole.SAME_CONTENT: "provenance",
    PlaceRole.STATEMENTS: "quads",
    PlaceRole.LINKS_FROM: "links",
    PlaceRole.LINKS_TO: "links",
    PlaceRole.DECISION: "decisions",
}


class FoundContent(NamedTuple):
    """A decompressed member, or a piece of a large one.

    Attributes:
        path: of its segment.
        member: position in the segment.
        content: complete lines; empty for members of documents, which are read later.
        mark: first line of the document, if the piece begins within a document;
            otherwise empty.
    """

    path: Path
    member: GzipMember
    content: bytes
    mark: bytes = b""


class NamingMembers(NamedTuple):
    """Members of a log that may mention a URI.

    Attributes:
        found: members to read, in the order of the log; one member or piece at a time
            is in memory.
        n_left_out: number of mentions in the members left out, by role.
    """

    found: Iterator[FoundContent]
    n_left_out: Mapping[PlaceRole, int]


class _Segment(NamedTuple):
    path: Path
    offset: int  # the index covers the bytes before it
    is_read: bool  # the bytes after it


class SearchedLogs:
    """The logs of a crawl, searched by an index and otherwise member by member.

    An incomplete index, or one that knows a segment only as it was before a compaction,
    makes a search slower, never wrong: all that it lacks is scanned. Without an index,
    everything is scanned, which takes seconds for a million documents. As a context
    manager, it keeps segments from being removed.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.
        index: of these logs; None: there is none.
        most_bytes: limit of compressed bytes to scan in each log; None: no limit.
        most_member_bytes: longest compressed member to read among those that the index
            names; None: no limit.
        most_members: number of members to read, first and last, among those that the
            index names for each role; None: all.

    Attributes:
        n_unread_bytes: compressed bytes of all logs that are not in the index.
        is_cut: `n_unread_bytes` exceeded the limit.
        caught_up_ms: Unix time when the index was complete; 0: never.
    """

    def __init__(
        self,
        root: Path,
        index: UriIndex | None = None,
        *,
        most_bytes: int | None = None,
        most_member_bytes: int | None = None,
        most_members: int | None = None,
    ) -> None:
        self._root, self._index = root, index
        self._most_bytes, self._most_members = most_bytes, most_members
        self._most_member_bytes = most_member_bytes
        self._locks = ExitStack()
        self._segments: dict[str, dict[str, _Segment]] = {}
        self.n_unread_bytes = 0
        self.is_cut = False
        self.caught_up_ms = index.caught_up_ms if index is not None else 0

    @classmethod
    def indexed(cls, root: Path, normal_form: NormalForm, **limits: int | None) -> Self:
        """Return the logs of a crawl with their index, if there is one.

        Args:
            root: of the crawl.
            normal_form: likewise.
            limits: see the class.

        Raises:
            sqlite3.Error: the index cannot be read.
        """
        return cls(root, UriIndex.open(root, normal_form), **limits)

    def __enter__(self) -> Self:
        if self._index is not None:
            self._locks.enter_context(closing(self._index))
        for kind in sorted(set(_KINDS.values())):
            self._segments[kind] = {}
            if (self._root / kind).is_dir():
                self._locks.enter_context(reading(self._root / kind))
                self._list(kind)
        return self

    def __exit__(self, *_: object) -> None:
        self._locks.close()

    def _list(self, kind: str) -> None:
        offsets = self._index.offsets if self._index is not None else {}
        left = self._most_bytes
        for path in list_segments(self._root / kind):
            name = f"{kind}/{path.name}"
            offset = offsets.get(name, 0)
            n_bytes = _n_bytes(path) - offset
            is_read = left is None or n_bytes <= left
            self._segments[kind][name] = _Segment(path, offset, is_read)
            if n_bytes > len(SEAL):  # a seal alone has no content
                self.n_unread_bytes += n_bytes
                self.is_cut |= not is_read
                if left is not None and is_read:
                    left -= n_bytes

    def naming(
        self,
        mark: int,
        roles: Sequence[PlaceRole],
        wants: Callable[[bytes], bool],
        report: Callable[[SegmentDamage], None],
    ) -> NamingMembers:
        """Return the members of one log that may mention a URI.

        Args:
            mark: fingerprint of its normal form.
            roles: of the URI in the mention; all of one log.
            wants: gets the content of a member that is not indexed, and returns whether
                to read it.
            report: called with each damage.

        Raises:
            OSError: the disk cannot be read.
            sqlite3.Error: the index cannot be read.
        """
        kind = _KINDS[roles[0]]
        segments = self._segments[kind]
        chosen: _Places = {}
        n_left_out: dict[PlaceRole, int] = {}
        others: list[tuple[PlaceRole, MemberPlace]] = []
        for role in roles if self._index is not None else ():
            places, n_left_out[role] = self._places(mark, role, segments)
            read = self._chosen(places)
            chosen |= {(each.segment, each.offset): each for each in read}
            others += [(role, each) for each in places]
        for role, each in others:
            if (each.segment, each.offset) not in chosen:
                n_left_out[role] += each.times
        reader = _MemberReader(wants, report, kind)
        return NamingMembers(_iter_found(segments, chosen, reader), n_left_out)

    def _chosen(self, places: list[MemberPlace]) -> list[MemberPlace]:
        """Return the members to read: not too many, and none too long."""
        if (most := self._most_member_bytes) is not None:
            places = [each for each in places if each.n_bytes <= most]
        if self._most_members is None or len(places) <= self._most_members:
            return places
        half = self._most_members // 2
        return places[:half] + places[-half:]

    def _places(
        self, mark: int, role: PlaceRole, segments: Mapping[str, _Segment]
    ) -> tuple[list[MemberPlace], int]:
        """Return the indexed places, in log order, and the number left out."""
        if self._index is None:
            return [], 0
        found = self._index.find(mark, role)
        # Segments that do not exist were replaced by a compaction.
        order = {name: number for number, name in enumerate(segments)}
        places = [each for each in found.places if each.segment in order]
        places.sort(key=lambda each: (order[each.segment], each.offset))
        return places, found.n_left_out


class _MemberReader(NamedTuple):
    wants: Callable[[bytes], bool]
    report: Callable[[SegmentDamage], None]
    kind: str

    def read(self, path: Path, fd: int, member: GzipMember) -> Iterator[FoundContent]:
        if self.kind == "quads":
            return iter((FoundContent(path, member, b""),))
        pieces = read_pieces(fd, member)
        return (FoundContent(path, member, x.content, x.mark) for x in pieces)

    def read_wanted(
        self, path: Path, fd: int, member: GzipMember
    ) -> Iterator[FoundContent]:
        if self.kind == "quads":
            is_wanted = any(map(self.wants, iter_lines(iter_content(fd, member))))
            return iter((FoundContent(path, member, b""),) if is_wanted else ())
        return (
            piece
            for piece in self.read(path, fd, member)
            if self.wants(piece.content) or self.wants(piece.mark)
        )


def _iter_found(
    segments: Mapping[str, _Segment], places: _Places, reader: _MemberReader
) -> Iterator[FoundContent]:
    by_segment: defaultdict[str, list[int]] = defaultdict(list)
    for name, offset in sorted(places):
        by_segment[name].append(offset)
    for name, segment in segments.items():
        if name in by_segment:
            placed = [places[name, offset] for offset in by_segment[name]]
            yield from _iter_placed(segment.path, placed, reader)
        if segment.is_read:
            read = partial(reader.read_wanted, segment.path)
            for found, _ in iter_read(
                segment.path, name, segment.offset, read=read, on_damage=reader.report
            ):
                yield from found


def _iter_placed(
    path: Path, places: Sequence[MemberPlace], reader: _MemberReader
) -> Iterator[FoundContent]:
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        for place in places:
            member = GzipMember(place.offset, place.n_bytes, is_synced=True)
            with suppress(TornMember):  # it was damaged since
                yield from reader.read(path, fd, member)
    finally:
        os.close(fd)


def _n_bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
