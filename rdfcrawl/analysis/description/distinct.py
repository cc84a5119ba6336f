"""Count distinct terms: exactly up to a limit, then with a sketch.

The sketch is a HyperLogLog of 2^14 registers with hashes of 64 bits (Flajolet et al.
2007), read by the estimator of Ertl (2017, "New cardinality estimation algorithms for
HyperLogLog sketches", algorithm 6), which needs no table of corrections.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from math import inf, log, sqrt
from typing import TYPE_CHECKING, Final, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MAX_EXACT: Final = 100_000  # hashes of one count; about 10 MB
HASH_BYTES: Final = 8
_PRECISION: Final = 14
_REGISTERS: Final = 1 << _PRECISION
_RANK_BITS: Final = 8 * HASH_BYTES - _PRECISION
_RANK_MASK: Final = (1 << _RANK_BITS) - 1
STANDARD_ERROR: Final = 1.04 / sqrt(_REGISTERS)  # relative


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
