"""Damage to inputs, the same for the same seed."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Final

MOST_BYTES: Final = 1 << 16
# Texts that parsers of text and of binary formats look at closely.
_ODD: Final = (
    *(b"\x00", b"\xff", b"\xff\xff\xff\xff", b"\x80", b"\xed\xa0\x80", b"\xef\xbb\xbf"),
    *(b"\xe2\x80\xa8", b"\xe2\x80\xae", b"\n", b"\r", b"\t", b" ", b"\\", b"%", b"%00"),
    *(b"\\u0000", b"\\uD800", b"\\U00110000", b"&#0;", b"&x;", b"<!--", b"]]>"),
    *(b"<![CDATA[", b"=", b"$", b"*", b'"', b"'", b"<", b">", b"{", b"}", b"[", b"]"),
    *(b"(", b")", b";", b",", b".", b"#", b"@", b"^^", b"_:", b"://", b"//", b".."),
    *(b"0", b"-1", b"1e999", b"9" * 30, b"null", b"true", b"{}", b"[]", b"xn--"),
    b'<!DOCTYPE a [<!ENTITY b "c">]>',
)
_tokens = re.compile(rb"[A-Za-z0-9_]+|[^A-Za-z0-9_]").findall


class Mutator:
    """Makes new inputs of those of a corpus."""

    def __init__(self, corpus: Sequence[bytes], seed: object) -> None:
        self._corpus = corpus
        self._random = random.Random(str(seed))

    def next_input(self) -> bytes:
        """Return the next one."""
        rng = self._random
        data = bytearray(rng.choice(self._corpus))
        for _ in range(rng.choice((1, 1, 1, 2, 3, 5, 12))):
            self._damage(data)
        return bytes(data[:MOST_BYTES])

    def _damage(self, data: bytearray) -> None:
        rng = self._random
        at = rng.randrange(len(data) + 1)
        n_bytes = min(rng.choice((1, 1, 2, 4, 8, 32, 200)), len(data) - at)
        match rng.randrange(9):
            case 0 if data:
                data[min(at, len(data) - 1)] ^= 1 << rng.randrange(8)
            case 1:
                del data[at : at + n_bytes]
            case 2:
                data[at:at] = rng.choice(_ODD)
            case 3:
                data[at : at + n_bytes] = rng.choice(_ODD)
            case 4:  # again, and again
                data[at:at] = data[at : at + n_bytes] * rng.choice((1, 2, 50, 500))
            case 5:  # a piece of another input
                other = rng.choice(self._corpus)
                begin = rng.randrange(len(other) + 1)
                data[at : at + n_bytes] = other[begin : begin + rng.randrange(1, 64)]
            case 6:
                self._swap(data)
            case 7:
                del data[at:]
            case _:
                data[at:at] = rng.randbytes(rng.randrange(1, 9))
        del data[MOST_BYTES:]

    def _swap(self, data: bytearray) -> None:
        """Put a word in the place of another."""
        tokens = _tokens(bytes(data[:4096]))
        if tokens:
            one, other = self._random.choice(tokens), self._random.choice(tokens)
            data[:] = data.replace(one, other, self._random.choice((1, -1)))
