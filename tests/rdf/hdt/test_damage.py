"""Damaged HDT files: each fault has its name, and nothing else happens."""

from __future__ import annotations

import random
import tracemalloc
from dataclasses import replace

import google_crc32c
import numpy as np
import pytest

from rdfcrawl.core.errors import Reason
from rdfcrawl.rdf.environment import DEFAULT_LIMITS
from rdfcrawl.rdf.hdt.crc import crc8
from rdfcrawl.rdf.hdt.cursor import FileCursor, encode_vbyte, preamble
from rdfcrawl.rdf.hdt.dictionary import BlockCache, DictionarySection, TooMuch
from rdfcrawl.rdf.hdt.sequences import TYPE_LOG, pack
from tests.support.hdt_files import (
    Outcome,
    Piece,
    hdt_of,
    lines_of,
    outcome,
    pieces,
    sealed,
)

LINES = sorted(
    line
    for i in range(40)
    for line in (
        b"<http://example.org/r/%d> <http://e/p%d> <http://example.org/r/%d> .\n"
        % (i, i % 3, i * 7 % 60),
        b'<http://example.org/r/%d> <http://e/text> "text %d"@en .\n' % (i, i),
        b'_:b%d <http://e/p0> "%d" .\n' % (i, i % 5),
        b'_:b%d <http://e/p0> "and" .\n' % i,
    )
)
DATA = hdt_of(LINES)
PIECES = pieces(DATA)
SUMMED = [name for name, piece in PIECES.items() if piece.crc_bytes]


def _put(piece: Piece, at: int, content: bytes, *, is_sealed: bool = True) -> bytes:
    """Return the file with other bytes at a place of a piece."""
    data = bytearray(DATA)
    data[piece.begin + at : piece.begin + at + len(content)] = content
    return sealed(bytes(data), PIECES) if is_sealed else bytes(data)


def test_sound_file_stays_sound_when_sealed() -> None:
    """If nothing is damaged, then sealing changes nothing."""
    assert sealed(DATA, PIECES) == DATA
    assert sorted(lines_of(DATA)) == LINES


@pytest.mark.parametrize("name", SUMMED)
def test_wrong_checksum_is_a_named_fault(name: str) -> None:
    """If the checksum of any part is wrong, then that is the fault, named so."""
    damaged = bytearray(DATA)
    damaged[PIECES[name].end] ^= 0x01
    found = outcome(bytes(damaged))
    assert found.reason is Reason.CHECKSUM
    assert not found.lines


@pytest.mark.parametrize("name", [name for name in SUMMED if "content" in name])
def test_changed_content_is_a_checksum_fault(name: str) -> None:
    """If one bit of the content of any part is changed, then its checksum fails."""
    piece = PIECES[name]
    damaged = bytearray(DATA)
    damaged[(piece.begin + piece.end) // 2] ^= 0x10
    found = outcome(bytes(damaged))
    assert found.reason is Reason.CHECKSUM
    assert found.fault is not None
    assert "CRC-32C" in found.fault.detail


def test_every_truncation_is_a_named_fault() -> None:
    """If the file is cut off anywhere, then that is a fault, in bounded time."""
    for end in range(len(DATA)):
        found = outcome(DATA[:end])
        assert found.reason in {Reason.SYNTAX, Reason.CHECKSUM}, end


def test_what_is_behind_the_file_is_ignored() -> None:
    """If bytes follow the file, then it is read all the same."""
    assert lines_of(DATA + b"index") == lines_of(DATA)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("global", b"HDTv1"),
        ("header", b"ntriples"),
        ("dictionary", b"dictionaryFour"),
        ("triples", b"triplesBitmap"),
        ("triples", b"order=1"),
    ],
)
def test_other_formats_are_named(name: str, text: bytes) -> None:
    """If a part is in a format that is not read, then that is the fault."""
    piece = PIECES[f"{name} control"]
    at = DATA.index(text, piece.begin) - piece.begin
    found = outcome(_put(piece, at, text[:-1] + b"9"))
    assert found.reason is Reason.UNSUPPORTED_FORMAT


