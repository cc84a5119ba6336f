"""A table of figures that may be larger than memory.

Figures of one key are merged: summed, maximum, common prefix, or distinct count. When
memory is full, the table is written to a scratch file, sorted by key; reading merges
these files. So the figures depend neither on the order of additions nor on the number
of scratch files.
"""

from __future__ import annotations

import heapq
import struct
from itertools import groupby
from operator import itemgetter
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from rdfcrawl.analysis.description.distinct import DistinctCount

if TYPE_CHECKING:
    from collections.abc import (
        Collection,
        Iterable,
        Iterator,
        Mapping,
        MutableMapping,
        Sequence,
    )
    from pathlib import Path
    from types import TracebackType
    from typing import IO, Self


class Largest(int):
    """A number that merges as the maximum instead of the sum."""

    __slots__ = ()


Figure: TypeAlias = int | bytes | DistinctCount

_HELD: Final = 1_000_000  # hashes in memory, of about 100 bytes each
_KEY_HELD: Final = 4  # memory of a key with its figure, in hashes
_FILES: Final = 64  # open scratch files
_RECORD: Final = struct.Struct(">cII")  # kind of merge, lengths of key and figure
_HASH_HELD_BYTES: Final = 100  # approximate memory of a hash
_MAX_TEXT_BYTES: Final = 4096
_BUFFER_BYTES: Final = 64 * 1024
_SUM, _MAX, _PREFIX, _DISTINCT = b"+", b">", b"^", b"#"

_Record: TypeAlias = tuple[bytes, Figure]


