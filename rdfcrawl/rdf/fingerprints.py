"""Fingerprints of one document: exact hashes, and a sketch to find near-duplicates.

The text of a page is split into shingles of `SHINGLE_WORDS` words, RDF into statements.
The sketch has the low bits of their least hash in each of `BINS` parts of the range of
hashes, or all their sums if they are few.

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
MAX_WORDS: Final = 65_536  # of a page that become shingles
MAX_SAMPLED: Final = 128  # shingles or statements; beyond, a sample is used

MAX_SPARSE: Final = 20
"""Filled parts of a short document; its minima are kept in full.

Otherwise, pages of a short template that differ in one statement would agree by chance.
"""
MAX_LISTED: Final = 11
"""Sums that are stored directly, which is shorter than `BINS` parts."""
MINIMUM_BITS: Final = 6
"""Kept of each minimum."""
LOW_BITS: Final = 12
"""Of a number of `read_sketch`, the bits known for all documents."""

_HASH_DIGITS: Final = 32
_FACTOR: Final = 2_654_435_761  # prime, 2^32 by the golden ratio (Knuth, TAOCP 6.4)
_SUM_MASK: Final = 0xFFFF_FFFF
_BIN_SHIFT: Final = 26  # the first 6 bits of a 32-bit hash select the part
_LOW_SHIFT: Final = 10  # the next 6 are kept
_HIGH_SHIFT: Final = 16  # sparse sketches also keep the 10 bits in between
_DIGITS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_PAIRS: Final = [a + b for a in _DIGITS[:16] for b in _DIGITS]  # of 10 bits
_EMPTY: Final = "."  # no hash lies in the part
_N_DIGITS: Final = 64
_to_values = bytes(
    (_DIGITS + _EMPTY).find(chr(n)) & 0xFF for n in range(256)
)  # 255 for other characters
_SEPARATORS_TO_SPACES: Final = bytes.maketrans(b"\x1c\x1d\x1e\x1f", b"    ")
# Canonical N-Quads: a blank node is the first term of a line, or follows a predicate.
_of_sums: Final = [Struct(f"<{n}I") for n in range(MAX_LISTED + 1)]
# `_:` comes first: a lone look-behind would be tried at each byte.
_blank = re.compile(rb"_:(?:(?<=\n_:)[^ ]++|(?<=> _:)[^ ]++(?= ))").sub


class Fingerprint(NamedTuple):
    """Values to compare the content of documents.

    Attributes:
        text_hash: 32 hexadecimal digits, equal for equal content.
        sketch: for `read_sketch`; empty if there was nothing to hash.
        n_shingles: number of distinct shingles in the sketch.
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
    """Return the fingerprint of a set of statements, in any order.

    Args:
        chunk: canonical N-Quads, complete lines.
        has_graphs: if not, the lines are N-Triples, all in the graph of the document.
        graph: IRI of their document. In statements the empty IRI replaces it; it is
            omitted as graph name and as subject; blank nodes become `_:`.
    """
    normal = _normal_of_chunk(chunk, graph, has_graphs=has_graphs)
    return Fingerprint(*fingerprint_normal(normal))


def statements_hash(chunk: bytes, graph: str) -> str:
    """Return the hash of `fingerprint_statements` without its sketch."""
    return content_hash(_normal_of_chunk(chunk, graph, has_graphs=True).text)


def _normal_of_chunk(chunk: bytes, graph: str, *, has_graphs: bool) -> NormalStatements:
    if has_graphs:
        chunk = chunk.replace(b" <%b> .\n" % graph.encode(), b" .\n")
    lines = chunk.split(b"\n")
    lines.pop()  # after the last line feed
    return normal_statements(lines, graph)


class NormalStatements(NamedTuple):
    """Distinct statements, normalized for comparison.

    Attributes:
        text: the hashed text, with a line feed before each line.
        lines: sorted.
        sums: CRC-32 of the lines.
        is_about_itself: the document is the subject of all and occurs nowhere else, and
            there is no blank node, so normalization changed no line.
    """

    text: bytes
    lines: list[bytes]
    sums: set[int]
    is_about_itself: bool


def normal_statements(found: list[bytes], graph: str) -> NormalStatements:
    """Return distinct statements, normalized as in `fingerprint_statements`.

    Args:
        found: canonical statements without the graph of the document and without line
            feeds.
        graph: IRI of the document.
    """
    own = b"<" + graph.encode()
    begin = own + b"> "
    n_begin = len(begin)
    lines = [each[n_begin:] for each in found if each.startswith(begin)]
    is_about_itself = len(lines) == len(found)
    if not is_about_itself:
        lines = [x[n_begin:] if x.startswith(begin) else x for x in found]
    lines.sort()  # usually sorted already
    text = b"\n" + b"\n".join(lines)
    # One byte is found much faster than two; other URLs may have the same beginning.
    has_blank = b"_" in text and b"_:" in text
    if has_blank or (own in text and (own + b">" in text or own + b"#" in text)):
        is_about_itself = False
        text = text.replace(own + b">", b"<>").replace(own + b"#", b"<#")
        lines = sorted(_blank(b"_:", text).split(b"\n")[1:])
        text = b"\n" + b"\n".join(lines)
    sums = set(map(crc32, lines))
    if len(sums) != len(lines):  # equal sums of different lines
        lines = sorted(set(lines))
        text = b"\n" + b"\n".join(lines)
    return NormalStatements(text if lines else b"", lines, sums, is_about_itself)