@pytest.mark.parametrize("name", ["subjects", "subjects offsets", "bits y", "array z"])
def test_other_types_of_parts_are_named(name: str) -> None:
    """If a section, an array or a bitmap is of another type, that is the fault."""
    found = outcome(_put(PIECES[f"{name} preamble"], 0, b"\x07"))
    assert found.reason is Reason.UNSUPPORTED_FORMAT


def test_array_of_wide_entries_is_refused() -> None:
    """If entries have more than 64 bits, then that is no array."""
    found = outcome(_put(PIECES["array z preamble"], 1, b"\x41"))
    assert found.reason is Reason.SYNTAX


@pytest.mark.parametrize("length", [b"9999", b"-001", b"\xff\xff\xff\xff", b"    "])
def test_wrong_length_of_the_header_is_refused(length: bytes) -> None:
    """If the header's length is wrong, then nothing behind it is taken for a part."""
    piece = PIECES["header control"]
    control = DATA[piece.begin : piece.end]
    at = control.index(b"length=") + len(b"length=")
    n_digits = control.index(b";", at) - at
    found = outcome(_put(piece, at, length[:n_digits]))
    assert found.reason in {Reason.SYNTAX, Reason.CHECKSUM}


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in PIECES
        if name.endswith("preamble") and name != "shared preamble"
    ],
)
@pytest.mark.parametrize("count", [0, 1, 2**14 - 1])
def test_wrong_count_is_a_named_fault(name: str, count: int) -> None:
    """If any count is wrong, then the result is a fault."""
    piece = PIECES[name]
    begin = 2 if "array" in name or "offsets" in name else 1
    preamble = DATA[piece.begin : piece.end]
    n_bytes = next(n for n, x in enumerate(preamble[begin:], 1) if x & 0x80)
    encoded = encode_vbyte(count)[:n_bytes]
    encoded = encoded[:-1] + bytes([encoded[-1] | 0x80])
    if len(encoded) < n_bytes:
        encoded = bytes([encoded[0] & 0x7F]) + bytes(n_bytes - 2) + b"\x80"
    found = outcome(_put(piece, begin, encoded))
    assert found.reason or found.noted
    assert set(found.lines) <= set(LINES) or found.noted or found.reason


def test_enormous_counts_take_no_memory() -> None:
    """If a count is near 2**64, then that is a fault before memory is allocated."""
    piece = PIECES["array z preamble"]
    enormous = DATA[: piece.begin + 2] + encode_vbyte(2**63)
    tracemalloc.start()
    try:
        padding = bytes(10)
        assert outcome(enormous + padding).reason in {Reason.SYNTAX, Reason.CHECKSUM}
        for width in 0, 1, 64:
            preamble = bytes([1, width]) + encode_vbyte(2**63)
            data = DATA[: piece.begin] + preamble + bytes(1)
            layout = Piece("x", piece.begin, piece.begin + len(preamble), 1)
            data = sealed(data + bytes(100), {"x": layout})
            assert outcome(data).reason in {Reason.SYNTAX, Reason.CHECKSUM}
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * 2**20


def test_many_long_strings_of_few_bytes_take_no_memory() -> None:
    """If a block declares far longer strings than it has, not all of them are held."""
    n, long = 1000, b'"' + bytes([0x78]) * 2**20
    packed = long + b"".join(
        b"\0" + encode_vbyte(len(long)) + b"%d" % i for i in range(n)
    )
    packed += b"\0"
    head = bytes([2]) + b"".join(map(encode_vbyte, (n + 1, len(packed), 2**16)))
    offsets = pack(np.array([0, len(packed)], np.uint64), 32)
    data = head + bytes([crc8(head)]) + preamble(bytes([TYPE_LOG, 32]), 2)
    for content in offsets, packed:
        data += content + google_crc32c.value(content).to_bytes(4, "little")
    section = DictionarySection(
        FileCursor(data), "x", cache=BlockCache(), longest=2**21
    )
    tracemalloc.start()
    try:
        with pytest.raises(TooMuch):
            section.strings(np.arange(n), 8 * 2**20)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16 * 2**20


