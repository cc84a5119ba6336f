"""Records of documents in scratch files, as of a table that does not fit in memory."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Final

_FILES: Final = 256
_HELD_BYTES: Final = 64 * 1024  # of each file in memory
_READ_RECORDS: Final = 4096
_PART_RECORDS: Final = 500_000  # in memory, of some 250 bytes each


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
