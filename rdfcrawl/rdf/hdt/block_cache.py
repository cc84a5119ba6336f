"""Keeps the decoded blocks of the dictionary that were used last."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

# What a decoded string takes beside its bytes.
OBJECT_BYTES: Final = 41
_CACHE_BYTES = 48 * 2**20
_LONGEST_BYTES = 256 * 1024  # of one block


class BlockCache:
    """The blocks decoded last, of all sections, up to a number of bytes."""

    __slots__ = ("_blocks", "_n_bytes")

    def __init__(self) -> None:
        self._blocks: OrderedDict[tuple[str, int], tuple[list[bytes], int]]
        self._blocks = OrderedDict()
        self._n_bytes = 0

    def get(self, key: tuple[str, int]) -> list[bytes] | None:
        """Return a block, if it is still there."""
        known = self._blocks.get(key)
        if known is None:
            return None
        self._blocks.move_to_end(key)
        return known[0]

    def put(self, key: tuple[str, int], strings: list[bytes]) -> None:
        """Keep a block; the blocks that were not used for longest make place."""
        n_bytes = sum(map(len, strings)) + OBJECT_BYTES * len(strings)
        if n_bytes > _LONGEST_BYTES:
            return
        self._blocks[key] = strings, n_bytes
        self._n_bytes += n_bytes
        while self._n_bytes > _CACHE_BYTES:
            self._n_bytes -= self._blocks.popitem(last=False)[1][1]
