"""HDT files for tests: written, read, taken apart and damaged."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

import google_crc32c

from rdfcrawl.core.errors import FaultLog, SourceFault
from rdfcrawl.rdf.environment import DEFAULT_LIMITS, ParseLimits
from rdfcrawl.rdf.hdt import read_hdt, write_hdt
from rdfcrawl.rdf.hdt.crc import crc8, crc16

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rdfcrawl.core.errors import Fault, Reason

BASE = "http://example.org/dataset"


def hdt_of(lines: Iterable[bytes]) -> bytes:
    """Return the HDT file of some lines."""
    out = io.BytesIO()
    write_hdt(lines, out, base=BASE)
    return out.getvalue()


def lines_of(data: bytes) -> list[bytes]:
    """Return the statements of an HDT file that has no faults."""
    log = FaultLog()
    blocks = list(read_hdt(memoryview(data), limits=DEFAULT_LIMITS, log=log))
    assert not log.all()
    return b"".join(blocks).splitlines(keepends=True)


@dataclass(frozen=True)
class Outcome:
    """Result of reading a file that may be damaged.

    Attributes:
        lines: statements that were read.
        fault: that ended the reading.
        noted: faults that did not.
    """

    lines: list[bytes]
    fault: Fault | None
    noted: dict[Reason, int]

    @property
    def reason(self) -> Reason | None:
        """Why reading ended early."""
        return None if self.fault is None else self.fault.reason


def outcome(data: bytes, limits: ParseLimits = DEFAULT_LIMITS) -> Outcome:
    """Read a file that may be damaged."""
    log = FaultLog()
    blocks: list[bytes] = []
    ended = None
    try:
        blocks.extend(read_hdt(memoryview(data), limits=limits, log=log))
    except SourceFault as fault:
        ended = fault.fault
    noted = {fault.reason: fault.count for fault in log.all()}
    return Outcome(b"".join(blocks).splitlines(keepends=True), ended, noted)


@dataclass(frozen=True)
class Piece:
    """Bytes of a file and the checksum behind them.

    Attributes:
        name: `control`, `header`, `preamble` or `content`: the part it belongs to.
        begin: of the bytes,
        end: of the bytes.
        crc_bytes: length of the checksum behind them.
    """

    name: str
    begin: int
    end: int
    crc_bytes: int


def pieces(data: bytes) -> dict[str, Piece]:
    """Take a sound file apart, as the format's description says."""
    return {piece.name: piece for piece in _Anatomy(data).pieces()}


def sealed(data: bytes, original: dict[str, Piece]) -> bytes:
    """Return a damaged file with checksums that are right again."""
    out = bytearray(data)
    for piece in original.values():
        content = bytes(out[piece.begin : piece.end])
        match piece.crc_bytes:
            case 1:
                value = crc8(content)
            case 2:
                value = crc16(content)
            case 4:
                value = google_crc32c.value(content)
            case _:
                continue
        out[piece.end : piece.end + piece.crc_bytes] = value.to_bytes(
            piece.crc_bytes, "little"
        )
    return bytes(out)


class _Anatomy:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0
        self._pieces: list[Piece] = []

    def pieces(self) -> list[Piece]:
        self._control("global")
        text = self._control("header")
        length = int(text.partition(b"length=")[2].partition(b";")[0])
        self._add("header", length, 0)
        self._control("dictionary")
        for name in "shared", "subjects", "predicates", "objects":
            begin = self._at
            self._at += 1
            _, n_bytes, _ = self._vbyte(), self._vbyte(), self._vbyte()
            self._close(f"{name} preamble", begin)
            self._log_array(f"{name} offsets")
            self._add(f"{name} content", n_bytes, 4)
        self._control("triples")
        for name in "bits y", "bits z":
            begin = self._at
            self._at += 1
            n_bits = self._vbyte()
            self._close(f"{name} preamble", begin)
            self._add(f"{name} content", (n_bits + 7) // 8, 4)
        for name in "array y", "array z":
            self._log_array(name)
        assert self._at == len(self._data)
        return self._pieces

    def _control(self, name: str) -> bytes:
        begin = self._at
        assert self._data[begin : begin + 4] == b"$HDT"
        end = self._data.index(b"\0", begin + 5)
        end = self._data.index(b"\0", end + 1) + 1
        self._add(f"{name} control", end - begin, 2)
        return self._data[begin:end]

    def _log_array(self, name: str) -> None:
        begin = self._at
        width = self._data[begin + 1]
        self._at += 2
        n_entries = self._vbyte()
        self._close(f"{name} preamble", begin)
        self._add(f"{name} content", (width * n_entries + 7) // 8, 4)

    def _vbyte(self) -> int:
        value = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            if byte & 0x80:
                return value
            shift += 7

    def _close(self, name: str, begin: int) -> None:
        n_bytes = self._at - begin
        self._at = begin
        self._add(name, n_bytes, 1)

    def _add(self, name: str, n_bytes: int, crc_bytes: int) -> None:
        end = self._at + n_bytes
        self._pieces.append(Piece(name, self._at, end, crc_bytes))
        self._at = end + crc_bytes
