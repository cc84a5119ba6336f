"""The figures of a crawl: keys, counts, and a table in bounded memory."""

from __future__ import annotations

import heapq
import re
import struct
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from itertools import groupby
from math import inf, log, sqrt
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO, Any, Final, NamedTuple, Self, TypeAlias

MAX_EXACT: Final = 100_000  # hashes of one count; about 10 MB
HASH_BYTES: Final = 8
_PRECISION: Final = 14
_REGISTERS: Final = 1 << _PRECISION
_RANK_BITS: Final = 8 * HASH_BYTES - _PRECISION
_RANK_MASK: Final = (1 << _RANK_BITS) - 1
STANDARD_ERROR: Final = 1.04 / sqrt(_REGISTERS)  # relative
_HELD: Final = 1_000_000  # hashes in memory, of about 100 bytes each
_KEY_HELD: Final = 4  # memory of a key with its figure, in hashes
_FILES: Final = 64  # open scratch files
_RECORD: Final = struct.Struct(">cII")  # kind of merge, lengths of key and figure
_HASH_HELD_BYTES: Final = 100  # approximate memory of a hash
_MAX_TEXT_BYTES: Final = 4096
_BUFFER_BYTES: Final = 64 * 1024


class Cardinality(NamedTuple):
    """A number of distinct terms, exact or estimated."""

    number: int
    is_exact: bool = True

    def plus(self, other: Cardinality) -> Cardinality:
        """Return the sum of two counts that have no term in common."""
        number = self.number + other.number
        return Cardinality(number, self.is_exact and other.is_exact)


def hashes_of(terms: Iterable[bytes]) -> list[bytes]:
    """Return the hashes under which terms are counted."""
    return [blake2b(term, digest_size=HASH_BYTES).digest() for term in terms]


class DistinctCount:
    """Count distinct hashes; the order in which they are added does not matter."""

    __slots__ = ("_hashes", "_packed", "_registers")

    def __init__(self) -> None:
        self._hashes: set[bytes] = set()
        self._packed = b""  # concatenated distinct hashes, instead of the set
        self._registers: bytearray | None = None

    def add(self, hashes: Iterable[bytes]) -> None:
        """Count hashes; repeated ones count once."""
        if self._registers is not None:
            _sketch(self._registers, hashes)
            return
        if self._packed:
            self._hashes, self._packed = set(_hashes_in(self._packed)), b""
        self._hashes.update(hashes)
        if len(self._hashes) > MAX_EXACT:
            self._begin_sketch()

    def merge(self, other: DistinctCount) -> None:
        """Add the hashes of another count."""
        if other._registers is not None:
            registers = self._registers or self._begin_sketch()
            registers[:] = bytes(map(max, registers, other._registers))
        elif not self.n_held and other._packed:
            self._packed = other._packed
        else:
            self.add(other._hashes or _hashes_in(other._packed))

    def _begin_sketch(self) -> bytearray:
        """Replace the set of hashes by a sketch of them."""
        self._registers = bytearray(_REGISTERS)
        _sketch(self._registers, self._hashes or _hashes_in(self._packed))
        self._hashes, self._packed = set(), b""
        return self._registers

    @property
    def cardinality(self) -> Cardinality:
        """How many distinct hashes were counted."""
        if self._registers is None:
            return Cardinality(self.n_held)
        return Cardinality(round(_estimate(self._registers)), is_exact=False)

    @property
    def n_held(self) -> int:
        """Memory use, in hashes."""
        if self._registers is None:
            return len(self._hashes) or len(self._packed) // HASH_BYTES
        return _REGISTERS // 64  # a hash in a set takes about as many bytes

    def to_bytes(self) -> bytes:
        """Return the serialized count; equal counts give equal bytes."""
        if self._registers is None:
            return self._packed or b"".join(sorted(self._hashes))
        return b"~" + self._registers

    @classmethod
    def from_bytes(cls, text: bytes) -> Self:
        """Return the count that `to_bytes` serialized."""
        count = cls()
        if len(text) % HASH_BYTES:  # "~" precedes the registers
            count._registers = bytearray(text[1:])
        else:
            count._packed = text
        return count