@pytest.mark.parametrize("value", [0x00, 0xFF])
def test_wrong_offsets_lose_only_their_blocks(value: int) -> None:
    """If offsets of blocks are wrong, statements that need them are counted."""
    piece = PIECES["subjects offsets content"]
    found = outcome(_put(piece, 0, bytes([value]) * (piece.end - piece.begin)))
    assert found.fault is None
    assert found.noted[Reason.SYNTAX] + len(found.lines) == len(LINES)
    assert found.noted.keys() == {Reason.SYNTAX}
    assert set(found.lines) <= set(LINES)
    assert found.lines


def test_broken_block_keeps_what_comes_before_the_break() -> None:
    """If a block is broken in its middle, then the strings before that are had."""
    piece = PIECES["predicates content"]
    content = DATA[piece.begin : piece.end]
    third = [at for at, byte in enumerate(content) if byte == 0][1] + 1
    found = outcome(_put(piece, third, b"\xff"))
    assert found.fault is None
    assert found.noted.keys() == {Reason.SYNTAX}
    kept = {line for line in LINES if b"/p0>" in line or b"/p1>" in line}
    assert set(found.lines) == kept


def test_bad_terms_lose_only_their_statements() -> None:
    """If a string of the dictionary is no term, its statements are counted."""
    piece = PIECES["predicates content"]
    content = DATA[piece.begin : piece.end]
    found = outcome(_put(piece, content.index(b"text"), b"a xt"))
    assert found.noted == {Reason.BAD_TERM: 40}
    assert set(found.lines) == {line for line in LINES if b"/text>" not in line}


def test_numbers_without_a_term_end_the_reading() -> None:
    """If a statement has a number that no term has, then those before it are kept."""
    piece = PIECES["array z content"]
    for at in 0, (piece.end - piece.begin) // 2:
        for value in b"\0", b"\xff":
            found = outcome(_put(piece, at, value * 4))
            assert found.reason is Reason.SYNTAX
            assert found.fault is not None
            assert "without a number" in found.fault.detail
            assert set(found.lines[:-1]) <= set(LINES)
            assert bool(found.lines) is (at > 0)


@pytest.mark.parametrize("name", ["bits y", "bits z"])
@pytest.mark.parametrize("value", [0x00, 0xFF])
def test_wrong_bitmaps_are_refused(name: str, value: int) -> None:
    """If lists are closed other than there are parents, then that is a fault."""
    piece = PIECES[f"{name} content"]
    found = outcome(_put(piece, 0, bytes([value]) * (piece.end - piece.begin)))
    assert found.reason is Reason.SYNTAX


def test_too_long_terms_lose_only_their_statements() -> None:
    """If a term is longer than the limit, then its statements are counted."""
    long = b'<http://e/s> <http://e/p> "%b" .\n' % (b"x" * 5000)
    found = outcome(hdt_of([*LINES, long]), replace(DEFAULT_LIMITS, literal_bytes=1000))
    assert found.noted == {Reason.LITERAL_TOO_LONG: 1}
    assert sorted(found.lines) == LINES


def _fuzzed(seed: int, *, is_sealed: bool) -> Outcome:
    """Return the result of reading a file with some bytes changed."""
    dice = random.Random(seed)
    data = bytearray(DATA)
    for _ in range(dice.randrange(1, 6)):
        piece = dice.choice(list(PIECES.values()))
        at = dice.randrange(piece.begin, max(piece.end, piece.begin + 1))
        data[at] = dice.choice([0, 0x7F, 0x80, 0xFF, dice.randrange(256)])
    return outcome(sealed(bytes(data), PIECES) if is_sealed else bytes(data))


@pytest.mark.parametrize("is_sealed", [False, True])
def test_changed_bytes_give_only_faults(is_sealed: bool) -> None:
    """If any bytes are changed, with or without right checksums, faults are named."""
    n_read = 0
    for seed in range(1500):
        found = _fuzzed(seed, is_sealed=is_sealed)
        n_read += bool(found.lines)
        for line in found.lines:
            assert line.endswith(b" .\n")
            assert line.count(b" ") >= 3
    assert (n_read > 100) is is_sealed


def test_random_bytes_are_no_file() -> None:
    """If a file has other bytes, then that is a fault."""
    for data in b"", b"$", b"$HDT", b"$HDT\x01", random.Random(0).randbytes(1000):
        assert outcome(data).reason is Reason.SYNTAX
