"""Members of the logs in pieces of whole lines, so that a large one takes no memory."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.core.namespaces import PROV, RDF_TYPE
from rdfcrawl.stores.members import TornMember, is_whole, iter_content

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.stores.members import GzipMember

PIECE_BYTES: Final = 4 * 1024 * 1024
"""Content of a piece; one within an activity has more."""
MOST_PIECE_BYTES: Final = 16 * 1024 * 1024
"""No piece has more: activities are cut here, and longer lines left out."""
_DOCUMENT: Final = b"#\tdocument "
# Before the first line of an activity, which has its type.
_ACTIVITY: Final = re.compile(
    rb"\n(?=<[^>\n]*> <%s> <%s>)"
    % (re.escape(RDF_TYPE.encode()), re.escape(f"{PROV}Activity".encode()))
)


class MemberPiece(NamedTuple):
    """A part of a member, or the whole of it.

    Attributes:
        content: whole lines.
        mark: line of the document to which the first ones belong, if the piece begins
            within that; empty otherwise.
        is_last: nothing of the member follows.
    """

    content: bytes
    mark: bytes
    is_last: bool


def read_pieces(
    fd: int, member: GzipMember, *, is_provenance: bool
) -> Iterator[MemberPiece]:
    """Return the pieces of a member, inflated as each is taken.

    Args:
        fd: of the segment, open until the last piece is taken.
        member: its place there.
        is_provenance: pieces begin at activities; otherwise at lines.

    Raises:
        TornMember: the member is damaged; raised here, before any piece is taken.
    """
    pieces = _iter_pieces(iter_content(fd, member), is_provenance=is_provenance)
    first = next(pieces)
    # The checksum stands at the end of a member, which costs a large one a reading.
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
        elif is_full:  # what is cut within a line could be read as another one
            kept.clear()
            is_in_long_line = True
    yield MemberPiece(bytes(kept), mark, is_last=True)


def _last_cut(content: bytearray, *, is_provenance: bool) -> int:
    """Return where the last activity begins, or else the last line; 0: nowhere."""
    if not is_provenance:
        return content.rfind(b"\n") + 1
    return max((found.end() for found in _ACTIVITY.finditer(content)), default=0)


def _last_mark(content: bytes) -> bytes:
    at = content.rfind(b"\n" + _DOCUMENT) + 1
    if not content.startswith(_DOCUMENT, at):
        return b""
    return content[at : content.index(b"\n", at) + 1]