_hashes_in: Final[Callable[[bytes], list[bytes]]] = re.compile(
    b".{%d}" % HASH_BYTES, re.DOTALL
).findall


def _sketch(registers: bytearray, hashes: Iterable[bytes]) -> None:
    """Raise each register to the highest rank seen for it."""
    read = int.from_bytes
    for each in hashes:
        value = read(each, "big")
        rank = _RANK_BITS + 1 - (value & _RANK_MASK).bit_length()
        if rank > registers[value >> _RANK_BITS]:  # noqa: PLR1730 # far quicker
            registers[value >> _RANK_BITS] = rank


def _estimate(registers: bytearray) -> float:
    """Return the estimate of Ertl, algorithm 6."""
    n_with = [registers.count(rank) for rank in range(_RANK_BITS + 2)]
    total = _REGISTERS * _tau(1 - n_with[-1] / _REGISTERS)
    for n_registers in reversed(n_with[1:-1]):
        total = (total + n_registers) / 2
    total += _REGISTERS * _sigma(n_with[0] / _REGISTERS)
    return _REGISTERS * _REGISTERS / (2 * log(2) * total)


def _sigma(x: float) -> float:
    if x == 1:
        return inf
    weight, total, before = 1.0, x, -1.0
    while total != before:
        x *= x
        before = total
        total += x * weight
        weight += weight
    return total


def _tau(x: float) -> float:
    if x in {0, 1}:
        return 0.0
    weight, total, before = 1.0, 1 - x, -1.0
    while total != before:
        x = sqrt(x)
        before = total
        weight /= 2
        total -= (1 - x) ** 2 * weight
    return total / 3


class Largest(int):
    """A number that merges as the maximum instead of the sum."""

    __slots__ = ()


Figure: TypeAlias = int | bytes | DistinctCount

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


class FigureKind(StrEnum):
    """Kinds of figures; the values define their order in the table."""

    DOCUMENTS = "D"  # number
    FIRST = "F"  # negative time of the first version, ms
    LAST = "L"  # time of the last version, ms
    PLACE = "P"  # common prefix of the IRIs of documents
    TRIPLES = "T"  # number
    SPACE = "U"  # common prefix of the IRIs of entities
    BLANK_SUBJECTS = "b"
    CLASSES = "c"  # by class: distinct instances
    ENTITIES = "e"  # distinct IRIs as subjects
    FORMATS = "f"  # by name of format: distinct documents
    PUBLISHERS = "h"  # by IRI and name: number of documents
    LINKS = "l"  # by host and predicate: number
    LICENCES = "n"  # by IRI: number of documents
    OBJECTS = "o"
    PROPERTIES = "p"  # by property: number of triples
    VOCABULARIES = "v"  # by namespace: number of triples and instances


class FigureKey(NamedTuple):
    """Host, kind of figure, and its subject, which may be empty."""

    host: bytes
    kind: FigureKind
    about: bytes

    @classmethod
    def of(cls, key: bytes) -> FigureKey:
        """Return the parts of a key."""
        host, kind, about = key.split(b"\t", 2)
        return cls(host, _KINDS[kind], about)


_KINDS: Final = {kind.encode(): kind for kind in FigureKind}


@lru_cache(maxsize=65_536)
def key_prefix(host: bytes, kind: FigureKind) -> bytes:
    r"""Return the beginning of a key, up to its subject.

    >>> key_prefix(b"e.example", FigureKind.CLASSES)
    b'e.example\tc\t'
    """
    # Host names and IRIs contain no tab, so all keys of a host are adjacent.
    return b"%s\t%s\t" % (host, kind.encode())
