"""Fingerprints of one document: exact hashes, and a sketch to find near-duplicates.

The text of a page is split into shingles of `SHINGLE_WORDS` words, RDF into statements.
Each has a hash of 32 bits. The sketch lists the hashes of a short document. Of a longer
one, it has 6 bits of the least hash in each of `BINS` parts, to which hashes are
assigned by 6 other bits.

Sources: Broder, "On the resemblance and containment of documents" (1997): shingles;
Li, Owen and Zhang, "One Permutation Hashing" (2012): parts, and their estimator; Li and
König, "b-Bit Minwise Hashing" (2010); Shrivastava, "Optimal Densification for Fast and
Accurate Minwise Hashing" (2017).
"""

from __future__ import annotations

import re
from binascii import a2b_base64, b2a_base64
from functools import lru_cache
from hashlib import blake2b, file_digest, sha256
from itertools import compress
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from isal.isal_zlib import crc32  # in half the time of `zlib`

from rdfcrawl.rdf.output import without_labels

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from io import BufferedReader, BytesIO

BINS: Final = 64
SHINGLE_WORDS: Final = 8
MAX_STATEMENT_BYTES: Final = 1024 * 1024
MAX_WORDS: Final = 65_536  # of a page that become shingles
MAX_LISTED: Final = 22
"""Hashes that are listed, which takes fewer characters than `BINS` parts."""

