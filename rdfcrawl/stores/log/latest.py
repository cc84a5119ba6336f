"""Find the latest version of each document in a log, in bounded memory.

The log is read twice. The first pass writes 56 bytes per version to one of 256 scratch
files, chosen by the hash of the document; in each file, one bit per version marks the
latest. 100 million versions take 5.6 GB of scratch space, 13 MB for the bits, and about
100 MB for one file at a time. Larger files are processed in parts.
"""

from __future__ import annotations

import os
import struct
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import blake2b
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.stores.identity import read_identity
from rdfcrawl.stores.log.crawl_log import CrawlLog
from rdfcrawl.stores.segment_lock import reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import IO, Any

    from rdfcrawl.stores.log.documents import LogDocument

# Key of the document, version, digest, segment, number in the segment, length.
_RECORD: Final = struct.Struct(">16sQ16sIIQ")
_FILES: Final = 256
_HELD_BYTES: Final = 64 * 1024  # of each file in memory
_READ_RECORDS: Final = 4096
_PART_RECORDS: Final = 500_000  # in memory, of some 250 bytes each


class StoredPiece(NamedTuple):
    """Complete lines of one document; its pieces follow each other.

    Attributes:
        graph: IRI of the document.
        version_ms: start of its fetch, Unix time in ms.
        quads: N-Quads, at most about 1 MiB; empty only in the single piece of a
            document without statements.
    """

    graph: str
    version_ms: int
    quads: bytes


def iter_latest(directory: Path) -> Iterator[StoredPiece]:
    """Yield the latest version of each document, piece by piece.

    Args:
        directory: `CRAWL_DIR/<CRAWL_ID>/quads`.

    Raises:
        ConfigError: no crawl has stored anything there, or the log was replaced.
        OSError: a disk cannot be read, or is full.
    """
    for document in iter_latest_documents(CrawlLog(directory.parent)):
        if document.is_tombstone:
            yield StoredPiece(document.graph, document.version_ms, b"")
        for piece in document.pieces():
            yield StoredPiece(document.graph, document.version_ms, piece)


def iter_latest_documents(
    log: CrawlLog, *, scratch: Path | None = None
) -> Iterator[LogDocument]:
    """Yield the latest version of each document, in the order of the log.

    Tombstones are included. Documents written after the start are left out, and a
    version that was written twice is yielded once.

    Args:
        log: that is read.
        scratch: folder of the scratch files; by default that of the system.

    Raises:
        ConfigError: `fresh=1` has moved the log aside while it was read.
        OSError: a disk cannot be read, or is full.
    """
    folder = log.root / "quads"
    with reading(folder):
        identity = read_identity(folder)
        segments = log.segments()
        latest = find_latest(log, segments, scratch=scratch)
        for document, number in iter_numbered(log, segments):
            if latest.has(document.segment, number):
                yield document
        log.check_kept(identity)


@dataclass(frozen=True, slots=True)
class LatestVersions:
    """Which versions in some segments are the latest of their documents.

    Attributes:
        n_versions: number of all versions, by segment.
        n_bytes: length of the statements of all versions, by segment.
        n_kept: number of latest versions, by segment.
        n_kept_bytes: length of their statements.
    """

    n_versions: Counter[str]
    n_bytes: Counter[str]
    n_kept: Counter[str]
    n_kept_bytes: Counter[str]
    _bits: dict[str, bytearray]

    def has(self, segment: str, number: int) -> bool:
        """Return whether a version is the latest.

        Args:
            segment: name of the segment.
            number: of the version in its segment, from 0.
        """
        marks = self._bits.get(segment, b"")
        return number >> 3 < len(marks) and bool(marks[number >> 3] >> (number & 7) & 1)


def find_latest(
    log: CrawlLog, segments: Sequence[Path], *, scratch: Path | None = None
) -> LatestVersions:
    """Find the latest version of each document in some segments of a log.

    Raises:
        OSError: a disk cannot be read, or is full.
    """
    folder = None if scratch is None else str(scratch)
    names: dict[str, int] = {}
    found = LatestVersions(Counter(), Counter(), Counter(), Counter(), {})
    with ExitStack() as stack:
        files: list[IO[bytes]] = [
            stack.enter_context(SpooledTemporaryFile(_HELD_BYTES, dir=folder))
            for _ in range(_FILES)
        ]
        for document, number in iter_numbered(log, segments):
            key = blake2b(document.graph.encode(), digest_size=16).digest()
            name = document.segment
            place = names.setdefault(name, len(names)), number, document.n_bytes
            files[key[0]].write(_RECORD.pack(key, *document.version, *place))
            found.n_versions[name] += 1
            found.n_bytes[name] += document.n_bytes
        _mark(files, list(names), found)
    return found


def iter_numbered(
    log: CrawlLog, segments: Sequence[Path]
) -> Iterator[tuple[LogDocument, int]]:
    """Yield all versions in some segments with their number within the segment."""
    current, number = "", 0
    for batch in log.read(log.begin(), has_provenance=False, segments=segments):
        for document in batch.documents:
            number = number + 1 if document.segment == current else 0
            current = document.segment
            yield document, number


def _mark(
    files: Iterable[IO[bytes]], names: Sequence[str], found: LatestVersions
) -> None:
    """Mark the latest versions by a bit."""
    for file in files:
        for records in iter_parts(file, _RECORD):
            latest: dict[bytes, tuple[int, bytes, int, int, int]] = {}
            for key, *version in records:
                place = tuple(version)
                if place > latest.get(key, (-1,)):
                    latest[key] = place
            for _, _, segment, number, n_bytes in latest.values():
                name = names[segment]
                marks = found._bits.setdefault(name, bytearray())  # noqa: SLF001
                marks.extend(bytes(max(0, (number >> 3) + 1 - len(marks))))
                marks[number >> 3] |= 1 << (number & 7)
                found.n_kept[name] += 1
                found.n_kept_bytes[name] += n_bytes


def iter_parts(
    file: IO[bytes], record: struct.Struct
) -> Iterator[Iterator[tuple[Any, ...]]]:
    """Yield the records of a scratch file in parts that fit in memory.

    All records of a document are in one part. Read each part before the next.

    Args:
        file: of records.
        record: its format; the key of the document comes first.
    """
    n_parts = 1 + file.seek(0, os.SEEK_END) // (record.size * _PART_RECORDS)
    for part in range(n_parts):
        yield _records(file, record, part, n_parts)


def _records(
    file: IO[bytes], record: struct.Struct, part: int, n_parts: int
) -> Iterator[tuple[Any, ...]]:
    file.seek(0)
    while some := file.read(_READ_RECORDS * record.size):
        if n_parts == 1:
            yield from record.iter_unpack(some)
            continue
        for found in record.iter_unpack(some):
            # The first byte already selects the file.
            if int.from_bytes(found[0][1:5], "big") % n_parts == part:
                yield found
