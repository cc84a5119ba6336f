"""Read the statements of an HDT file as N-Quads, in bounded memory."""

from __future__ import annotations

import io
import mmap
import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Final

import numpy as np

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.messages import counted
from rdfcrawl.rdf.hdt.cursor import FileCursor, HdtPart, read_control
from rdfcrawl.rdf.hdt.dictionary import TermDictionary, TooMuch
from rdfcrawl.rdf.hdt.terms import TermWriter
from rdfcrawl.rdf.hdt.triples import FileTriples, HdtPosition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rdfcrawl.core.content import ByteSource
    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.rdf.environment import ParseLimits, ReaderContext
    from rdfcrawl.rdf.hdt.crc import Buffer
    from rdfcrawl.rdf.hdt.triples import Numbers

BLOCK_BYTES: Final = 96 * 1024
_FIRST_WINDOW = 4096  # statements; a window grows while its terms leave room
_LARGEST_WINDOW = 64 * 1024
_FAST_GROWTH, _SLOW_GROWTH = 32, 9  # eighths; a window that is too large is wasted work
_WINDOW_BYTES = 16 * 2**20  # of the terms of one role
_MAX_TERM_BYTES = 8 * 2**20  # longest token of the checking parser
_DETAILS = {
    Reason.BAD_TERM: "statements with a bad term",
    Reason.SYNTAX: "statements with a term of a broken block of the dictionary",
    Reason.LITERAL_TOO_LONG: "statements with a term that is too long",
}
_BEHIND = {"s": b" ", "p": b" ", "o": b" .\n"}


def read_hdt(buffer: Buffer, *, limits: ParseLimits, log: FaultLog) -> Iterator[bytes]:
    """Yield the statements of an HDT file as blocks of canonical N-Triples.

    All checksums are verified before the first statement. The header is skipped. A
    blank node keeps its label if that is alphanumeric.

    Args:
        buffer: the full file, preferably mapped: only pieces are read.
        limits: `literal_bytes` limits a term.
        log: takes `BAD_TERM`, `LITERAL_TOO_LONG` and `SYNTAX` for statements left out
            because of one term.

    Raises:
        SourceFault: the file is not supported (`UNSUPPORTED_FORMAT`), not an HDT file,
            truncated or inconsistent (`SYNTAX`) or damaged (`CHECKSUM`).

    Source: https://www.rdfhdt.org/hdt-binary-format/
    """
    cursor = FileCursor(buffer)
    read_control(cursor, HdtPart.GLOBAL)
    _pass_header(cursor)
    longest = min(limits.literal_bytes, _MAX_TERM_BYTES)
    dictionary = TermDictionary(cursor, longest=longest)
    triples = FileTriples(cursor)
    yield from _Statements(dictionary, triples, log)


def _pass_header(cursor: FileCursor) -> None:
    control = read_control(cursor, HdtPart.HEADER)
    length = control.properties.get("length", "")
    if not (length.isascii() and length.isdigit() and len(length) < 20):
        raise SourceFault(Reason.SYNTAX, f"length of the header: {length[:40]!r}")
    cursor.take(int(length), "header")