_HASH_DIGITS: Final = 32
_FACTOR: Final = 2_654_435_761  # prime, 2^32 by the golden ratio (Knuth, TAOCP 6.4)
_MASK: Final = 0xFFFF_FFFF
# The remainder of a hash has 6 bits that are kept, and 6 that select the part. It
# depends on all bits of the hash, even of sums that differ in few bits.
_SLOTS: Final = 4093  # prime
_DIGITS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_EMPTY: Final = "."  # no hash lies in the part
_MAX_SORTED: Final = 8 * BINS  # of more hashes, only the least are sorted
# A listed hash has 4 bytes, or only the first 2 or 3 if it is one of many.
_MOST_BYTES: Final = 4
# By the number of hashes: 45 bytes in all, at most.
_BYTES_OF_EACH: Final = [
    min(_MOST_BYTES, 45 // max(n, 1)) for n in range(MAX_LISTED + 1)
]
_to_values = bytes(
    (_DIGITS + _EMPTY).find(chr(n)) & 0xFF for n in range(256)
)  # 255 for other characters
_SEPARATORS_TO_SPACES: Final = bytes.maketrans(b"\x1c\x1d\x1e\x1f", b"    ")
# White space outside ASCII, as in `str.isspace`.
_replace_spaces = re.compile(
    "[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
).sub
_ASCII: Final = bytes(range(128))
# Characters outside ASCII that may be upper case or white space, in UTF-8. Others are
# U+00A1 to U+00FF without capitals, most punctuation and symbols of currencies, small
# letters of Cyrillic, Kana and Han.
_find_changing = re.compile(
    rb"[\xc2-\xff](?:(?<=[\xc4-\xcf\xd2-\xe1\xea-\xff])|(?<=\xc2)[\x80-\xa0]"
    rb"|(?<=\xc3)[\x80-\x96\x98-\x9e]|(?<=\xd0)[\x80-\xaf]|(?<=\xd1)[\xa0-\xbf]"
    rb"|(?<=\xe2)(?!\x80[\x90-\xa7]|\x82)|(?<=\xe3)(?![\x81-\x83]))"
).search
_of_hashes: Final = [Struct(f">{n}I") for n in range(MAX_LISTED + 1)]
_ENDS: Final = {b">", b"#"}  # of the IRI of a document


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


NO_FINGERPRINT: Final = Fingerprint("", "")


def content_hash(body: bytes) -> str:
    """Return the hash of a body: 128 bits of SHA-256, as 32 hexadecimal digits."""
    return sha256(body, usedforsecurity=False).hexdigest()[:_HASH_DIGITS]


def content_hash_of(file: BufferedReader | BytesIO) -> str:
    """Return `content_hash` of all bytes of a file."""
    return file_digest(file, "sha256").hexdigest()[:_HASH_DIGITS]


def bare_statements(chunk: bytes, graph: str) -> bytes:
    """Return canonical N-Quads without the graph of their document and labels.

    The graph is omitted as graph name; blank nodes become `_:`.
    """
    return without_labels(b" .\n".join(chunk.split(b" <%b> .\n" % graph.encode())))


def statements_hash(chunk: bytes, graph: str) -> str:
    """Return the hash of a set of statements, to compare versions of one document.

    Args:
        chunk: canonical N-Quads, complete lines.
        graph: IRI of their document, as in `normal_statements`. The document may have
            had another URL before.
    """
    own = b" .\n".join(chunk.split(b" <%b> .\n" % graph.encode()))
    bare = without_labels(own) if b"_:" in own else own
    return content_hash(normal_statements(bare, graph).text)


class NormalStatements(NamedTuple):
    """Distinct statements, normalized for comparison.

    Attributes:
        text: the hashed text, with a line feed before each line.
        lines: sorted.
        sums: CRC-32 of the lines.
        n_own: how often a term began with the URL of the document, at least.
    """

    text: bytes
    lines: list[bytes]
    sums: set[int]
    n_own: int


def normal_statements(bare: bytes, graph: str) -> NormalStatements:
    """Return distinct statements; the empty IRI replaces that of their document.

    Args:
        bare: canonical statements as `bare_statements` returns them.
        graph: IRI of the document.
    """
    if not bare:
        return NormalStatements(b"", [], set(), 0)
    own = b"<" + graph.encode()
    parts = bare.split(own)
    # A part that begins otherwise is the end of another URL.
    if _ENDS.issuperset([each[:1] for each in parts[1:]]):
        text = b"<".join(parts)
    else:
        more = [b"<" + x if x[:1] in _ENDS else own + x for x in parts[1:]]
        text = parts[0] + b"".join(more)
    lines = text.split(b"\n")
    lines.pop()  # after the last line feed
    sums = set(map(crc32, lines))
    if len(sums) != len(lines):  # equal sums of different lines
        lines = list(set(lines))
    lines.sort()  # usually sorted already
    text = b"\n" + b"\n".join(lines)
    return NormalStatements(text, lines, sums, len(parts) - 1)


def fingerprint_normal(statements: NormalStatements) -> Fingerprint:
    """Return the fingerprint of `normal_statements`."""
    text, lines, sums, _ = statements
    hashes = [each * _FACTOR & _MASK for each in sums]
    few: list[int] = []
    if len(hashes) > _MAX_SORTED:
        below = (_MAX_SORTED << 32) // len(hashes)
        few = [each for each in hashes if each < below]
    return Fingerprint(content_hash(text), _sketch(hashes, few), len(lines))


def words_of(text: str) -> list[bytes]:
    """Return the words of a text, in lower case and UTF-8."""
    data = text.encode("utf-8", "replace")  # it is split in half the time of text
    changing = None
    if _find_changing(data.translate(None, _ASCII)):  # mostly a few characters
        changing = _find_changing(data)
    if changing is None:
        data = data.lower()
    else:
        begin = data.rfind(b" ", 0, changing.start()) + 1  # case depends on the word
        folded = _replace_spaces(" ", data[begin:].decode().lower())
        data = data[:begin].lower() + folded.encode("utf-8", "replace")
    return data.translate(_SEPARATORS_TO_SPACES).split()


def fingerprint_words(words: list[bytes]) -> Fingerprint:
    """Return the fingerprint of a text by its `words_of`."""
    normal = b" ".join(words)
    shown = content_hash(normal)
    if len(words) <= SHINGLE_WORDS:
        found = {crc32(normal) * _FACTOR & _MASK} if normal else set()
        return Fingerprint(shown, _sketch(found), len(found))
    packed = _hashes_of_runs(words[:MAX_WORDS])
    hashes = Struct(f"<{len(packed) // 8}Q").unpack(packed)
    found = set(hashes)
    few: list[int] = []
    if len(found) > _MAX_SORTED:
        # Hashes with a small first byte, selected in a quarter of the time of a loop.
        n_small = min(-(-_MAX_SORTED * 256 // len(found)), 256)
        is_small = (b"\1" * n_small).ljust(256, b"\0")
        few = list(compress(hashes, packed[3::8].translate(is_small)))
    return Fingerprint(shown, _sketch(found, few), len(found))


def _hashes_of_runs(words: list[bytes]) -> bytes:
    """Return a 32-bit hash of each run of `SHINGLE_WORDS` words, in 64 bits each.

    It is a polynomial in `_FACTOR` with the CRC-32 of each word as a coefficient, the
    first word at the highest power, and none at the power 0. The hashes of all runs are
    computed together, as parts of one number, in a quarter of the time of separate
    ones: each step joins runs to runs of twice the length.
    """
    n = len(words)
    of_64_bits = Struct(f"<{n}Q")
    low = int.from_bytes(b"\xff\xff\xff\xff\0\0\0\0" * n, "little")
    sums = int.from_bytes(of_64_bits.pack(*map(crc32, words)), "little")
    n_joined, power = 1, _FACTOR
    while n_joined < SHINGLE_WORDS:
        # Neither product nor sum exceeds its 64 bits.
        sums = (sums * power + (sums >> 64 * n_joined)) & low
        n_joined, power = 2 * n_joined, power * power & _MASK
    hashes = (sums * _FACTOR & low).to_bytes(8 * n, "little")
    return hashes[: 8 * (1 - SHINGLE_WORDS)]


def _sketch(hashes: Collection[int], few: Collection[int] = ()) -> str:
    """Return the sketch of distinct hashes.

    `few` are all of them below some number, if they are many: usually enough.
    """
    if len(hashes) <= MAX_LISTED:
        return _listed(hashes)
    least = _least_of_parts(few)
    if len(least) < BINS:
        least = _least_of_parts(hashes)
    digits = [_EMPTY] * BINS
    for part, each in least.items():
        digits[part] = _DIGITS[each % _SLOTS >> 6]
    return "".join(digits)


def _least_of_parts(hashes: Iterable[int]) -> dict[int, int]:
    """Return the least hash of each part that has any."""
    # The last hash of a part overwrites the others.
    return {each % _SLOTS & 0x3F: each for each in sorted(hashes, reverse=True)}


def _listed(hashes: Collection[int]) -> str:
    """Return the sketch of a few hashes, the least first.

    Of many, only the first bytes of their entries are kept, behind dots.
    """
    if not hashes:
        return ""
    in_order = sorted(hashes)
    n_bytes = _BYTES_OF_EACH[len(hashes)]
    if n_bytes == _MOST_BYTES:
        packed = _of_hashes[len(hashes)].pack(*in_order)
        return b2a_base64(packed, newline=False).decode()
    shift = 8 * (_MOST_BYTES - n_bytes)
    parts = [(_entry(x) >> shift).to_bytes(n_bytes) for x in in_order]
    dots = _EMPTY * (_MOST_BYTES - n_bytes)
    return dots + b2a_base64(b"".join(parts), newline=False).decode()


def _entry(number: int) -> int:
    """Return a hash with its part and kept bits in front, and its high bits."""
    return number % _SLOTS << 20 | number >> 12


_BOTH_EMPTY: Final = int.from_bytes(b"\x40" * BINS)  # the value 64 of a part
_BELOW_TOP: Final = int.from_bytes(b"\x7f" * BINS)
_TOP: Final = int.from_bytes(b"\x80" * BINS)
_N_VALUES: Final = 64  # of the kept bits
_of_minima: Final = Struct(f">{BINS}H")


class Sketch:
    """The hashes of one document, prepared for comparisons.

    Attributes:
        text: that was read; equal for equal sketches.
        n_listed: number of hashes if all are listed, else 0.
    """

    __slots__ = (
        *("_entries", "_minima", "_n_bytes", "_number", "_values"),
        *("n_listed", "text"),
    )

    def __init__(
        self, text: str, values: bytes, entries: Collection[int], n_bytes: int
    ) -> None:
        self.text, self.n_listed = text, len(entries)
        self._entries, self._n_bytes = frozenset(entries), n_bytes
        self._values = values
        self._number = int.from_bytes(values)
        self._minima = b""

    def resemblance(self, other: Sketch) -> float:
        """Return the resemblance of two documents: common shingles by all shingles.

        It is exact if both sketches list their hashes. Otherwise it is an estimate
        without bias: of the parts that either has, the share whose least hashes are
        equal, without those whose 6 bits are equal by chance. Its variance is at most
        s (1 - s) / 63 * 64 / 63, with s = r + (1 - r) / 64 for a resemblance of r; so
        the standard error is at most 0.039 at 0.9, and 0.064 at 0.5. It may be below 0
        if nothing is common.

        >>> texts = words_of("a b c"), words_of("A  B C")
        >>> one, other = (fingerprint_words(x).sketch for x in texts)
        >>> read_sketch(one).resemblance(read_sketch(other))
        1.0
        """
        if self.n_listed and other.n_listed:
            n_bytes = min(self._n_bytes, other._n_bytes)
            one, others = self._first_bytes(n_bytes), other._first_bytes(n_bytes)
            return len(one & others) / len(one | others)
        mine, theirs = self._number, other._number
        n_differing = (((mine ^ theirs) + _BELOW_TOP) & _TOP).bit_count()
        n_either = BINS - (mine & theirs & _BOTH_EMPTY).bit_count()
        n_both = BINS - ((mine | theirs) & _BOTH_EMPTY).bit_count()
        n_equal = n_either - n_differing
        return (_N_VALUES * n_equal - n_both) / ((_N_VALUES - 1) * n_either)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sketch) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def _first_bytes(self, n_bytes: int) -> frozenset[int]:
        """Return the first bytes of each listed hash."""
        shift = 8 * (self._n_bytes - n_bytes)
        return frozenset(x >> shift for x in self._entries) if shift else self._entries

    def minima(self) -> bytes:
        """Return a number of 12 bits for each part, to find similar documents.

        Each has two bytes. The low 6 bits are the kept ones, the others the part. A
        part without a hash has the number of another part, the same one in all
        documents if it has a hash there. Documents of resemblance r have about the
        share r of these in common.
        """
        if not self._minima:
            found = [n << 6 | each for n, each in enumerate(self._values)]
            without = bytes([n for n, x in enumerate(self._values) if x == _N_VALUES])
            orders = _orders() if without else ()
            for n in without:
                found[n] = found[orders[n].translate(None, without)[0]]
            self._minima = _of_minima.pack(*found)
        return self._minima


def read_sketch(text: str) -> Sketch:
    """Return the sketch that a text describes.

    Raises:
        ValueError: the text is not a sketch.
    """
    if len(text) != BINS:
        return _read_listed(text)
    values = text.encode("ascii", "replace").translate(_to_values)
    if max(values) > _N_VALUES or min(values) == _N_VALUES:
        raise _not_a_sketch(text)
    return Sketch(text, values, (), 0)


def _read_listed(text: str) -> Sketch:
    """Return a sketch that lists its hashes."""
    digits = text.lstrip(_EMPTY)
    n_bytes = _MOST_BYTES - (len(text) - len(digits))
    try:
        packed = a2b_base64(digits, strict_mode=True)
    except ValueError as fault:
        raise _not_a_sketch(text) from fault
    n = len(packed) // n_bytes if n_bytes > 1 else 0
    if (
        not 0 < n <= MAX_LISTED
        or n * n_bytes != len(packed)
        or n_bytes != _BYTES_OF_EACH[n]
    ):
        raise _not_a_sketch(text)
    entries = [
        int.from_bytes(packed[begin : begin + n_bytes])
        for begin in range(0, len(packed), n_bytes)
    ]
    if n_bytes == _MOST_BYTES:
        entries = list(map(_entry, entries))
    values, n_others = bytearray([_N_VALUES] * BINS), 8 * n_bytes - 12
    for each in reversed(entries):  # the least hash of a part is the last one set
        values[each >> n_others & 0x3F] = each >> n_others + 6
    return Sketch(text, bytes(values), entries, n_bytes)


def _not_a_sketch(text: str) -> ValueError:
    return ValueError(f"not {BINS} parts of a sketch or its hashes: {text!a}")


@lru_cache(maxsize=1)
def _orders() -> tuple[bytes, ...]:
    """Return the order in which each part without a hash searches for one."""
    found = []
    for n in range(BINS):
        order = list(range(BINS))
        order.sort(key=lambda k: blake2b(b"%d %d" % (n, k)).digest())
        found.append(bytes(order))
    return tuple(found)
