"""External sorting of strings: sorted runs are spilled to disk, and merged in one pass.

A piece of each run is in memory. Entries up to the smallest last entry of all pieces
are sorted together and yielded; then consumed pieces are replaced by the next ones.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_right
from contextlib import ExitStack
from tempfile import SpooledTemporaryFile
from typing import Final

if sys.version_info >= (3, 14):  # pragma: no cover
    from compression import zstd
else:
    from backports import zstd

from collections.abc import Iterator, Sequence
from pathlib import Path

_IN_MEMORY_BYTES: Final = 512 * 1024
_COPY_BYTES: Final = 2**20
_BLOCK_BYTES: Final = 32 * 1024  # approximate; of strings compressed together
_LEVEL: Final = 1
_STRING_BYTES: Final = 90  # memory of a string besides its length, in list and set
_LEAST_PIECE_BYTES: Final = 4096
_MOST_PIECE_BYTES: Final = 2**20
_OBJECTS: Final = 8  # factor by which the objects are larger than their bytes


class SpillFile:
    """Bytes in the order of addition; small ones stay in memory."""

    def __init__(self, file: SpooledTemporaryFile[bytes]) -> None:
        self._file = file
        self.n_bytes = 0

    def add(self, content: bytes | bytearray | memoryview) -> tuple[int, int]:
        """Add bytes; return their start and end offsets."""
        begin = self.n_bytes
        self._file.seek(begin)
        self._file.write(content)
        self.n_bytes += len(content)
        return begin, self.n_bytes

    def read(self, begin: int, end: int) -> bytes:
        """Return the bytes between two offsets."""
        self._file.seek(begin)
        return self._file.read(end - begin)

    def pieces(self) -> Iterator[bytes]:
        """Yield all bytes, 1 MiB at a time."""
        for begin in range(0, self.n_bytes, _COPY_BYTES):
            yield self.read(begin, min(begin + _COPY_BYTES, self.n_bytes))

    def drop(self) -> None:
        """Free the disk space."""
        self._file.close()


class SpillFolder(ExitStack):
    """Factory of spills in a folder; closes them on exit.

    Files are created only when they are large, and disappear with the process.
    """

    def __init__(self, folder: Path | None) -> None:
        super().__init__()
        self._folder = None if folder is None else str(folder)

    def new(self) -> SpillFile:
        """Return a new spill."""
        return SpillFile(
            self.enter_context(SpooledTemporaryFile(_IN_MEMORY_BYTES, dir=self._folder))
        )


class StringRun:
    """Spilled run of sorted, distinct strings without NUL, in compressed blocks."""

    def __init__(self, spill: SpillFile, strings: Sequence[bytes]) -> None:
        self._spill = spill
        self._at = spill.n_bytes
        self._ends = array("Q")  # of the blocks
        self._next = 0
        n_bytes = sum(map(len, strings))
        n = max(1, _BLOCK_BYTES * len(strings) // max(n_bytes, 1))
        for first in range(0, len(strings), n):
            content = zstd.compress(b"\0".join(strings[first : first + n]), _LEVEL)
            self._ends.append(spill.add(content)[1])
        self.piece: list[bytes] = []

    def refill(self, n_bytes: int) -> bool:
        """Read the next piece if none is in memory; return whether there is one.

        Args:
            n_bytes: approximate length of the piece; at least a block is read.
        """
        if not self.piece:
            n_read = 0
            while n_read < n_bytes and self._next < len(self._ends):
                end = self._ends[self._next]
                content = zstd.decompress(self._spill.read(self._at, end))
                self.piece += content.split(b"\0")
                n_read += len(content)
                self._at = end
                self._next += 1
        return bool(self.piece)

    def take(self, bound: bytes) -> list[bytes]:
        """Remove and return the entries of the piece up to a bound."""
        n = bisect_right(self.piece, bound)
        taken, self.piece = self.piece[:n], self.piece[n:]
        return taken


class StringSorter:
    """Sorts strings without NUL, and removes duplicates.

    Args:
        spill: for strings that do not fit in memory.
        memory_bytes: approximate limit of memory, while adding and while reading.
    """

    def __init__(self, spill: SpillFile, memory_bytes: int) -> None:
        self._spill, self._memory_bytes = spill, memory_bytes
        self._held: set[bytes] = set()
        self._n_held_bytes = 0
        self._runs: list[StringRun] = []

    def add(self, string: bytes) -> None:
        """Add a string; duplicates are allowed.

        Raises:
            OSError: the disk is full.
        """
        self._held.add(string)
        self._n_held_bytes += len(string) + _STRING_BYTES
        if self._n_held_bytes > self._memory_bytes:
            self._end_run()

    def _end_run(self) -> None:
        self._runs.append(StringRun(self._spill, sorted(self._held)))
        self._held.clear()
        self._n_held_bytes = 0

    def sorted(self) -> Iterator[list[bytes]]:
        """Yield all strings in order, in lists.

        Raises:
            OSError: the disk is full, or cannot be read.
        """
        if not self._runs:
            if self._held:
                yield sorted(self._held)
            return
        if self._held:
            self._end_run()
        runs = self._runs
        size = piece_bytes(self._memory_bytes // _OBJECTS, len(runs))
        while live := [run for run in runs if run.refill(size)]:
            bound = min(run.piece[-1] for run in live)
            strings: list[bytes] = []
            for run in live:
                strings += run.take(bound)
            strings.sort()  # detects sorted runs, so this is a merge
            yield list(dict.fromkeys(strings))


def piece_bytes(memory_bytes: int, n_runs: int) -> int:
    """Return the size of a piece of each run while runs are merged."""
    size = max(memory_bytes // max(n_runs, 1), _LEAST_PIECE_BYTES)
    return min(size, _MOST_PIECE_BYTES)
