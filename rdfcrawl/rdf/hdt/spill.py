"""Spill what does not fit into memory to files without a name, read in pieces."""

from __future__ import annotations

from contextlib import ExitStack
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from rdfcrawl.rdf.hdt.crc import Buffer

_IN_MEMORY_BYTES = 512 * 1024
_COPY_BYTES = 2**20


class SpillFile:
    """Bytes in the order they were added; in memory as long as they are few.

    Attributes:
        n_bytes: how many there are.
    """

    __slots__ = ("_file", "n_bytes")

    def __init__(self, file: SpooledTemporaryFile[bytes]) -> None:
        self._file = file
        self.n_bytes = 0

    def add(self, content: Buffer) -> tuple[int, int]:
        """Add bytes; return where they begin and end."""
        begin = self.n_bytes
        self._file.seek(begin)
        self._file.write(content)
        self.n_bytes += len(content)
        return begin, self.n_bytes

    def read(self, begin: int, end: int) -> bytes:
        """Return the bytes between two places."""
        self._file.seek(begin)
        return self._file.read(end - begin)

    def pieces(self, size: int = _COPY_BYTES) -> Iterator[bytes]:
        """Yield all bytes, so many at a time."""
        for begin in range(0, self.n_bytes, size):
            yield self.read(begin, min(begin + size, self.n_bytes))

    def drop(self) -> None:
        """Free the disk space."""
        self._file.close()


class SpillFolder:
    """Makes spills, and drops them all when it is left.

    Args:
        folder: where their files lie once they are large; they vanish with the
            process.
    """

    __slots__ = ("_folder", "_open")

    def __init__(self, folder: Path | None) -> None:
        self._folder = None if folder is None else str(folder)
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    def new(self) -> SpillFile:
        """Return a new one."""
        return SpillFile(
            self._open.enter_context(
                SpooledTemporaryFile(_IN_MEMORY_BYTES, dir=self._folder)
            )
        )
