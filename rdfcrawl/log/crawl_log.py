"""Read the log of a crawl from a checkpoint on, also while workers write it.

Whatever is read ends at the border of a member, so that a document is read as a whole
or not at all. A member that is incomplete, and all that comes after it, is left for
later: its worker still writes it, or the next start of a worker cuts it off.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Final

from rdfcrawl.errors import ConfigError
from rdfcrawl.log.documents import Checkpoint, LogBatch, LogDocument, iter_documents
from rdfcrawl.stores.identity import read_identity
from rdfcrawl.stores.members import SEAL, TornMember, iter_content, iter_members
from rdfcrawl.stores.segment_file import list_segments

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rdfcrawl.stores.identity import LogIdentity
    from rdfcrawl.stores.members import GzipMember

logger = logging.getLogger(__name__)

BATCH_BYTES: Final = 16 * 1024 * 1024  # statements in memory
BATCH_DOCUMENTS: Final = 10_000
_QUADS: Final = "quads"
_PROVENANCE: Final = "provenance"


class CrawlLog:
    """The log of a crawl: the segments in the folder of the crawl.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.

    Raises:
        ConfigError: there is no log, or a later version of rdfcrawl has written it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.identity = self._identified()

    def _identified(self) -> LogIdentity:
        found = read_identity(self.root / _QUADS)
        if found is None:
            raise ConfigError(f"{self.root}: no crawl has stored anything here")
        return found

    def begin(self) -> Checkpoint:
        """Return the checkpoint before all that is in the log."""
        return Checkpoint(self.identity.log, self.identity.generation)

    def read(
        self, after: Checkpoint, *, has_provenance: bool = True
    ) -> Iterator[LogBatch]:
        """Yield what stands behind a checkpoint, up to what is whole now.

        Args:
            after: of this log; that of another generation counts as its beginning.
            has_provenance: provenance is read, too, after the documents.

        Raises:
            ConfigError: a later version of rdfcrawl writes the log now.
            OSError: the disk cannot be read.
        """
        identity = read_identity(self.root / _QUADS)
        if identity is None:  # `fresh=1` has moved it away, and nothing came since
            return
        self.identity = identity
        start = self.begin()
        if (after.log, after.generation) == (start.log, start.generation):
            start = after
        gathered = _GatheredBatch(start, self._paths(has_provenance=has_provenance))
        for name, path in self._paths(has_provenance=has_provenance).items():
            for member, fd in _unread(path, start.offsets.get(name, 0)):
                try:
                    if name.startswith(_PROVENANCE):
                        gathered.add_provenance(b"".join(iter_content(fd, member)))
                    else:
                        gathered.add_documents(list(iter_documents(path, fd, member)))
                except TornMember:
                    break
                gathered.offsets[name] = member.offset + member.n_bytes
                if gathered.is_full:
                    yield gathered.take()
        if gathered.has_read:
            yield gathered.take()

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
            # A seal alone holds nothing.
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


def _unread(path: Path, offset: int) -> Iterator[tuple[GzipMember, int]]:
    """Yield the members of a segment from `offset` on, with its descriptor."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:  # there was nothing in it, or it was compacted
        return
    try:
        n_bytes = os.fstat(fd).st_size
        for member in iter_members(fd, n_bytes, offset):
            yield member, fd
    finally:
        os.close(fd)


class _GatheredBatch:
    """A batch that grows member by member."""

    def __init__(self, start: Checkpoint, paths: dict[str, Path]) -> None:
        self._start = start
        self.offsets = {k: v for k, v in start.offsets.items() if k in paths}
        self._given = dict(self.offsets)
        self._documents: list[LogDocument] = []
        self._provenance: list[bytes] = []
        self._n_bytes = 0

    def add_provenance(self, quads: bytes) -> None:
        if quads:
            self._provenance.append(quads)
            self._n_bytes += len(quads)

    def add_documents(self, documents: list[LogDocument]) -> None:
        self._documents += documents
        self._n_bytes += sum(len(document.quads or b"") for document in documents)

    @property
    def has_read(self) -> bool:
        return self.offsets != self._given

    @property
    def is_full(self) -> bool:
        n_documents = len(self._documents)
        return self._n_bytes >= BATCH_BYTES or n_documents >= BATCH_DOCUMENTS

    def take(self) -> LogBatch:
        self._given = dict(self.offsets)
        checkpoint = Checkpoint(
            self._start.log, self._start.generation, dict(self.offsets)
        )
        batch = LogBatch(tuple(self._documents), tuple(self._provenance), checkpoint)
        self._documents.clear()
        self._provenance.clear()
        self._n_bytes = 0
        return batch
