"""Fingerprints of one document: exact hashes, and a sketch that shows near-duplicates.

The text of a page is cut into shingles of `SHINGLE_WORDS` words, RDF into statements.
The sketch has the low bits of the least hash of these in each of `BINS` parts of the
range of hashes, or the sums of all of them if they are few.

Sources: Broder, "On the resemblance and containment of documents" (1997): shingles;
Li, Owen and Zhang, "One Permutation Hashing" (2012); Li and König, "b-Bit Minwise
Hashing" (2010); Shrivastava, "Optimal Densification for Fast and Accurate Minwise
Hashing" (2017).
"""

from __future__ import annotations

import re
from binascii import a2b_base64, b2a_base64
from functools import lru_cache
from hashlib import blake2b, file_digest, sha256
from struct import Struct, error
from typing import TYPE_CHECKING, Final, NamedTuple

from isal.isal_zlib import crc32  # in half the time of `zlib`

if TYPE_CHECKING:
    from collections.abc import Collection
    from io import BufferedReader, BytesIO

BINS: Final = 64
SHINGLE_WORDS: Final = 8
MAX_STATEMENT_BYTES: Final = 1024 * 1024
MAX_WORDS: Final = 65_536  # of a page, that are cut into shingles
MAX_SAMPLED: Final = 128  # shingles or statements; of more, a sample counts

MAX_SPARSE: Final = 20
"""Parts with a hash of a document so short that its minima are kept whole.

Else pages of one short template that differ in a statement would agree by chance.
"""
MAX_LISTED: Final = 11
"""Sums that are a sketch as they are, which is shorter than `BINS` parts."""
MINIMUM_BITS: Final = 6
"""That are kept of each minimum."""
LOW_BITS: Final = 12
"""Of a number of `read_sketch`, those that are known of all documents."""

_HASH_DIGITS: Final = 32
_FACTOR: Final = 2_654_435_761  # prime, 2^32 by the golden ratio (Knuth, TAOCP 6.4)
_SUM_MASK: Final = 0xFFFF_FFFF
_BIN_SHIFT: Final = 26  # of a hash of 32 bits, the first 6 bits choose the part
_LOW_SHIFT: Final = 10  # 6 more are kept
_HIGH_SHIFT: Final = 16  # and of sparse sketches the 10 between these
_DIGITS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_PAIRS: Final = [a + b for a in _DIGITS[:16] for b in _DIGITS]  # of 10 bits
_EMPTY: Final = "."  # no hash lies in the part
_N_DIGITS: Final = 64
_to_values = bytes(
    (_DIGITS + _EMPTY).find(chr(n)) & 0xFF for n in range(256)
)  # of what is no digit: 255
_SEPARATORS_TO_SPACES: Final = bytes.maketrans(b"\x1c\x1d\x1e\x1f", b"    ")
# Canonical N-Quads: a blank node is the first term of a line, or follows a predicate.
_of_sums: Final = [Struct(f"<{n}I") for n in range(MAX_LISTED + 1)]
# `_:` comes first: a look-behind alone would be tried at each byte.
_blank = re.compile(rb"_:(?:(?<=\n_:)[^ ]++|(?<=> _:)[^ ]++(?= ))").sub


class Fingerprint(NamedTuple):
    """What is compared of the content of two documents.

    Attributes:
        text_hash: 32 hexadecimal digits, equal for equal content.
        sketch: of `read_sketch`; empty if there was nothing to hash.
        n_shingles: different ones that the sketch is made of.
    """

    text_hash: str
    sketch: str
    n_shingles: int = 0


def content_hash(body: bytes) -> str:
    """Return the hash of a body: 128 bits of SHA-256, as 32 hexadecimal digits."""
    return sha256(body, usedforsecurity=False).hexdigest()[:_HASH_DIGITS]


def content_hash_of(file: BufferedReader | BytesIO) -> str:
    """Return `content_hash` of all bytes of a file."""
    return file_digest(file, "sha256").hexdigest()[:_HASH_DIGITS]


def fingerprint_statements(
    chunk: bytes, graph: str, *, has_graphs: bool = True
) -> Fingerprint:
    """Return the fingerprint of a set of statements, in whatever order they come.

    Args:
        chunk: canonical N-Quads, whole lines.
        has_graphs: else the lines are N-Triples, all in the graph of the document.
        graph: IRI of their document. In statements it is replaced by the empty IRI,
            and not written as the name of the graph, nor as a subject; blank nodes
            become `_:`.
    """
    if has_graphs:
        chunk = chunk.replace(b" <%b> .\n" % graph.encode(), b" .\n")
    lines = chunk.split(b"\n")
    lines.pop()  # behind the last line feed
    return Fingerprint(*fingerprint_normal(normal_statements(lines, graph)))


