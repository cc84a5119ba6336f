"""Write the difference of two states as an RDF Patch.

https://afs.github.io/rdf-delta/rdf-patch.html; a line for each added or deleted
statement, in its graph. Blank nodes have their labels of the log, in the form of an
IRI, `<_:label>`, which Jena reads as the same node. A statement that one document no
longer has stays if another document has it in the same graph.

The statements are spread over 256 scratch files, and one of them is in memory at a
time. Statements of unchanged documents are written there only if a Bloom filter may
contain them, because a deleted statement has the same bits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final, TextIO
from uuid import NAMESPACE_URL, uuid5

from rdfcrawl.stores.changes.comparing import ChangeKind, DocumentChange, LogComparison
from rdfcrawl.stores.log.documents import LogDocument

_FILES: Final = 256
_FILTER_BITS: Final = 1 << 27  # 16 MiB
_GOES, _COMES, _STAYS = b"-+="
_FORMER, _NOW = 1, 2
# A blank node; strings and IRIs match first.
_LABEL: Final = re.compile(rb'("(?:[^"\\]|\\.)*+"|\\.|<[^<> ]*+>)|_:(\S+)')


class _GoneStatements:
    """A Bloom filter of deleted statements."""

    def __init__(self) -> None:
        self._bits = bytearray(_FILTER_BITS // 8)

    def add(self, digest: bytes) -> None:
        for bit in _bits(digest):
            self._bits[bit >> 3] |= 1 << (bit & 7)

    def may_have(self, digest: bytes) -> bool:
        return all(self._bits[bit >> 3] >> (bit & 7) & 1 for bit in _bits(digest))


def _bits(digest: bytes) -> Iterator[int]:
    for begin in (0, 4, 8):
        yield int.from_bytes(digest[begin : begin + 4]) % _FILTER_BITS


def write_patch(
    comparison: LogComparison, file: TextIO, *, scratch: Path | None = None
) -> None:
    """Write the patch that turns the earlier state into the later one.

    Args:
        comparison: no document may lack its earlier statements.
        file: for the patch.
        scratch: folder of scratch files; by default that of the system.

    Raises:
        OSError: a disk cannot be read, or is full.
    """
    file.write(f"H id <urn:uuid:{uuid5(NAMESPACE_URL, repr(_name(comparison)))}> .\n")
    file.write("TX .\n")
    folder = None if scratch is None else str(scratch)
    with ExitStack() as stack:
        files = [stack.enter_context(TemporaryFile(dir=folder)) for _ in range(_FILES)]
        gone = _GoneStatements()
        for each in comparison.statements():
            if each.is_former:
                _spread(files, _GOES, _digests(each), gone)
            elif each.kind in {ChangeKind.NEW, ChangeKind.CHANGED}:
                _spread(files, _COMES, _digests(each))
        for each in comparison.changes():
            if each.kind is ChangeKind.UNCHANGED:
                found = ((x, line) for x, line in _digests(each) if gone.may_have(x))
                _spread(files, _STAYS, found)
        for part in files:
            _write_part(part, file)
    file.write("TC .\n")


def _name(comparison: LogComparison) -> tuple[object, ...]:
    latest_ms = max((x.document.version_ms for x in comparison.changes()), default=0)
    return comparison.log.identity, comparison.start.name, latest_ms


def _digests(change: DocumentChange) -> Iterator[tuple[bytes, bytes]]:
    for piece in change.document.pieces():
        for line in piece.splitlines(keepends=True):
            yield blake2b(line, digest_size=13).digest(), line


def _spread(
    files: Sequence[IO[bytes]],
    kind: int,
    found: Iterable[tuple[bytes, bytes]],
    gone: _GoneStatements | None = None,
) -> None:
    for digest, line in found:
        files[digest[12]].write(bytes((kind,)) + line)
        if gone is not None:
            gone.add(digest)


def _write_part(part: IO[bytes], file: TextIO) -> None:
    states: dict[bytes, int] = {}
    part.seek(0)
    for line in part:
        state = {_GOES: _FORMER, _COMES: _NOW, _STAYS: _FORMER | _NOW}[line[0]]
        states[line[1:]] = states.get(line[1:], 0) | state
    for kind, wanted in (("D", _FORMER), ("A", _NOW)):
        for line, state in states.items():
            if state == wanted:
                file.write(f"{kind} {_with_labels(line).decode()}")


def _with_labels(line: bytes) -> bytes:
    r"""Return a statement with its blank nodes in the form `<_:label>`.

    >>> _with_labels(b"_:a <x:p> _:b-2 <x:g> .\n")
    b'<_:a> <x:p> <_:b-2> <x:g> .\n'
    >>> _with_labels(b'_:a <x:p> <<( _:b <x:_:p> "_:c" )>> <x:g> .\n')
    b'<_:a> <x:p> <<( <_:b> <x:_:p> "_:c" )>> <x:g> .\n'
    """
    if b"_:" not in line:
        return line
    return _LABEL.sub(lambda found: found[1] or b"<_:" + found[2] + b">", line)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementDifference:
    """The difference of two versions of a document, in N-Quads.

    Blank nodes have their labels of the log, as in patches: statements that differ only
    in these labels count as different.

    Attributes:
        added: the first statements that only the later version has.
        n_added: number of all of them.
        removed: the first statements that only the earlier version has.
        n_removed: number of all of them.
        n_kept: statements that both have.
        is_cut: a version was too long, and was compared only in part.
    """

    added: tuple[str, ...]
    n_added: int
    removed: tuple[str, ...]
    n_removed: int
    n_kept: int
    is_cut: bool


def compare_versions(
    former: LogDocument, now: LogDocument, *, most_bytes: int, most_listed: int
) -> StatementDifference:
    """Return how the statements of two versions differ.

    Args:
        former: the earlier version.
        now: the later version.
        most_bytes: compare at most so many bytes of each version.
        most_listed: return at most so many statements of each kind.

    Raises:
        OSError: a segment is gone or cannot be read.
        TornMember: a segment has been damaged.
    """
    current, earlier = (dict.fromkeys(_lines(x, most_bytes)) for x in (now, former))
    added = [line for line in current if line not in earlier]
    removed = [line for line in earlier if line not in current]
    return StatementDifference(
        added=tuple(_texts(added, most_listed)),
        n_added=len(added),
        removed=tuple(_texts(removed, most_listed)),
        n_removed=len(removed),
        n_kept=len(current) - len(added),
        is_cut=max(former.n_bytes, now.n_bytes) > most_bytes,
    )


def _lines(document: LogDocument, most_bytes: int) -> Iterator[bytes]:
    left = most_bytes
    for piece in document.pieces():
        for line in piece.splitlines():
            left -= len(line) + 1
            if left < 0:
                return
            yield line


def _texts(lines: list[bytes], most: int) -> Iterator[str]:
    return (line.decode("utf-8", "replace") for line in islice(lines, most))
