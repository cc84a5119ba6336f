"""Write statements as an HDT file, with external sorting."""

from __future__ import annotations

import io
import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np

from rdfcrawl.core import formats
from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.core.namespaces import HDT, RDF_TYPE, VOID
from rdfcrawl.core.sorting import SpillFolder, StringRun
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.checking import check, new_parser, serialize
from rdfcrawl.rdf.graphs import check_iri
from rdfcrawl.rdf.hdt.cursor import FORMATS, ControlInformation, HdtPart, preamble
from rdfcrawl.rdf.hdt.dictionary import TYPE_FRONT_CODING, encode_blocks
from rdfcrawl.rdf.hdt.sequences import CheckedSpill, IntegerPacker, merge_strings
from rdfcrawl.rdf.hdt.terms import from_n_quads
from rdfcrawl.rdf.hdt.triples import KeyCodec, TriplesWriter, sort_triples
from rdfcrawl.rdf.rdf_11 import TRIPLE_TERM
from rdfcrawl.rdf.text import gathered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import BinaryIO

    from numpy.typing import NDArray

    from rdfcrawl.core.errors import Fault
    from rdfcrawl.core.sorting import SpillFile
    from rdfcrawl.rdf.hdt.sequences import Places


BLOCK_STRINGS = 16  # same as hdt-cpp and hdt-java


class DictionaryWriter:
    """The dictionary of all runs; terms are numbered on construction.

    Its sections: terms that are both subjects and objects, other subjects, predicates,
    other objects.
    """

    def __init__(
        self, runs: list[SortedRun], spills: SpillFolder, memory_bytes: int
    ) -> None:
        self.sections = tuple(SectionWriter(spills) for _ in range(4))
        self._shared, self._subjects, self._predicates, self._objects = self.sections
        self._number_predicates(runs, memory_bytes)
        self._number_nodes(runs, memory_bytes)

    def _number_predicates(self, runs: list[SortedRun], memory_bytes: int) -> None:
        merged = merge_strings([run.terms["p"] for run in runs], memory_bytes)
        for strings, all_places in merged:
            first = self._predicates.n_strings + 1
            self._predicates.add(strings)
            for run, places in zip(runs, all_places, strict=True):
                run.numbers["p"].add(places + first)

    def _number_nodes(self, runs: list[SortedRun], memory_bytes: int) -> None:
        """Number subjects and objects.

        The number of shared terms is only known at the end. Until then the numbers of
        other terms are negative; see `resolve`.
        """
        roles = [(run, role) for role in "so" for run in runs]
        merged = merge_strings([run.terms[role] for run, role in roles], memory_bytes)
        for strings, all_places in merged:
            uses = np.zeros(len(strings), np.uint8)
            for (_, role), places in zip(roles, all_places, strict=True):
                uses[places] |= 1 if role == "s" else 2
            numbers = np.empty(len(strings), np.int64)
            sections = (self._subjects, -1), (self._objects, -1), (self._shared, 1)
            for use, (section, sign) in enumerate(sections, 1):
                numbers[uses == use] = sign * _add(section, strings, uses == use)
            for (run, role), places in zip(roles, all_places, strict=True):
                if len(places):
                    run.numbers[role].add(numbers[places])

    def resolve(self, numbers: Places) -> Places:
        """Return the final numbers of nodes."""
        return np.where(numbers < 0, self._shared.n_strings - numbers, numbers)

    @property
    def counts(self) -> dict[str, int]:
        """Number of terms by role."""
        return {
            "s": self._shared.n_strings + self._subjects.n_strings,
            "p": self._predicates.n_strings,
            "o": self._shared.n_strings + self._objects.n_strings,
        }

    def write(self, out: BinaryIO) -> None:
        """Write the sections."""
        for section in self.sections:
            section.write(out)


def _add(
    section: SectionWriter, strings: list[bytes], chosen: NDArray[np.bool_]
) -> Places:
    """Add the chosen strings to a section; return their numbers there."""
    first = section.n_strings + 1
    indexes = np.flatnonzero(chosen)
    section.add([strings[index] for index in indexes.tolist()])
    return np.arange(first, first + len(indexes))


