"""Documents in the log, and checkpoints of its readers."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain, groupby
from pathlib import Path
from typing import Final, NamedTuple

from rdfcrawl.stores.provenance.blocks import ActivityBlock
from rdfcrawl.stores.provenance.statements import iter_statements
from rdfcrawl.stores.reading import iter_lines, iter_marked
from rdfcrawl.stores.segment_file import GzipMember, TornMember, iter_content

DIGEST_BYTES: Final = 16
_AFTER_ALL: Final = b"\xff" * (DIGEST_BYTES + 1)
_HELD_BYTES: Final = 1024 * 1024  # statements of one document in memory
_DROPPED: Final = re.compile(
    rb"#\tdropped <([^<>\n]*+)> ([0-9]+) ([0-9a-f]{32}) ([0-9]+)\n"
)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Position of a reader in a log.

    Attributes:
        log: name of the log.
        generation: of the log; offsets of another generation are invalid.
        offsets: by `quads/<segment>` and `provenance/<segment>`, each the end of the
            last member that was read.
    """

    log: str
    generation: int
    offsets: Mapping[str, int] = field(default_factory=dict)

    @property
    def quads_bytes(self) -> int:
        """Length of the segments of documents before the checkpoint."""
        return sum(n for name, n in self.offsets.items() if name.startswith("quads/"))


class DocumentPlace(NamedTuple):
    """Position of a version of a document in a log.

    Attributes:
        segment: its name.
        offset: of the member in the segment.
        n_bytes: length of the member.
        ordinal: number of the document in the member, from 0.
    """

    segment: str
    offset: int
    n_bytes: int
    ordinal: int


@dataclass(frozen=True, slots=True)
class DocumentVersion:
    """One version of one document.

    Attributes:
        graph: IRI of the document.
        version_ms: start of its fetch, Unix time in ms.
        digest: of its written statements.
        n_bytes: length of its statements; 0 if the document is gone or empty.
    """

    graph: str
    version_ms: int
    digest: bytes
    n_bytes: int

    @property
    def version(self) -> tuple[int, bytes]:
        """Order of the versions of a document: the highest counts, in each log."""
        return self.version_ms, self.digest


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDocument(DocumentVersion):
    """A version whose statements are in a log.

    Attributes:
        quads: all statements of a document of at most 1 MiB; None for a longer one.
    """

    quads: bytes | None
    _path: Path
    _member: GzipMember
    _ordinal: int

    @property
    def segment(self) -> str:
        """Name of the segment that contains the version."""
        return self._path.name

    @property
    def place(self) -> DocumentPlace:
        """Position of the version, valid until its segment is rewritten."""
        member = self._member
        return DocumentPlace(self.segment, member.offset, member.n_bytes, self._ordinal)

    @property
    def is_tombstone(self) -> bool:
        """Whether the document has no statements."""
        return not self.n_bytes

    @property
    def is_lost(self) -> bool:
        """Whether the statements can no longer be read: their segment is gone."""
        return self.quads is None and not os.path.exists(self._path)  # noqa: PTH110

    def pieces(self) -> Iterator[bytes]:
        """Yield the statements as N-Quads in complete lines, about 256 KiB at a time.

        Raises:
            OSError: the segment is gone, or cannot be read.
            TornMember: the segment has been damaged since it was read.
        """
        if self.quads is not None:
            if self.quads:
                yield self.quads
            return
        fd = os.open(self._path, os.O_RDONLY)
        try:
            ordinal = -1
            for mark, quads in iter_marked(iter_lines(iter_content(fd, self._member))):
                ordinal += mark is not None
                if ordinal == self._ordinal and mark is None:
                    yield quads
                elif ordinal > self._ordinal:
                    return
        finally:
            os.close(fd)


@dataclass(frozen=True, slots=True)
class DroppedVersion(DocumentVersion):
    """A version whose statements were dropped by a compaction."""

    @property
    def line(self) -> bytes:
        r"""Line that replaces the version in its segment: a comment of N-Quads.

        >>> DroppedVersion("http://e/", 1, bytes(16), 0).line
        b'#\tdropped <http://e/> 1 00000000000000000000000000000000 0\n'
        """
        digest, n_bytes = self.digest.hex(), self.n_bytes
        line = f"#\tdropped <{self.graph}> {self.version_ms} {digest} {n_bytes}\n"
        return line.encode()


