"""The three checksums of HDT: CRC-8, CRC-16-ANSI and CRC-32C.

CRC-8 and CRC-16 only cover a few bytes. CRC-32C uses numpy: the bytes are split into
lanes, all lanes advance together, and their remainders are combined pairwise, because a
CRC is linear over GF(2).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from numpy.typing import NDArray

    Words: TypeAlias = NDArray[np.uint32]
    Buffer: TypeAlias = bytes | bytearray | memoryview

CRC32C_BYTES: Final = 4
_POLYNOMIAL_8 = 0x07  # CRC-8-CCITT, most significant bit first
_POLYNOMIAL_16 = 0xA001  # CRC-16-ANSI, reflected
_POLYNOMIAL_32C = 0x82F63B78  # Castagnoli, reflected
_ALL_ONES = 0xFFFFFFFF

_LANE_WORDS = 64
_LANE_BYTES = _LANE_WORDS * 4
_MOST_LANES = 4096
_FEW_BYTES = 128  # up to here a plain loop is faster


def crc8(message: Buffer) -> int:
    """Return the CRC-8-CCITT of a few bytes.

    >>> hex(crc8(b"123456789"))
    '0xf4'
    """
    value = 0
    for byte in message:
        value ^= byte
        for _ in range(8):
            value = (value << 1 ^ _POLYNOMIAL_8 if value & 0x80 else value << 1) & 0xFF
    return value


def crc16(message: Buffer) -> int:
    """Return the CRC-16-ANSI of some bytes.

    >>> hex(crc16(b"123456789"))
    '0xbb3d'
    """
    table = _byte_table(_POLYNOMIAL_16)
    value = 0
    for byte in message:
        value = table[(value ^ byte) & 0xFF] ^ value >> 8
    return value


@cache
def _byte_table(polynomial: int) -> list[int]:
    return [_after_zeros(byte, polynomial) for byte in range(256)]


def _after_zeros(value: int, polynomial: int) -> int:
    """Return a reflected remainder after another zero byte."""
    for _ in range(8):
        value = value >> 1 ^ polynomial if value & 1 else value >> 1
    return value


class Crc32c:
    """CRC-32C of a stream of bytes.

    >>> crc = Crc32c()
    >>> crc.update(b"12345")
    >>> crc.update(b"6789")
    >>> hex(crc.value)
    '0xe3069283'
    """

    def __init__(self) -> None:
        self._state = _ALL_ONES

    @property
    def value(self) -> int:
        """Checksum of all bytes so far."""
        return self._state ^ _ALL_ONES

    def update(self, message: Buffer) -> None:
        """Add the next bytes; only a piece at a time is copied."""
        view = memoryview(message).cast("B")
        most = _MOST_LANES * _LANE_BYTES
        for begin in range(0, len(view), most):
            self._take(view[begin : begin + most])

    def _take(self, view: memoryview) -> None:
        if len(view) <= _FEW_BYTES:
            table = _byte_table(_POLYNOMIAL_32C)
            state = self._state
            for byte in view:
                state = table[(state ^ byte) & 0xFF] ^ state >> 8
            self._state = state
        else:
            self._state = _advance(self._state, len(view)) ^ _remainder(view)


def _remainder(view: memoryview) -> int:
    """Return the remainder of the bytes from a state of zero."""
    n_lanes = 1
    while n_lanes * _LANE_BYTES < len(view):
        n_lanes *= 2
    # Zeros before a message do not change its remainder.
    padded = np.zeros(n_lanes * _LANE_BYTES, np.uint8)
    padded[len(padded) - len(view) :] = np.frombuffer(view, np.uint8)
    columns = np.ascontiguousarray(padded.view("<u4").reshape(n_lanes, _LANE_WORDS).T)
    step = _operator(2)
    state = np.zeros(n_lanes, np.uint32)
    for column in columns:
        state = step(state ^ column)
    power = _LANE_BYTES.bit_length() - 1
    while len(state) > 1:
        state = _operator(power)(state[0::2]) ^ state[1::2]
        power += 1
    return int(state[0])


def _advance(state: int, n_bytes: int) -> int:
    """Return the state after a number of zero bytes."""
    value = np.array([state], np.uint32)
    for power in range(n_bytes.bit_length()):
        if n_bytes >> power & 1:
            value = _operator(power)(value)
    return int(value[0])


@cache
def _operator(power: int) -> Callable[[Words], Words]:
    """Return the function that advances states by 2**power zero bytes.

    This linear map of 32 bits is stored as tables for the lower and upper 16 bits.
    """
    if power == 0:
        images = [_after_zeros(1 << bit, _POLYNOMIAL_32C) for bit in range(32)]
    else:
        half = _operator(power - 1)
        bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
        images = [int(image) for image in half(half(bits))]
    low, high = _span(images[:16]), _span(images[16:])

    def advance(states: Words) -> Words:
        moved: Words = low[states & 0xFFFF] ^ high[states >> 16]
        return moved

    return advance


def _span(images: list[int]) -> Words:
    """Return the sums of the images of the bits of each number."""
    table = np.zeros(1 << len(images), np.uint32)
    for bit, image in enumerate(images):
        table[1 << bit : 2 << bit] = table[: 1 << bit] ^ np.uint32(image)
    return table
