"""Check statements, and collect them in runs of sorted terms that fit in memory."""

from __future__ import annotations

import io
import re
from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np

from rdfcrawl.core import formats
from rdfcrawl.core.errors import Reason
from rdfcrawl.core.sorting import StringRun
from rdfcrawl.rdf.checking import check, new_parser, serialize
from rdfcrawl.rdf.hdt.terms import from_n_quads
from rdfcrawl.rdf.text import gathered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.core.sorting import SpillFile
    from rdfcrawl.rdf.hdt.sorting import Places

ROLES: Final = "spo"
_LINE = re.compile(rb"^([^ \n]++) ([^ \n]++) (.*) \.\n", re.MULTILINE)
# Measured memory: of a term, in addition to twice its bytes; and of a statement.
_TERM_BYTES = 320
_TRIPLE_BYTES = 3 * 8 * 2
_BLOCK_BYTES = 512 * 1024
_TERM = rb"(?:<[^ ]*>|_:[^ ]+|\"(?:[^\"\\]|\\.)*\"(?:@[^ ]+|\^\^<[^ ]*>)?)"
# A line of canonical N-Quads without triple terms.
_QUAD = re.compile(rb"(%b %b %b )(?:%b )?\.\n" % (_TERM, _TERM, _TERM, _TERM))
_DIRECTED = re.compile(rb'"@([A-Za-z0-9-]+)--(ltr|rtl) \.\n')
_I18N = rb'"^^<https://www.w3.org/ns/i18n#\1_\2> .\n'
# An escape of U+0000, not letters after an escaped backslash.
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


def iter_triples(lines: Iterable[bytes], log: FaultLog) -> Iterator[bytes]:
    """Yield blocks of complete lines of canonical N-Triples.

    Args:
        lines: of N-Triples or N-Quads, or blocks of complete lines.
        log: takes `BAD_TERM` for lines that are not a statement of RDF 1.1, and
            `NUL_CHARACTER` for statements with U+0000, which HDT cannot hold.

    A base direction, which RDF 1.1 and its HDT do not have, becomes part of a datatype,
    as in JSON-LD 1.1, clause 10: `"x"^^<https://www.w3.org/ns/i18n#ar_rtl>`.
    """
    ended = (line if line.endswith(b"\n") else line + b"\n" for line in lines)
    for block in gathered(ended, _BLOCK_BYTES):
        out = io.BytesIO()
        error = serialize(new_parser(block, formats.N_TRIPLES, None), out)
        triples = check(block, log) if error else out.getvalue()
        if error or b"<<(" in triples or b"\\u0000" in triples:
            triples = b"".join(_kept(triples, log))
        if b"--ltr ." in triples or b"--rtl ." in triples:
            triples = _DIRECTED.sub(_I18N, triples)
        if triples:
            yield triples


def _kept(quads: bytes, log: FaultLog) -> Iterator[bytes]:
    """Yield the statements that HDT can hold, without graph names."""
    for line in quads.splitlines(keepends=True):
        found = _QUAD.fullmatch(line)
        if found is None:
            log.note(Reason.BAD_TERM, "statements about triple terms")
        elif b"\\u0000" in line and _NUL.search(line):
            log.note(Reason.NUL_CHARACTER, "statements with U+0000 in a literal")
        else:
            yield found[1] + b".\n"


class SortedRun:
    """Spilled statements: their terms, and their numbers in the dictionary, by role."""

    def __init__(
        self, terms: dict[str, StringRun], columns: list[Places], spill: SpillFile
    ) -> None:
        self.terms, self._spill = terms, spill
        self.numbers = {role: SpilledIntegers(spill) for role in ROLES}
        self._n_triples = len(columns[0])
        content = np.stack(columns).astype(np.uint32).tobytes()
        self._places, _ = spill.add(content)

    def columns(self) -> Iterator[Places]:
        """Yield, for each role, the numbers of the terms in all statements."""
        size = self._n_triples * 4
        for index, role in enumerate(ROLES):
            begin = self._places + index * size
            places = self._spill.read(begin, begin + size)
            yield self.numbers[role].all()[np.frombuffer(places, np.uint32)]


class SpilledIntegers:
    """Integers that are spilled in batches, and read all together."""

    _MOST_WAITING = 4096

    def __init__(self, spill: SpillFile) -> None:
        self._spill = spill
        self._spans: list[tuple[int, int]] = []
        self._waiting: list[Places] = []
        self._n_waiting = 0

    def add(self, numbers: Places) -> None:
        """Add integers."""
        self._waiting.append(numbers)
        self._n_waiting += len(numbers)
        if self._n_waiting > self._MOST_WAITING:
            content = np.concatenate(self._waiting).tobytes()
            self._spans.append(self._spill.add(content))
            self._waiting, self._n_waiting = [], 0

    def all(self) -> Places:
        """Return all integers in order."""
        parts = [
            np.frombuffer(self._spill.read(*span), np.int64) for span in self._spans
        ]
        return np.concatenate([*parts, *self._waiting, np.empty(0, np.int64)])


class _Column:
    """One role in the statements of a run: distinct terms, and their positions."""

    def __init__(self) -> None:
        self.ids: defaultdict[bytes, int] = defaultdict()
        self.ids.default_factory = self.ids.__len__
        self._places: list[Places] = []
        self.n_bytes = 0

    def add(self, terms: list[bytes]) -> None:
        n_before = len(self.ids)
        self._places.append(
            np.fromiter(map(self.ids.__getitem__, terms), np.int64, len(terms))
        )
        new = islice(reversed(self.ids), len(self.ids) - n_before)
        self.n_bytes += sum(map(len, new))

    def sort(self, spill: SpillFile) -> tuple[StringRun, Places]:
        """Spill the terms; return the sorted run, and the positions by statement."""
        terms = from_n_quads(self.ids)
        self.ids.clear()
        order = sorted(range(len(terms)), key=terms.__getitem__)
        ranks = np.empty(len(terms), np.int64)
        ranks[order] = np.arange(len(terms))
        run = StringRun(spill, [terms[index] for index in order])
        return run, ranks[np.concatenate(self._places)]


def iter_runs(
    blocks: Iterable[bytes], spill: SpillFile, memory_bytes: int
) -> Iterator[SortedRun]:
    """Yield runs of the statements in blocks of canonical N-Triples.

    A run is spilled once it takes about `memory_bytes`.
    """
    columns = [_Column() for _ in ROLES]
    n_bytes = 0
    for block in blocks:
        # Each line becomes an empty string and its terms.
        parts = _LINE.split(block)
        for column, first in zip(columns, (1, 2, 3), strict=True):
            column.add(parts[first::4])
        n_bytes += len(parts) // 4 * _TRIPLE_BYTES
        held = sum(len(x.ids) * _TERM_BYTES + x.n_bytes * 2 for x in columns)
        if n_bytes + held > memory_bytes:
            yield _spilled(columns, spill)
            columns, n_bytes = [_Column() for _ in ROLES], 0
    if n_bytes:
        yield _spilled(columns, spill)


def _spilled(columns: list[_Column], spill: SpillFile) -> SortedRun:
    terms, places = zip(*[column.sort(spill) for column in columns], strict=True)
    return SortedRun(dict(zip(ROLES, terms, strict=True)), list(places), spill)
