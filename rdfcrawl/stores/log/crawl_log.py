"""Read the log of a crawl from a checkpoint on, also while workers write it.

Reading stops only between members, so a document is read completely or not at all. An
incomplete member, and everything after it, is left for later: its worker is still
writing, or the next worker cuts it off. In a finished segment an incomplete member is
damage: it is reported once, and the members after it are read.
"""

from __future__ import annotations

import logging
import os
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Final, NamedTuple

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.stores.crawl_folder import LogIdentity, read_identity
from rdfcrawl.stores.log.documents import (
    Checkpoint,
    DroppedVersion,
    LogBatch,
    LogDocument,
    iter_documents,
)
from rdfcrawl.stores.provenance.blocks import ActivityBlock, read_blocks
from rdfcrawl.stores.provenance.records import Activity
from rdfcrawl.stores.reading import SegmentDamage, iter_read, reading
from rdfcrawl.stores.segment_file import SEAL, GzipMember, list_segments

_Content = Sequence[LogDocument | DroppedVersion | ActivityBlock]  # of a member
_Reader = Callable[[int, GzipMember], _Content]

logger = logging.getLogger(__name__)

BATCH_BYTES: Final = 16 * 1024 * 1024  # statements in memory
BATCH_DOCUMENTS: Final = 10_000
_STATED_BYTES: Final = 3000  # of statements, for each activity
_QUADS: Final = "quads"
_PROVENANCE: Final = "provenance"
_MEMBERS: Final = "Q16sIIQ"  # version, digest, segment, number in the segment, length
_FILES: Final = 256
_HELD_BYTES: Final = 64 * 1024  # of each file in memory
_READ_RECORDS: Final = 4096
_PART_RECORDS: Final = 500_000  # in memory, of some 250 bytes each


