"""Clusters of any number of documents, mostly on disk.

Equal hashes and redirects are found by sorting. For each distinct text, the runs of
`WINDOW` minima that start at every fourth one are sorted; texts that share a run are
compared.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, groupby
from typing import Final

from rdfcrawl.analysis.duplicates.clusters import (
    N_BANDS,
    NEAR_DUPLICATE,
)
from rdfcrawl.core.sorting import SpillFolder, StringSorter
from rdfcrawl.rdf.fingerprints import BINS, Sketch, read_sketch

WINDOW: Final = 6
"""Minima of a run: 36 bits, which millions of documents rarely share by chance."""
MAX_CROWD: Final = 4096
"""Maximum number of texts with a common run to compare; the others are counted."""
MAX_COMPARED: Final = 32
"""Maximum number of distinct texts among these that each one is compared with."""
LEAST_SHINGLES: Final = 9
"""Of texts that are compared; shorter texts are equal or no near-duplicates."""

_HASH_CHARS: Final = 32
_NUMBER_CHARS: Final = 8
_MARK: Final = 0xFFFF_FFFF_FFFF_FFFF  # fingerprints are signed
_STEP: Final = BINS // N_BANDS
_DIGITS: Final = 4  # of a minimum
_SLOT: Final = _NUMBER_CHARS + BINS
_CACHED: Final = 10_000  # sketches
_TEXT, _CONTENT, _URL = b"t", b"c", b"u"
_KEY_ENDS: Final = {_TEXT: 1 + _HASH_CHARS, _CONTENT: 1 + _HASH_CHARS, _URL: 17}


class SpilledClusters:
    """Disjoint sets of documents, which are numbered from 0.

    Memory: 4 bytes for each document, in addition to `memory_bytes`.

    Args:
        n_documents: at most 2^32.
        spills: of scratch files.
        memory_bytes: approximate memory for sorting.

    Attributes:
        n_crowded: runs of minima that more than `MAX_CROWD` texts share.
        n_left_out: comparisons that were omitted for texts of these runs.
    """

    def __init__(
        self, n_documents: int, spills: SpillFolder, memory_bytes: int
    ) -> None:
        self._parents = array("I", range(n_documents))
        self._keys = StringSorter(spills.new(), memory_bytes // 2)
        self._windows = StringSorter(spills.new(), memory_bytes // 2)
        self._sketches = spills.new()
        self._sketch = lru_cache(_CACHED)(self._read_sketch)
        self.n_crowded = self.n_left_out = 0

    def add(
        self, number: int, *, text_hash: str, content_hash: str, sketch: str
    ) -> None:
        """Add the hashes of a document; invalid ones are ignored."""
        for kind, each, more in (
            (_TEXT, text_hash, sketch),
            (_CONTENT, content_hash, ""),
        ):
            if len(each) == _HASH_CHARS and each.isascii() and each.isalnum():
                line = kind + f"{each}{number:08x}".encode()
                is_sketch = more.isascii() and more.isprintable()
                self._keys.add(line + more.encode() if is_sketch else line)

    def add_url(self, number: int, url_mark: int, target_mark: int | None) -> None:
        """Add the fingerprints of a document's URL, and of its redirect target."""
        self._keys.add(b"u%016x0%08x" % (url_mark & _MARK, number))
        if target_mark is not None:
            self._keys.add(b"u%016x1%08x" % (target_mark & _MARK, number))

    def join(self) -> None:
        """Join equal documents, redirects, and near-duplicates.

        Raises:
            OSError: a disk is full, or cannot be read.
        """
        for key, lines in groupby(chain.from_iterable(self._keys.sorted()), _key_of):
            if key.startswith(_URL):
                self._join_redirects(lines)
            else:
                self._join_equal(key, lines)
        for _, lines in groupby(
            chain.from_iterable(self._windows.sorted()),
            lambda line: line[:-_NUMBER_CHARS],
        ):
            self._join_near(int(line[-_NUMBER_CHARS:], 16) for line in lines)

    def root(self, number: int) -> int:
        """Return the least known document of the set of a document."""
        parents = self._parents
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number

    def _join_redirects(self, lines: Iterator[bytes]) -> None:
        """Join the document of a URL, if there is one, with redirects to it."""
        first = next(lines)
        if first[_KEY_ENDS[_URL] :].startswith(b"0"):
            for line in lines:
                self._unite(int(first[-8:], 16), int(line[-8:], 16))

    def _join_equal(self, key: bytes, lines: Iterator[bytes]) -> None:
        """Join documents of one hash; the first one represents a text."""
        first = next(lines)
        number = _number_of(first)
        for line in lines:
            self._unite(number, _number_of(line))
        if key.startswith(_TEXT):
            self._add_windows(number, first[len(key) + _NUMBER_CHARS :].decode())

    def _add_windows(self, number: int, text: str) -> None:
        try:
            sketch = read_sketch(text)
        except ValueError:
            return
        if 0 < sketch.n_listed < LEAST_SHINGLES:
            return
        slot = self._sketches.n_bytes // _SLOT
        self._sketches.add(f"{number:08x}{text}".ljust(_SLOT).encode())
        digits = sketch.minima().hex()
        digits += digits[: WINDOW * _DIGITS]
        for window in range(N_BANDS):
            begin = window * _STEP * _DIGITS
            run = digits[begin : begin + WINDOW * _DIGITS]
            self._windows.add(f"{window:x}{run}{slot:08x}".encode())

    def _join_near(self, slots: Iterator[int]) -> None:
        """Compare and join texts with a common run."""
        held = [next(slots)]
        for n, slot in enumerate(slots, 2):
            if n > MAX_CROWD:
                self.n_crowded += n == MAX_CROWD + 1
                self.n_left_out += 1
                continue
            number, sketch = self._sketch(slot)
            is_known = False
            for other in held:
                other_number, known = self._sketch(other)
                if self.root(number) == self.root(other_number):
                    is_known = True
                elif sketch.resemblance(known) >= NEAR_DUPLICATE:
                    self._unite(number, other_number)
            if not is_known and len(held) < MAX_COMPARED:
                held.append(slot)

    def _read_sketch(self, slot: int) -> tuple[int, Sketch]:
        content = self._sketches.read(slot * _SLOT, (slot + 1) * _SLOT).decode()
        number, text = content[:_NUMBER_CHARS], content[_NUMBER_CHARS:]
        return int(number, 16), read_sketch(text.rstrip())

    def _unite(self, one: int, other: int) -> None:
        one, other = self.root(one), self.root(other)
        self._parents[max(one, other)] = min(one, other)


def _key_of(line: bytes) -> bytes:
    return line[: _KEY_ENDS[line[:1]]]


def _number_of(line: bytes) -> int:
    begin = 1 + _HASH_CHARS
    return int(line[begin : begin + _NUMBER_CHARS], 16)