@dataclass(frozen=True, slots=True)
class LogBatch:
    """Documents that follow each other in a log.

    Attributes:
        documents: in their order; a document may occur in several versions.
        activities: of the crawl since the previous batch.
        checkpoint: behind the batch.
        dropped: earlier versions that are no longer in the log.
    """

    documents: tuple[LogDocument, ...]
    activities: tuple[ActivityBlock, ...]
    checkpoint: Checkpoint
    dropped: tuple[DroppedVersion, ...] = ()

    def provenance(self) -> Iterator[bytes]:
        """Yield the statements about the crawl since the previous batch, as N-Quads."""
        return iter_statements(self.activities)

    @property
    def is_lost(self) -> bool:
        """Whether a document can no longer be read, since the log was moved aside."""
        return any(document.is_lost for document in self.documents)


def latest_versions(documents: Iterable[LogDocument]) -> dict[str, LogDocument]:
    """Return the latest of the given versions of each document, by its graph."""
    latest: dict[str, LogDocument] = {}
    for each in documents:
        known = latest.setdefault(each.graph, each)
        if each.version > known.version:
            latest[each.graph] = each
    return latest


def tombstone(graph: str, version_ms: int) -> LogDocument:
    """Return the absence of a document: later than its version of the same time."""
    return made_document(graph, (version_ms, _AFTER_ALL), b"")


def made_document(graph: str, version: tuple[int, bytes], quads: bytes) -> LogDocument:
    """Return a document that is in no log.

    Args:
        graph: IRI of the document.
        version: time and digest, by which it is in the order of versions.
        quads: its statements.
    """
    return LogDocument(
        graph=graph,
        version_ms=version[0],
        digest=version[1],
        n_bytes=len(quads),
        quads=quads,
        _path=Path(),
        _member=GzipMember(0, 0, is_synced=True),
        _ordinal=0,
    )


def read_places(
    folder: Path, places: Iterable[DocumentPlace]
) -> Iterator[tuple[DocumentPlace, LogDocument]]:
    """Yield the versions at the given places; those of one member together.

    Versions that are gone or damaged are skipped.

    Args:
        folder: of the segments.
        places: those in one member follow each other.
    """
    for (segment, offset, n_bytes), some in groupby(places, lambda place: place[:3]):
        wanted = {place.ordinal: place for place in some}
        member = GzipMember(offset, n_bytes, is_synced=True)
        for document in _read_member(folder / segment, member, wanted):
            yield wanted[document.place.ordinal], document


def _read_member(
    path: Path, member: GzipMember, wanted: Container[int]
) -> list[LogDocument]:
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return []
    try:
        # Filter while reading: a member may have many other documents.
        return [
            each
            for each in iter_documents(path, fd, member)
            if isinstance(each, LogDocument) and each.place.ordinal in wanted
        ]
    except (OSError, TornMember):
        return []
    finally:
        os.close(fd)


def iter_documents(
    path: Path, fd: int, member: GzipMember
) -> Iterator[LogDocument | DroppedVersion]:
    """Yield the documents of one member of a segment, and its dropped versions.

    Raises:
        TornMember: the member is damaged; discard the documents yielded so far.
    """
    blocks = iter_lines(iter_content(fd, member))
    begun: re.Match[bytes] | None = None
    ordinal, n_bytes, digest = -1, 0, blake2b(digest_size=DIGEST_BYTES)
    held: list[bytes] = []
    for mark, quads in chain(iter_marked(blocks), [(None, b"")]):
        if quads and begun is None:
            yield from map(_dropped, _DROPPED.findall(quads))
        elif quads:
            digest.update(quads)
            n_bytes += len(quads)
            held = [*held, quads] if n_bytes <= _HELD_BYTES else []
        else:
            if begun is not None:
                yield LogDocument(
                    graph=begun[1].decode(),
                    version_ms=int(begun[2]),
                    digest=digest.digest(),
                    n_bytes=n_bytes,
                    quads=b"".join(held) if n_bytes <= _HELD_BYTES else None,
                    _path=path,
                    _member=member,
                    _ordinal=ordinal,
                )
            begun, ordinal = mark, ordinal + 1
            n_bytes, held, digest = 0, [], blake2b(digest_size=DIGEST_BYTES)


def _dropped(found: tuple[bytes, bytes, bytes, bytes]) -> DroppedVersion:
    graph, version, digest, n_bytes = (each.decode() for each in found)
    return DroppedVersion(graph, int(version), bytes.fromhex(digest), int(n_bytes))
