"""Members of the logs that may say something of a URI: all, or those an index names."""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import ExitStack, closing, suppress
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from rdfcrawl.analysis.crawl_index.pieces import read_pieces
from rdfcrawl.analysis.crawl_index.uri_lookup import UriIndex
from rdfcrawl.analysis.crawl_index.uri_places import PlaceRole
from rdfcrawl.stores.log.segments import iter_read
from rdfcrawl.stores.members import SEAL, GzipMember, TornMember, iter_content
from rdfcrawl.stores.reading import iter_lines
from rdfcrawl.stores.segment_file import list_segments
from rdfcrawl.stores.segment_lock import reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from rdfcrawl.analysis.crawl_index.uri_lookup import MemberPlace
    from rdfcrawl.stores.log.segments import SegmentDamage
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
    """A member, inflated, or a piece of a large one.

    Attributes:
        path: of its segment.
        member: its place there.
        content: whole lines; empty for members of documents, which are read later.
        mark: line of the document to which the first ones belong, if a piece begins
            within that; empty otherwise.
    """

    path: Path
    member: GzipMember
    content: bytes
    mark: bytes = b""


class NamingMembers(NamedTuple):
    """Members of a log that may say something of a URI.

    Attributes:
        found: those that are read, in the order of the log; one member or piece at a
            time is in memory.
        n_left_out: how often the others say that, by role.
    """

    found: Iterator[FoundContent]
    n_left_out: Mapping[PlaceRole, int]


class _Segment(NamedTuple):
    path: Path
    offset: int  # the index has what is before
    is_read: bool  # what is behind


class SearchedLogs:
    """The logs of a crawl, searched by an index and otherwise member by member.

    An index that is behind, or that knows a segment only as it was before a compaction,
    makes a search slower, never wrong: what the index lacks is looked through. Without
    one that is all, which takes seconds for a million documents. A context, in which
    no segment is removed.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.
        index: of these logs; None: there is none.
        most_bytes: of each log, packed, that are looked through; None: all.
        most_member_bytes: packed, of a member that the index names; longer ones are
            not read. None: all are.
        most_members: of those that the index names for each role, the first and last
            that are read; None: all.

    Attributes:
        has_index: there is an index of these logs.
        n_unread_bytes: of all logs, packed, that are not in the index.
        is_cut: that was more than was to be looked through.
        caught_up_ms: when the index had all that was there, Unix time; 0: never.
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
        self.has_index = index is not None
        self.n_unread_bytes = 0
        self.is_cut = False
        self.caught_up_ms = index.caught_up_ms if index is not None else 0

    @classmethod
    def indexed(
        cls,
        root: Path,
        normal_form: NormalForm,
        *,
        most_bytes: int | None = None,
        most_member_bytes: int | None = None,
        most_members: int | None = None,
    ) -> Self:
        """Return the logs of a crawl with their index, if there is one.

        Raises:
            sqlite3.Error: the index cannot be read.
        """
        return cls(
            root,
            UriIndex.open(root, normal_form),
            most_bytes=most_bytes,
            most_member_bytes=most_member_bytes,
            most_members=most_members,
        )

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
            if n_bytes > len(SEAL):  # a seal alone holds nothing
                self.n_unread_bytes += n_bytes
                self.is_cut |= not is_read
                if left is not None and is_read:
                    left -= n_bytes

    def naming(
        self,
        mark: int,
        roles: Sequence[PlaceRole],
        wants: Callable[[bytes], bool],
        tell: Callable[[SegmentDamage], None],
    ) -> NamingMembers:
        """Return the members of one log that may say something of a URI.

        Args:
            mark: fingerprint of its normal form.
            roles: what is said; all of one log.
            wants: told the content of a member, returns whether to read what no index
                knows.
            tell: of damage.

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
        reader = _MemberReader(wants, tell, kind)
        return NamingMembers(_iter_found(segments, chosen, reader), n_left_out)

    def _chosen(self, places: list[MemberPlace]) -> list[MemberPlace]:
        """Return the members that are read: not too many, and none that is too long."""
        if (most := self._most_member_bytes) is not None:
            places = [each for each in places if each.n_bytes <= most]
        if self._most_members is None or len(places) <= self._most_members:
            return places
        half = self._most_members // 2
        return places[:half] + places[-half:]

    def _places(
        self, mark: int, role: PlaceRole, segments: Mapping[str, _Segment]
    ) -> tuple[list[MemberPlace], int]:
        """Return what the index names, in the order of the log, and what else."""
        if self._index is None:
            return [], 0
        found = self._index.find(mark, role)
        # Segments that are not there were replaced by a compaction.
        order = {name: number for number, name in enumerate(segments)}
        places = [each for each in found.places if each.segment in order]
        places.sort(key=lambda each: (order[each.segment], each.offset))
        return places, found.n_left_out


class _MemberReader(NamedTuple):
    wants: Callable[[bytes], bool]
    tell: Callable[[SegmentDamage], None]
    kind: str

    def read(self, path: Path, fd: int, member: GzipMember) -> Iterator[FoundContent]:
        if self.kind == "quads":
            return iter((FoundContent(path, member, b""),))
        pieces = read_pieces(fd, member, is_provenance=self.kind == "provenance")
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
                segment.path, name, segment.offset, read=read, on_damage=reader.tell
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
