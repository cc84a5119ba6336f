"""Verify bytes by their stated length and digests.

Source: ANSI/NISO Z39.99-2017, table 3 (`hash`, `length`); digests have the form of Atom
Link Extensions (draft-snell-atompub-link-extensions): name, colon, hex.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass
from typing import Final

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.messages import counted

MAX_DIGESTS: Final = 16  # of one resource; three are defined

_NAMES: Final = {"sha1": "sha-1", "sha256": "sha-256"}
# Names in hashlib, with lengths of digests. The standard defines the first three.
_N_BYTES: Final = {"md5": 16, "sha1": 20, "sha256": 32, "sha384": 48, "sha512": 64}
_HEX = re.compile(r"[0-9a-fA-F]+").fullmatch


@dataclass(frozen=True, slots=True)
class ExpectedBytes:
    """Digests of a resource, by their hashlib names, and a length if stated."""

    digests: tuple[tuple[str, bytes], ...] = ()
    length: int | None = None

    @classmethod
    def stated(cls, hashes: str, length: int | None) -> ExpectedBytes:
        """Parse an attribute `hash` and add a length."""
        return cls(parse_hashes(hashes)[0], length)

    def __bool__(self) -> bool:
        return bool(self.digests) or self.length is not None

    @property
    def text(self) -> str:
        """The digests as an attribute `hash`, for `parse_hashes`.

        >>> ExpectedBytes(parse_hashes("MD5:" + "0A" * 16)[0]).text
        'md5:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a'
        """
        parts = (f"{_NAMES.get(name, name)}:{d.hex()}" for name, d in self.digests)
        return " ".join(parts)

    def agrees(self, other: ExpectedBytes) -> bool | None:
        """Return whether both describe the same bytes; None if not comparable.

        Digests can show that bytes are equal or differ; lengths only that they differ.
        """
        if None not in (self.length, other.length) and self.length != other.length:
            return False
        mine = dict(self.digests)
        shared = [(mine[name], d) for name, d in other.digests if name in mine]
        return all(a == b for a, b in shared) if shared else None


def parse_hashes(text: str) -> tuple[tuple[tuple[str, bytes], ...], list[str]]:
    """Return the digests of an attribute `hash`, and its invalid parts.

    Digests in base64 are also accepted, for early versions of the standard. Unknown
    algorithms are ignored: the standard is open to others. If an algorithm has two
    different digests, the second is reported as invalid.

    >>> digests, wrong = parse_hashes("md5:00 crc32:1")
    >>> digests, wrong
    ((), ['md5:00'])
    """
    found: dict[str, bytes] = {}
    wrong: list[str] = []
    for part in text.split()[:MAX_DIGESTS]:
        name, _, value = part.partition(":")
        name = name.lower().replace("-", "").replace("_", "")
        if name not in _N_BYTES:
            continue
        digest = _digest(value, _N_BYTES[name])
        if digest is None or found.setdefault(name, digest) != digest:
            wrong.append(part[:80])
    return tuple(found.items()), wrong


def _digest(value: str, n_bytes: int) -> bytes | None:
    if len(value) == 2 * n_bytes and _HEX(value):
        return bytes.fromhex(value)
    try:
        padded = value.rstrip("=") + "=" * (-len(value.rstrip("=")) % 4)
        digest = base64.b64decode(padded, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return digest if len(digest) == n_bytes else None


class FixityVerifier:
    """Verifier of a stream of bytes; `n_bytes` were verified so far."""

    def __init__(self, fixity: ExpectedBytes) -> None:
        self._fixity = fixity
        self._running = [
            (name, hashlib.new(name, usedforsecurity=False), digest)
            for name, digest in fixity.digests
        ]
        self.n_bytes = 0

    def update(self, data: bytes | memoryview) -> None:
        """Process the next bytes; raises `BAD_FIXITY` if there are too many."""
        self.n_bytes += len(data)
        length = self._fixity.length
        if length is not None and self.n_bytes > length:
            raise SourceFault(
                Reason.BAD_FIXITY, f"more than the stated {counted(length, 'byte')}"
            )
        for _, running, _ in self._running:
            running.update(data)

    def finish(self) -> None:
        """Check length and digests at the end; may raise `BAD_FIXITY`."""
        length = self._fixity.length
        if length is not None and self.n_bytes != length:
            detail = f"{counted(self.n_bytes, 'byte')}, not the stated {length}"
            raise SourceFault(Reason.BAD_FIXITY, detail)
        for name, running, digest in self._running:
            if running.digest() != digest:
                found = running.hexdigest()
                detail = f"{_NAMES.get(name, name)} is {found}, not {digest.hex()}"
                raise SourceFault(Reason.BAD_FIXITY, detail)


def check_bytes(data: bytes, fixity: ExpectedBytes) -> None:
    """Check bytes in memory; raise `SourceFault` (`BAD_FIXITY`) if different."""
    verifier = FixityVerifier(fixity)
    verifier.update(data)
    verifier.finish()
