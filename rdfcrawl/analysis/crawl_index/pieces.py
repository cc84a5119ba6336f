"""Split members of the logs into pieces of complete lines, to limit memory."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.core.namespaces import PROV, RDF_TYPE
from rdfcrawl.stores.segment_file import TornMember, is_whole, iter_content

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.stores.segment_file import GzipMember

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