class NormalStatements(NamedTuple):
    """Different statements as they are compared.

    Attributes:
        text: that is hashed, a line feed before each of the lines.
        lines: sorted.
        sums: CRC-32 of the lines.
        is_about_itself: all have the document as their subject, and as nothing else,
            and no blank node, so that the lines are as they were found.
    """

    text: bytes
    lines: list[bytes]
    sums: set[int]
    is_about_itself: bool


def normal_statements(found: list[bytes], graph: str) -> NormalStatements:
    """Return different statements as `fingerprint_statements` compares them.

    Args:
        found: canonical statements without the graph of the document, each without its
            line feed.
        graph: IRI of the document.
    """
    own = b"<" + graph.encode()
    begin = own + b"> "
    n_begin = len(begin)
    lines = [each[n_begin:] for each in found if each.startswith(begin)]
    is_about_itself = len(lines) == len(found)
    if not is_about_itself:
        lines = [x[n_begin:] if x.startswith(begin) else x for x in found]
    lines.sort()  # most come sorted
    text = b"\n" + b"\n".join(lines)
    # One byte is found far sooner than two; and other URLs may begin as its own.
    has_blank = b"_" in text and b"_:" in text
    if has_blank or (own in text and (own + b">" in text or own + b"#" in text)):
        is_about_itself = False
        text = text.replace(own + b">", b"<>").replace(own + b"#", b"<#")
        lines = sorted(_blank(b"_:", text).split(b"\n")[1:])
        text = b"\n" + b"\n".join(lines)
    sums = set(map(crc32, lines))
    if len(sums) != len(lines):  # else lines differ, too
        lines = sorted(set(lines))
        text = b"\n" + b"\n".join(lines)
    return NormalStatements(text if lines else b"", lines, sums, is_about_itself)


def fingerprint_normal(statements: NormalStatements) -> tuple[str, str, int]:
    """Return the parts of the fingerprint of `normal_statements`."""
    text, lines, sums, _ = statements
    sketch = _sketch(sums) if len(sums) > MAX_LISTED else _listed(sums)
    return content_hash(text), sketch, len(lines)


def fingerprint_text(text: str) -> Fingerprint:
    """Return the fingerprint of a text; case and white space make no difference."""
    folded = text.lower()
    if folded.isascii():  # as most texts: half the cost
        words = folded.encode().translate(_SEPARATORS_TO_SPACES).split()
    else:
        words = " ".join(folded.split()).encode("utf-8", "replace").split(b" ")
    normal = b" ".join(words)
    shown = content_hash(normal)
    if len(words) <= SHINGLE_WORDS:
        sums = [crc32(normal)] if normal else []
        return Fingerprint(shown, _sketch(sums), len(sums))
    found = _sums_of_runs(words[:MAX_WORDS])
    return Fingerprint(shown, _sketch(found), len(set(found)))


def _sums_of_runs(words: list[bytes]) -> tuple[int, ...]:
    """Return a sum of 32 bits of each run of `SHINGLE_WORDS` words.

    It is the polynomial with the CRC-32 of each word as a coefficient, the first one of
    the highest power, and `_FACTOR` for x. Those of all runs are computed at once, as
    parts of one number, in a quarter of the time that sums of slices take: each step
    joins runs to runs of twice as many words.
    """
    n = len(words)
    of_64_bits = Struct(f"<{n}Q")
    low = int.from_bytes(b"\xff\xff\xff\xff\0\0\0\0" * n, "little")
    sums = int.from_bytes(of_64_bits.pack(*map(crc32, words)), "little")
    n_joined, power = 1, _FACTOR
    while n_joined < SHINGLE_WORDS:
        # Neither product nor sum leaves its 64 bits.
        sums = (sums * power + (sums >> 64 * n_joined)) & low
        n_joined, power = 2 * n_joined, power * power & _SUM_MASK
    return of_64_bits.unpack(sums.to_bytes(8 * n, "little"))[: 1 - SHINGLE_WORDS]