def fingerprint_normal(statements: NormalStatements) -> tuple[str, str, int]:
    """Return the parts of the fingerprint of `normal_statements`."""
    text, lines, sums, _ = statements
    sketch = _sketch(sums) if len(sums) > MAX_LISTED else _listed(sums)
    return content_hash(text), sketch, len(lines)


def fingerprint_text(text: str) -> Fingerprint:
    """Return the fingerprint of a text; case and white space are ignored."""
    folded = text.lower()
    if folded.isascii():  # the usual case, at half the cost
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
    """Return a 32-bit sum of each run of `SHINGLE_WORDS` words.

    It is a polynomial in `_FACTOR` with the CRC-32 of each word as a coefficient, the
    first word at the highest power. The sums of all runs are computed together, as
    parts of one number, in a quarter of the time of separate sums: each step joins runs
    to runs of twice the length.
    """
    n = len(words)
    of_64_bits = Struct(f"<{n}Q")
    low = int.from_bytes(b"\xff\xff\xff\xff\0\0\0\0" * n, "little")
    sums = int.from_bytes(of_64_bits.pack(*map(crc32, words)), "little")
    n_joined, power = 1, _FACTOR
    while n_joined < SHINGLE_WORDS:
        # Neither product nor sum exceeds its 64 bits.
        sums = (sums * power + (sums >> 64 * n_joined)) & low
        n_joined, power = 2 * n_joined, power * power & _SUM_MASK
    return of_64_bits.unpack(sums.to_bytes(8 * n, "little"))[: 1 - SHINGLE_WORDS]


def _sketch(sums: Collection[int]) -> str:
    """Return the sketch of sums of shingles, one character per part."""
    if len(sums) <= MAX_LISTED:
        return _listed(set(sums))
    if len(sums) > MAX_SAMPLED:
        sums = _sample(sums)
    hashes = sorted([each * _FACTOR & _SUM_MASK for each in sums], reverse=True)
    # The last hash of a part overwrites the others: it is the least.
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
    """Return the sketch of a few sums: the sums themselves."""
    packed = _of_sums[len(sums)].pack(*sorted(sums))
    return b2a_base64(packed, newline=False).decode()


def _sample(sums: Collection[int]) -> list[int]:
    """Return the `MAX_SAMPLED` least distinct sums.

    Documents that share most shingles also share most of these, for any length.
    """
    below = (4 * MAX_SAMPLED << 32) // len(sums)
    found = {each for each in sums if each < below}
    if len(found) < MAX_SAMPLED:  # many are equal
        found = set(sums)
    return sorted(found)[:MAX_SAMPLED]


def read_sketch(text: str) -> tuple[int, ...]:
    """Return 64 numbers of 22 bits from a sketch.

    The share of positions where two sketches agree estimates the Jaccard similarity of
    the shingles of two documents. Short documents have many parts without a hash; such
    a part uses the minimum of another part, the same one in all documents if it has a
    hash there.

    The low 6 bits of a number are from the minimum, the next 6 bits are its part; the
    others are further 10 bits of the minimum if the document has at most `MAX_SPARSE`,
    else 0.

    Raises:
        ValueError: the text is not a sketch.
    """
    if len(text) < BINS:
        return _filled(_minima_of_sums(text))
    values = text.encode("ascii", "replace").translate(_to_values)
    low = {n: x for n, x in enumerate(values[:BINS]) if x < _N_DIGITS}
    high = values[BINS:]
    n_high = 2 * len(low) if len(low) <= MAX_SPARSE else 0
    is_complete = len(values) == BINS + n_high and max(values) <= _N_DIGITS
    if not low or not is_complete or _N_DIGITS in high:
        raise ValueError(f"not {BINS} parts of a sketch or sums: {text!a}")
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
        raise ValueError(f"not {BINS} parts of a sketch or sums: {text!a}") from fault
    if not sums:
        raise ValueError(f"not {BINS} parts of a sketch or sums: {text!a}")
    return {
        each >> _BIN_SHIFT: each >> _BIN_SHIFT << 6
        | each >> _LOW_SHIFT & 0x3F
        | (each >> _HIGH_SHIFT & 0x3FF) << LOW_BITS
        for each in sorted([x * _FACTOR & _SUM_MASK for x in sums], reverse=True)
    }


def _filled(minima: dict[int, int]) -> tuple[int, ...]:
    """Return a minimum for each part; an empty part uses that of another one."""
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
    """Return the order in which each part searches for a minimum, itself first."""
    found = []
    for n in range(BINS):
        others = [k for k in range(BINS) if k != n]
        others.sort(key=lambda k: blake2b(b"%d %d" % (n, k)).digest())
        found.append((n, *others))
    return tuple(found)