class _Statements:
    """The statements of a file, in windows; terms are looked up once per window."""

    def __init__(
        self, dictionary: TermDictionary, triples: FileTriples, log: FaultLog
    ) -> None:
        self._dictionary, self._triples, self._log = dictionary, triples, log
        self._writer = TermWriter()

    def __iter__(self) -> Iterator[bytes]:
        at, size, growth = HdtPosition(), _FIRST_WINDOW, _FAST_GROWTH
        while at.z < self._triples.n_triples:
            window, after = self._triples.window(at, size)
            n_good = self._n_in_range(window)
            try:
                columns = self._columns(window, n_good)
            except TooMuch:
                size, growth = max(size // 2, 1), _SLOW_GROWTH
                continue
            yield from _lines(columns)
            del window, columns  # not held while the next ones are made
            if n_good < after.z - at.z:
                detail = f"statement {at.z + n_good} has a term without a number"
                raise SourceFault(Reason.SYNTAX, detail)
            at = after
            size = min(size * growth // 8 + 1, _LARGEST_WINDOW)

    def _n_in_range(self, window: Numbers) -> int:
        """Return the number of statements before one with a number out of range."""
        least = len(window["s"])
        for role, numbers in window.items():
            most = np.uint64(self._dictionary.n_terms(role))
            # 0 is not a valid number: minus one, it wraps to the largest.
            outside = numbers - np.uint64(1) >= most
            if outside.any():
                least = min(least, int(outside.argmax()))
        return least

    def _columns(self, window: Numbers, n: int) -> list[_Column]:
        """Return the first `n` statements of a window, without incomplete ones."""
        columns = [
            self._column(role, window[role][:n].astype(np.int64)) for role in "spo"
        ]
        for column in columns:
            for reason in Reason.BAD_TERM, Reason.SYNTAX, Reason.LITERAL_TOO_LONG:
                lacks = column.lacks(reason)
                if lacks is not None:
                    self._log.note(reason, _DETAILS[reason], int(lacks.sum()))
                    for other in columns:
                        other.places = other.places[~lacks]
        return columns

    def _column(self, role: str, numbers: NDArray[np.int64]) -> _Column:
        unique, places = np.unique(numbers, return_inverse=True)
        held = self._dictionary.terms(role, unique, _WINDOW_BYTES)
        terms = self._writer.to_n_quads(held, _BEHIND[role])
        return _Column(terms, places)


@dataclass(slots=True)
class _Column:
    """One role in the statements of a window."""

    # distinct terms of N-Quads with their separator, or reasons
    terms: list[bytes | Reason]
    places: NDArray[np.intp]  # index in `terms` for each statement

    def lacks(self, reason: Reason) -> NDArray[np.bool_] | None:
        """Return the statements that lack a term for a reason; None if none does."""
        if reason not in self.terms:
            return None
        missing = np.array([term is reason for term in self.terms], np.bool_)
        return missing[self.places]


def _lines(columns: list[_Column]) -> Iterator[bytes]:
    """Yield the statements as lines, about `BLOCK_BYTES` at a time."""
    n = len(columns[0].places)
    tokens = np.empty((n, len(columns)), object)
    n_bytes = np.zeros(n, np.int64)
    for index, column in enumerate(columns):
        terms = np.empty(len(column.terms), object)
        terms[:] = column.terms
        tokens[:, index] = terms[column.places]
        lengths = np.fromiter(map(len, column.terms), np.int64, len(terms))
        n_bytes += lengths[column.places]
    ends = np.cumsum(n_bytes)
    begin = 0
    while begin < n:
        done = int(ends[begin - 1]) if begin else 0
        end = max(int(np.searchsorted(ends, done + BLOCK_BYTES)), begin + 1)
        yield b"".join(tokens[begin:end].ravel().tolist())
        begin = end


@contextmanager
def mapped(
    source: ByteSource, environment: ReaderContext, *, max_bytes: int
) -> Iterator[memoryview]:
    """Yield the bytes of a source as one buffer; a stream is spooled first.

    Raises:
        SourceFault: `TOO_LARGE`: more than `max_bytes`, or no space to spool a stream.
        NeedsSandbox: there is no scratch space to spool a stream.
    """
    if source.data is not None:
        _demand(len(source.data), max_bytes)
        yield memoryview(source.data)
        return
    with source.open() as file:
        if isinstance(file, io.BufferedReader) and isinstance(file.raw, io.FileIO):
            yield from _map_file(file, environment, max_bytes)
        else:
            yield from _map_stream(file, environment, max_bytes)


def _map_file(
    file: BinaryIO, environment: ReaderContext, max_bytes: int
) -> Iterator[memoryview]:
    n_bytes = os.fstat(file.fileno()).st_size
    _demand(n_bytes, max_bytes)
    environment.lift(n_bytes)
    buffer = mmap.mmap(file.fileno(), n_bytes, prot=mmap.PROT_READ)
    try:
        with memoryview(buffer) as view:
            yield view
    finally:
        # An exception may still hold arrays over the buffer; they close it later.
        with suppress(BufferError):
            buffer.close()


def _map_stream(
    file: BinaryIO, environment: ReaderContext, max_bytes: int
) -> Iterator[memoryview]:
    if environment.scratch is None:
        environment.demand_bounds("spooling a stream")
        raise SourceFault(Reason.TOO_LARGE, "no scratch space for random access")
    held = environment.scratch.hold(file, max_bytes=max_bytes)
    try:
        environment.lift(held.n_bytes)
        view = held.map()
        try:
            yield view
        finally:
            with suppress(BufferError):
                view.release()
    finally:
        with suppress(BufferError):
            held.close()


def _demand(n_bytes: int, max_bytes: int) -> None:
    if n_bytes > max_bytes:
        raise SourceFault(
            Reason.TOO_LARGE, f"{counted(n_bytes, 'byte')}, and it cannot be truncated"
        )