class SectionWriter:
    """A sorted list of strings, front-coded incrementally."""

    def __init__(self, spills: SpillFolder) -> None:
        self._spills = spills
        self._packed, self._offsets = CheckedSpill(spills), spills.new()
        self._rest: list[bytes] = []
        self.n_strings = self.string_bytes = 0

    def add(self, strings: list[bytes]) -> None:
        """Add strings, each greater than all previous ones."""
        self.n_strings += len(strings)
        self.string_bytes += sum(map(len, strings))
        strings = self._rest + strings
        n_ready = len(strings) - len(strings) % BLOCK_STRINGS
        self._add_blocks(strings[:n_ready])
        self._rest = strings[n_ready:]

    def _add_blocks(self, strings: list[bytes]) -> None:
        content, lengths = encode_blocks(strings, BLOCK_STRINGS)
        begins = np.cumsum(lengths, dtype=np.uint64) - lengths
        begins += np.uint64(self._packed.n_bytes)
        self._offsets.add(begins.astype("<u8").tobytes())
        self._packed.add(content)

    def write(self, out: BinaryIO) -> None:
        """Write the section, and free its spills."""
        self._add_blocks(self._rest)
        n_bytes = self._packed.n_bytes
        self._offsets.add(n_bytes.to_bytes(8, "little"))
        counts = self.n_strings, n_bytes, BLOCK_STRINGS
        out.write(preamble(bytes([TYPE_FRONT_CODING]), *counts))
        offsets = IntegerPacker(max(n_bytes.bit_length(), 1), self._spills)
        for piece in self._offsets.pieces():
            offsets.add(np.frombuffer(piece, "<u8"))
        offsets.write_log_array(out)
        self._offsets.drop()
        self._packed.write(out)


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
            log.note(Reason.BAD_TERM, TRIPLE_TERM)
        elif b"\\u0000" in line and _NUL.search(line):
            log.note(Reason.NUL_CHARACTER, "with U+0000 in a literal")
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


MEMORY_BYTES: Final = 256 * 2**20
_ORDER_SPO = "1"
_MAPPING = "1"  # same as hdt-cpp; all readers number objects after shared terms


@dataclass(frozen=True, slots=True, kw_only=True)
class HdtReport:
    """Result of writing."""

    n_triples: int  # distinct statements in the file
    # of statements left out: `BAD_TERM` for lines that are not a statement or contain a
    # triple term; `NUL_CHARACTER` for U+0000 in a literal. Graph names are always
    # dropped, and not counted.
    faults: tuple[Fault, ...]


def write_hdt(
    lines: Iterable[bytes],
    out: BinaryIO,
    *,
    base: str,
    temp_dir: Path | None = None,
    memory_bytes: int = MEMORY_BYTES,
) -> HdtReport:
    """Write the distinct statements as an HDT file.

    Args:
        lines: of N-Triples or N-Quads, or blocks of complete lines.
        out: written in order, after all lines were consumed.
        base: IRI of the dataset, described in the header.
        temp_dir: for unnamed files, at most twice the size of the lines.
        memory_bytes: approximate use, without the interpreter and its libraries.

    Raises:
        SourceFault: the base is not an IRI, or the parser failed on more than a line.

    Source: https://www.rdfhdt.org/hdt-binary-format/
    """
    base = check_iri(base)
    log = FaultLog()
    with SpillFolder(temp_dir) as spills:
        spill = spills.new()
        runs = list(iter_runs(iter_triples(lines, log), spill, memory_bytes))
        dictionary = DictionaryWriter(runs, spills, memory_bytes)
        triples = TriplesWriter(dictionary.counts, spills)
        codec = KeyCodec(dictionary.counts)
        columns = (_columns(run, dictionary) for run in runs)
        for window in sort_triples(columns, codec, spill, memory_bytes):
            triples.add(window)
        _write(out, base, dictionary, triples)
    return HdtReport(n_triples=triples.n_triples, faults=tuple(log.all()))


def _columns(run: SortedRun, dictionary: DictionaryWriter) -> Iterator[Places]:
    """Yield the final numbers of the terms in the statements of a run, by role."""
    s, p, o = run.columns()
    yield dictionary.resolve(s)
    yield p
    yield dictionary.resolve(o)


def _write(
    out: BinaryIO, base: str, dictionary: DictionaryWriter, triples: TriplesWriter
) -> None:
    def begin(part: HdtPart, **properties: object) -> None:
        texts = {key: str(value) for key, value in properties.items()}
        out.write(ControlInformation(part, FORMATS[part], texts).encode())

    begin(HdtPart.GLOBAL)
    header = _header(base, dictionary, triples.n_triples)
    begin(HdtPart.HEADER, length=len(header))
    out.write(header)
    n_bytes = sum(section.string_bytes for section in dictionary.sections)
    begin(HdtPart.DICTIONARY, mapping=_MAPPING, sizeStrings=n_bytes)
    dictionary.write(out)
    n_triples = triples.n_triples
    begin(HdtPart.TRIPLES, numTriples=n_triples, order=_ORDER_SPO)
    triples.write(out)


def _header(base: str, dictionary: DictionaryWriter, n_triples: int) -> bytes:
    """Return the description of the dataset as N-Triples."""
    about = terms.iri(base)
    is_a = terms.iri(RDF_TYPE)
    counts = {
        "triples": n_triples,
        "properties": dictionary.counts["p"],
        "distinctSubjects": dictionary.counts["s"],
        "distinctObjects": dictionary.counts["o"],
    }
    rows = [(is_a, terms.iri(HDT + "Dataset")), (is_a, terms.iri(VOID + "Dataset"))]
    rows += (
        (terms.iri(VOID + name), terms.literal(str(count)))
        for name, count in counts.items()
    )
    return "".join(terms.statement(about, *row) for row in rows).encode()