class CrawlLog:
    """The log of a crawl: the segments in the folder of the crawl.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.

    Attributes:
        damages: found while reading, each once.

    Raises:
        ConfigError: there is no log, or a later version of rdfcrawl wrote it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        if (found := read_identity(root / _QUADS)) is None:
            raise ConfigError(f"{root}: no crawl has stored anything here")
        self.identity = found
        self.damages: dict[SegmentDamage, None] = {}

    def begin(self) -> Checkpoint:
        """Return the checkpoint at the start of the log."""
        return Checkpoint(self.identity.log, self.identity.generation)

    def read(
        self,
        after: Checkpoint,
        *,
        has_provenance: bool = True,
        segments: Sequence[Path] | None = None,
    ) -> Iterator[LogBatch]:
        """Yield the complete members behind a checkpoint.

        No segment is removed until the iterator is exhausted or closed.

        Args:
            after: of this log; one of another generation counts as its beginning.
            has_provenance: also read the provenance, after the documents.
            segments: read only these, of `segments`; by default all.

        Raises:
            ConfigError: the log now has the format of a later version of rdfcrawl.
            OSError: the disk cannot be read.
        """
        identity = read_identity(self.root / _QUADS)
        if identity is None:  # moved away by `fresh=1`, and empty since
            return
        self.identity = identity
        is_same = (after.log, after.generation) == (identity.log, identity.generation)
        start = after if is_same else self.begin()
        with reading(self.root / _QUADS):
            paths = self._paths(has_provenance=has_provenance)
            if segments is not None:
                paths = {f"{_QUADS}/{path.name}": path for path in segments}
            yield from self._batches(start, paths)

    def check_kept(self, identity: LogIdentity | None) -> None:
        """Check that the log was not moved while it was read: files may be missed.

        Args:
            identity: of the log before it was read.

        Raises:
            ConfigError: `fresh=1` or a person has moved it aside.
        """
        if read_identity(self.root / _QUADS) != identity:
            raise ConfigError(f"{self.root}: was replaced while it was read")

    def segments(self) -> list[Path]:
        """Return the current segments of documents.

        `stores.reading.reading` keeps them in place.
        """
        return list(self._paths(has_provenance=False).values())

    def folder_of(self, generation: int) -> Path | None:
        """Return the folder of documents of a generation; None if there is none."""
        if generation == self.identity.generation:
            return self.root / _QUADS
        for folder in self.root.glob(f"before-*/{_QUADS}"):
            with suppress(ConfigError):  # a damaged identity
                found = read_identity(folder)
                wanted = self.identity.log, generation
                if found and (found.log, found.generation) == wanted:
                    return folder
        return None

    def _batches(self, start: Checkpoint, paths: dict[str, Path]) -> Iterator[LogBatch]:
        gathered = _GatheredBatch(start, paths)
        try:
            for name, path in gathered.paths.items():
                read: _Reader = partial(_read_documents, path)
                if name.startswith(_PROVENANCE):
                    read = read_blocks
                offset = start.offsets.get(name, 0)
                for found, end in iter_read(
                    path, name, offset, read=read, on_damage=self._note_damage
                ):
                    if gathered.add(found, name, end):
                        yield from gathered.take()
        except OSError:
            yield from gathered.take()  # the members before the error are valid
            raise
        yield from gathered.take()

    def _note_damage(self, damage: SegmentDamage) -> None:
        if damage not in self.damages:
            self.damages[damage] = None
            logger.error("%s: %s", self.root, damage)

    def n_unread_bytes(self, after: Checkpoint) -> int:
        """Return the length of the compressed segments of quads behind a checkpoint."""
        is_same = after.generation == self.identity.generation
        offsets = after.offsets if is_same else {}
        n_bytes = 0
        for name, path in self._paths(has_provenance=False).items():
            try:
                left = path.stat().st_size - offsets.get(name, 0)
            except FileNotFoundError:
                continue
            # A seal has no content.
            n_bytes += left if left > len(SEAL) else 0
        return n_bytes

    def _paths(self, *, has_provenance: bool) -> dict[str, Path]:
        """Return the segments by their names in checkpoints."""
        kinds = [_QUADS, *([_PROVENANCE] if has_provenance else [])]
        return {
            f"{kind}/{path.name}": path
            for kind in kinds
            if (self.root / kind).is_dir()
            for path in list_segments(self.root / kind)
        }


def _read_documents(path: Path, fd: int, member: GzipMember) -> _Content:
    return list(iter_documents(path, fd, member))


class _GatheredBatch:
    """A batch to which members are added."""

    def __init__(self, start: Checkpoint, paths: dict[str, Path]) -> None:
        self._start, self.paths = start, paths
        self.offsets = {k: v for k, v in start.offsets.items() if k in paths}
        self._given = dict(self.offsets)
        self._documents: list[LogDocument] = []
        self._dropped: list[DroppedVersion] = []
        self._activities: list[ActivityBlock] = []
        self._n_bytes = 0

    def add(self, found: _Content, name: str, end: int) -> bool:
        """Add the content of a member; return whether the batch is full.

        Args:
            found: documents, or blocks of activities.
            name: of the segment.
            end: of the member.
        """
        self.offsets[name] = end
        for each in found:
            if isinstance(each, ActivityBlock):
                self._activities.append(each)
                self._n_bytes += len(each.activities) * _STATED_BYTES
            elif isinstance(each, DroppedVersion):
                self._dropped.append(each)
            else:
                self._documents.append(each)
                self._n_bytes += len(each.quads or b"")
        n_documents = len(self._documents) + len(self._dropped)
        return self._n_bytes >= BATCH_BYTES or n_documents >= BATCH_DOCUMENTS

    def take(self) -> Iterator[LogBatch]:
        """Yield the batch, unless nothing was read; begin another one."""
        if self.offsets == self._given:
            return
        self._given = dict(self.offsets)
        yield LogBatch(
            tuple(self._documents),
            tuple(self._activities),
            Checkpoint(self._start.log, self._start.generation, self._given),
            tuple(self._dropped),
        )
        self._documents, self._dropped, self._activities = [], [], []
        self._n_bytes = 0


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


def iter_provenance(folder: Path) -> Iterator[ActivityBlock]:
    """Yield the readable blocks of a folder of segments.

    Damaged members are skipped, and logged. A segment that has been removed meanwhile
    is skipped, too.
    """

    def warn(damage: SegmentDamage) -> None:
        logger.warning("%s: %s", folder.parent, damage)

    for path in list_segments(folder) if folder.is_dir() else ():
        name = f"{folder.name}/{path.name}"
        for found, _ in iter_read(path, name, 0, read=read_blocks, on_damage=warn):
            yield from found


def iter_activities(folder: Path) -> Iterator[Activity]:
    """Yield the readable activities of a folder of segments."""
    for block in iter_provenance(folder):
        yield from block.activities


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
    log: CrawlLog,
    segments: Sequence[Path],
    *,
    scratch: Path | None = None,
    look: Callable[[LogDocument], None] = lambda _: None,
) -> LatestVersions:
    """Find the latest version of each document in some segments of a log.

    Args:
        log: to read.
        segments: of it.
        scratch: folder of temporary files.
        look: called for each version.

    Raises:
        OSError: a disk cannot be read, or is full.
    """
    names: dict[str, int] = {}
    found = LatestVersions(Counter(), Counter(), Counter(), Counter(), {})
    with ScratchRecords(_MEMBERS, scratch) as records:
        for document, number in iter_numbered(log, segments):
            name = document.segment
            place = names.setdefault(name, len(names)), number, document.n_bytes
            records.add(document.graph, *document.version, *place)
            found.n_versions[name] += 1
            found.n_bytes[name] += document.n_bytes
            look(document)
        _mark(records, list(names), found)
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


def _mark(records: ScratchRecords, names: Sequence[str], found: LatestVersions) -> None:
    """Mark the latest versions by a bit."""
    for part in records.parts():
        latest: dict[bytes, tuple[int, bytes, int, int, int]] = {}
        for key, *version in part:
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


class ScratchRecords(ExitStack):
    """Records of documents, which are read in parts that fit in memory.

    Args:
        members: of a record after the key of its document, as for `struct`.
        folder: of the scratch files; by default that of the system.
    """

    def __init__(self, members: str, folder: Path | None) -> None:
        super().__init__()
        self._record = struct.Struct(f">16s{members}")
        place = None if folder is None else str(folder)
        self._files: list[IO[bytes]] = [
            self.enter_context(SpooledTemporaryFile(_HELD_BYTES, dir=place))  # noqa: SIM115
            for _ in range(_FILES)
        ]

    def add(self, graph: str, *members: object) -> None:
        """Add a record.

        Args:
            graph: IRI of the document.
            members: of the record.

        Raises:
            OSError: the disk is full.
        """
        key = blake2b(graph.encode(), digest_size=16).digest()
        self._files[key[0]].write(self._record.pack(key, *members))

    def parts(self) -> Iterator[Iterator[tuple[Any, ...]]]:
        """Yield all records in parts: the key of the document, and the members.

        All records of a document are in one part. Read each part before the next.

        Raises:
            OSError: a disk cannot be read.
        """
        for file in self._files:
            size = self._record.size * _PART_RECORDS
            n_parts = 1 + file.seek(0, os.SEEK_END) // size
            for part in range(n_parts):
                yield self._read(file, part, n_parts)

    def _read(
        self, file: IO[bytes], part: int, n_parts: int
    ) -> Iterator[tuple[Any, ...]]:
        file.seek(0)
        while some := file.read(_READ_RECORDS * self._record.size):
            if n_parts == 1:
                yield from self._record.iter_unpack(some)
                continue
            for found in self._record.iter_unpack(some):
                # The first byte already selects the file.
                if int.from_bytes(found[0][1:5], "big") % n_parts == part:
                    yield found