class FigureTable:
    """Figures by key, merged, in bounded memory.

    Args:
        scratch: folder of the scratch files; by default that of the operating system.
    """

    def __init__(self, scratch: Path | None = None) -> None:
        self._folder = None if scratch is None else str(scratch)
        self._n_added = 0  # upper bound of memory since the last exact count, in hashes
        self._sums: dict[bytes, int] = {}
        self._maxima: dict[bytes, Largest] = {}
        self._prefixes: dict[bytes, bytes] = {}
        self._counts: dict[bytes, DistinctCount] = {}
        self._tables: tuple[MutableMapping[bytes, Any], ...] = (
            *(self._sums, self._maxima, self._prefixes, self._counts),
        )
        self._files: list[IO[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for file in self._files:
            file.close()

    def add(self, key: bytes, number: int) -> None:
        """Add a number to the sum of a key."""
        self._sums[key] = self._sums.get(key, 0) + number
        self._n_added += _held_by(key)

    def add_all(self, prefix: bytes, numbers: Mapping[bytes, int]) -> None:
        """Add numbers to the sums of keys that begin with a prefix."""
        sums = self._sums
        n_added = 0
        for end, number in numbers.items():
            key = prefix + end
            sums[key] = sums.get(key, 0) + number
            n_added += _KEY_HELD + len(key) // _HASH_HELD_BYTES
        self._n_added += n_added

    def raise_to(self, key: bytes, number: int) -> None:
        """Keep the largest number of a key."""
        self._maxima[key] = Largest(max(number, self._maxima.get(key, number)))
        self._n_added += _held_by(key)

    def share(self, key: bytes, beginning: bytes) -> None:
        """Keep the common prefix of all texts of a key, up to a maximum length."""
        beginning = beginning[:_MAX_TEXT_BYTES]
        known = self._prefixes.get(key, beginning)
        self._prefixes[key] = common_beginning(known, beginning)
        self._n_added += _held_by(key) + _held_by(beginning)

    def count(self, key: bytes, hashes: Collection[bytes]) -> None:
        """Count distinct hashes of a key."""
        count = self._counts.get(key)
        if count is None:
            count = self._counts[key] = DistinctCount()
        count.add(hashes)
        self._n_added += _held_by(key) + len(hashes)

    def put(self, key: bytes, figure: Figure) -> None:
        """Merge a figure of another table into this one."""
        if isinstance(figure, DistinctCount):
            count = self._counts.setdefault(key, DistinctCount())
            count.merge(figure)
            self._n_added += _held_by(key) + figure.n_held
        elif isinstance(figure, bytes):
            self.share(key, figure)
        elif isinstance(figure, Largest):
            self.raise_to(key, figure)
        else:
            self.add(key, figure)

    def trim(self) -> None:
        """Write the table to a file if it is too large.

        Raises:
            OSError: the disk of the scratch files is full.
        """
        if self._n_added <= _HELD:
            return
        tables = self._tables
        self._n_added = sum(_held_by(key) for table in tables for key in table)
        self._n_added += sum(map(_held_by, self._prefixes.values()))
        self._n_added += sum(count.n_held for count in self._counts.values())
        # Half: otherwise the memory would be recounted on every call.
        if self._n_added > _HELD // 2:
            self._write(self._held())
            for table in tables:
                table.clear()
            self._n_added = 0
        if len(self._files) >= _FILES:
            n_files = len(self._files)
            self._write(_merged([*map(_read, self._files)]))
            for file in self._files[:n_files]:
                file.close()
            del self._files[:n_files]

    def items(self) -> Iterator[tuple[bytes, Figure]]:
        """Yield all figures, sorted by key; only one reader at a time."""
        return _merged([*map(_read, self._files), self._held()])

    def _held(self) -> Iterator[_Record]:
        """Yield the figures in memory, sorted."""
        key = itemgetter(0)
        tables = (sorted(table.items(), key=key) for table in self._tables)
        return heapq.merge(*tables, key=key)

    def _write(self, records: Iterable[_Record]) -> None:
        file = TemporaryFile(dir=self._folder, buffering=_BUFFER_BYTES)  # noqa: SIM115
        self._files.append(file)
        for key, figure in records:
            how, text = _packed(figure)
            file.write(_RECORD.pack(how, len(key), len(text)) + key + text)


def common_beginning(one: bytes, other: bytes) -> bytes:
    """Return the common prefix of two texts.

    >>> common_beginning(b"http://a/", b"http://b/")
    b'http://'
    """
    if other.startswith(one):
        return one
    pairs = enumerate(zip(one, other, strict=False))
    end = next((at for at, (a, b) in pairs if a != b), len(other))
    return one[:end]


def _held_by(text: bytes) -> int:
    """Return the memory of a key with its figure, in hashes."""
    return _KEY_HELD + len(text) // _HASH_HELD_BYTES


def _read(file: IO[bytes]) -> Iterator[_Record]:
    """Yield the records of a file from its beginning."""
    file.seek(0)
    while head := file.read(_RECORD.size):
        how, n_key, n_text = _RECORD.unpack(head)
        yield file.read(n_key), _unpacked(how, file.read(n_text))


def _merged(sources: Sequence[Iterable[_Record]]) -> Iterator[_Record]:
    """Yield sorted records, one for each key."""
    if len(sources) == 1:
        yield from sources[0]
        return
    records = heapq.merge(*sources, key=itemgetter(0))
    for key, group in groupby(records, itemgetter(0)):
        figures = [figure for _, figure in group]
        yield key, _joined(figures) if len(figures) > 1 else figures[0]


def _joined(figures: Sequence[Any]) -> Figure:
    """Merge the figures of one key; all have the same type."""
    first = figures[0]
    if isinstance(first, Largest):
        return Largest(max(figures))
    if isinstance(first, int):
        return int(sum(figures))
    if isinstance(first, bytes):
        return common_beginning(min(figures), max(figures))
    # A new count: the one in memory is still in use.
    count = DistinctCount()
    for each in figures:
        count.merge(each)
    return count


def _packed(figure: Figure) -> tuple[bytes, bytes]:
    if isinstance(figure, DistinctCount):
        return _DISTINCT, figure.to_bytes()
    if isinstance(figure, bytes):
        return _PREFIX, figure
    return _MAX if isinstance(figure, Largest) else _SUM, b"%d" % figure


def _unpacked(how: bytes, text: bytes) -> Figure:
    if how == _DISTINCT:
        return DistinctCount.from_bytes(text)
    if how == _PREFIX:
        return text
    return Largest(text) if how == _MAX else int(text)
