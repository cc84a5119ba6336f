"""The score table of a crawl's URIs: a memory-mapped file.

| bytes | content |
|---|---|
| 16 | magic number with the version of the format |
| 8 | length of the header, a multiple of 8 |
| header | JSON: `n_urls`, `scores`, `facts` of the ranking; padded with spaces |
| 8 each | fingerprints of the URIs in normal form, sorted |
| 8 each, for each score | its values, in that order |
| 1 each, for each score | the levels, in that order |

Numbers are little endian; fingerprints are signed integers, values doubles.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.records import RankScore

FOLDER: Final = "ranks"
"""Name of the folder of the table, within that of the crawl."""

TABLE_NAME: Final = "ranks.bin"
_MAGIC: Final = b"rdfcrawl ranks\0\1"
_LENGTH: Final = struct.Struct("<Q")
_MAX_HEADER_BYTES: Final = 2**20

# Level n + 1 starts above this share of the URIs of a host.
_SHARES: Final = (0.2, 0.4, 0.6, 0.8, 0.95)
_SAMPLED: Final = 1_000_000  # scores of one host in memory


class RankTable:
    """The scores of the URIs of a crawl; the mapping survives replacement of the file.

    Args:
        path: of the table.

    Attributes:
        n_urls: number of URIs with scores.
        facts: of the ranking: numbers by name.

    Raises:
        ConfigError: it is damaged, or of another version of rdfcrawl or machine.
        OSError: it does not exist, or cannot be read.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            n_bytes = os.fstat(file.fileno()).st_size
            begin = len(_MAGIC) + _LENGTH.size
            if sys.byteorder != "little" or n_bytes < begin:
                raise _damaged(path)
            mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        (n_header,) = _LENGTH.unpack(mapped[len(_MAGIC) : begin])
        if bytes(mapped[: len(_MAGIC)]) != _MAGIC or n_header > _MAX_HEADER_BYTES:
            raise _damaged(path)
        try:
            header = json.loads(bytes(mapped[begin : begin + n_header]))
            self.n_urls: int = header["n_urls"]
            self.facts: dict[str, int | float | str] = header["facts"]
            names = [RankScore(name) for name in header["scores"]]
        except (ValueError, KeyError, TypeError) as error:
            raise _damaged(path) from error
        n = self.n_urls
        parts = begin + n_header
        if n_bytes != parts + n * (8 + 9 * len(names)):
            raise _damaged(path)
        self._urls: Sequence[int] = mapped[parts : parts + 8 * n].cast("q")
        self._values: dict[RankScore, Sequence[float]] = {}
        self._levels: dict[RankScore, Sequence[int]] = {}
        for place, name in enumerate(names, start=1):
            at = parts + 8 * n * place
            self._values[name] = mapped[at : at + 8 * n].cast("d")
            at = parts + 8 * n * (1 + len(names)) + n * (place - 1)
            self._levels[name] = mapped[at : at + n]

    def score(self, fingerprint: int, name: RankScore) -> float | None:
        """Return a score of a URI by the fingerprint of its normal form."""
        at = self._place(fingerprint)
        return None if at is None else self._values[name][at]

    def scores(self, fingerprint: int) -> dict[str, float] | None:
        """Return all scores of a URI; None if the URI was not ranked."""
        at = self._place(fingerprint)
        if at is None:
            return None
        return {str(name): values[at] for name, values in self._values.items()}

    def level(self, fingerprint: int, name: RankScore) -> int | None:
        """Return the level of a URI among those of its host, from 0 to 5."""
        at = self._place(fingerprint)
        return None if at is None else self._levels[name][at]

    def _place(self, fingerprint: int) -> int | None:
        at = bisect_left(self._urls, fingerprint)
        if at < self.n_urls and self._urls[at] == fingerprint:
            return at
        return None


def write_head(
    file: BinaryIO, n_urls: int, facts: Mapping[str, int | float | str]
) -> None:
    """Write the start of a table, up to the fingerprints, with all scores."""
    header = json.dumps(
        {"n_urls": n_urls, "scores": [*RankScore], "facts": facts}, sort_keys=True
    ).encode()
    header += b" " * (-len(header) % 8)
    file.write(_MAGIC + _LENGTH.pack(len(header)) + header)


def levels_of(scores: Sequence[float]) -> bytearray:
    """Return the levels of the URIs of one host, from 0 to 5.

    A URI above 95 % of the others has level 5, above 80 % 4, above 60 % 3, above 40 %
    2, above 20 % 1, otherwise 0; half of those with equal scores count as below. A
    large host is compared with a regular sample of a million scores.

    >>> list(levels_of([0.1, 0.5])), list(levels_of([0.3] * 9))
    ([1, 3], [2, 2, 2, 2, 2, 2, 2, 2, 2])
    """
    order = sorted(scores[:: len(scores) // _SAMPLED + 1])
    total = 2 * len(order)
    known: dict[float, int] = {}
    found = bytearray()
    for score in scores:
        level = known.get(score)
        if level is None:
            below = bisect_left(order, score) + bisect_right(order, score)
            level = bisect_right(_SHARES, below / total)
            if len(known) < _SAMPLED:
                known[score] = level
        found.append(level)
    return found


def open_ranks(root: Path) -> RankTable | None:
    """Return the table of a crawl by its folder; None if it was not ranked.

    Raises:
        ConfigError: the table is damaged.
        OSError: it cannot be read.
    """
    try:
        return RankTable(root / FOLDER / TABLE_NAME)
    except FileNotFoundError:
        return None


def _damaged(path: Path) -> ConfigError:
    return ConfigError(f"{path}: is damaged; remove it and run `urldb rank`")