def _sketch(sums: Collection[int]) -> str:
    """Return the sketch of sums of shingles, a character for each part."""
    if len(sums) <= MAX_LISTED:
        return _listed(set(sums))
    if len(sums) > MAX_SAMPLED:
        sums = _sample(sums)
    hashes = sorted([each * _FACTOR & _SUM_MASK for each in sums], reverse=True)
    # The last hash of a part, which is its least, stays; the first part is the last.
    least = {each >> _BIN_SHIFT: each for each in hashes}
    digits = [_EMPTY] * BINS
    for part, each in least.items():
        digits[part] = _DIGITS[each >> _LOW_SHIFT & 0x3F]
    if len(least) <= MAX_SPARSE:
        digits += [
            _PAIRS[each >> _HIGH_SHIFT & 0x3FF] for each in reversed(least.values())
        ]
    return "".join(digits)


def _listed(sums: set[int]) -> str:
    """Return the sketch of sums that are so few that the sketch is these."""
    packed = _of_sums[len(sums)].pack(*sorted(sums))
    return b2a_base64(packed, newline=False).decode()


def _sample(sums: Collection[int]) -> list[int]:
    """Return the `MAX_SAMPLED` least different sums.

    Documents that have most shingles in common have most of these in common, too,
    whatever their lengths.
    """
    below = (4 * MAX_SAMPLED << 32) // len(sums)
    found = {each for each in sums if each < below}
    if len(found) < MAX_SAMPLED:  # many are equal
        found = set(sums)
    return sorted(found)[:MAX_SAMPLED]


def read_sketch(text: str) -> tuple[int, ...]:
    """Return 64 numbers of 22 bits from a sketch.

    The share of positions at which two sketches agree estimates the share of shingles
    that two documents have in common, of all that one of them has. Parts without a
    hash, of which short documents have many, take over the minimum of another part:
    the same other part in all documents, if it has a hash there, too.

    The low 6 bits of a number are those of its minimum, the next 6 bits are the part
    that it is from; the others are further 10 bits of the minimum if the document has
    at most `MAX_SPARSE`, else 0.

    Raises:
        ValueError: it is no sketch.
    """
    if len(text) < BINS:
        return _filled(_minima_of_sums(text))
    values = text.encode("ascii", "replace").translate(_to_values)
    low = {n: x for n, x in enumerate(values[:BINS]) if x < _N_DIGITS}
    high = values[BINS:]
    n_high = 2 * len(low) if len(low) <= MAX_SPARSE else 0
    is_whole = len(values) == BINS + n_high and max(values) <= _N_DIGITS
    if not low or not is_whole or _N_DIGITS in high:
        raise ValueError(f"want {BINS} parts of a sketch, or sums: {text!a}")
    minima = {n: n << 6 | x for n, x in low.items()}
    for n, first, second in zip(low, high[::2], high[1::2], strict=False):
        minima[n] |= (first << 6 | second) << LOW_BITS
    return _filled(minima)


def _minima_of_sums(text: str) -> dict[int, int]:
    """Return the minima of a sketch that lists its sums."""
    try:
        packed = a2b_base64(text, strict_mode=True)
        sums = _of_sums[len(packed) // 4].unpack(packed)
    except (ValueError, error) as fault:
        raise ValueError(f"want {BINS} parts of a sketch, or sums: {text!a}") from fault
    if not sums:
        raise ValueError(f"want {BINS} parts of a sketch, or sums: {text!a}")
    return {
        each >> _BIN_SHIFT: each >> _BIN_SHIFT << 6
        | each >> _LOW_SHIFT & 0x3F
        | (each >> _HIGH_SHIFT & 0x3FF) << LOW_BITS
        for each in sorted([x * _FACTOR & _SUM_MASK for x in sums], reverse=True)
    }


def _filled(minima: dict[int, int]) -> tuple[int, ...]:
    """Return a minimum for each part, of another one where there is none."""
    if len(minima) == BINS:
        return tuple(minima.values())
    return tuple(
        [
            minima[n] if n in minima else next(minima[k] for k in donors if k in minima)
            for n, donors in enumerate(_donors())
        ]
    )


@lru_cache(maxsize=1)
def _donors() -> tuple[tuple[int, ...], ...]:
    """Return in which order each part looks for a minimum, itself first."""
    found = []
    for n in range(BINS):
        others = [k for k in range(BINS) if k != n]
        others.sort(key=lambda k: blake2b(b"%d %d" % (n, k)).digest())
        found.append((n, *others))
    return tuple(found)
