"""Decoders of one stream: their interface, and their errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Protocol

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.messages import counted

PIECE_BYTES: Final = 256 * 1024  # longest piece of output, so a bomb stays small
LEAST_DICTIONARY: Final = 4096
_MEMORY_WORDS: Final = ("memory usage limit", "too much memory")


class BrokenStream(Exception):
    """Bytes are invalid, or need too much memory (`needs_memory`)."""

    def __init__(self, detail: str, *, needs_memory: bool = False) -> None:
        super().__init__(detail)
        self.needs_memory = needs_memory

    @classmethod
    def of(cls, error: Exception) -> BrokenStream:
        """Return the exception for an error of a library."""
        detail = str(error)[:200]
        lower = detail.lower()
        return cls(detail, needs_memory=any(each in lower for each in _MEMORY_WORDS))


class StreamCodec(Protocol):
    """Decoder of one stream."""

    @property
    def is_complete(self) -> bool:
        """Whether the stream ended properly."""

    @property
    def garbage(self) -> bytes:
        """First bytes after the end that do not begin a further frame."""

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield the decoded `data`, at most `PIECE_BYTES` at a time.

        Raises:
            BrokenStream: the data is invalid.
        """


def parts_of(data: bytes, n_bytes: int) -> Iterator[bytes]:
    """Yield a text in parts of a length."""
    return (data[i : i + n_bytes] for i in range(0, len(data), n_bytes))


def checked_dictionary(size: int, max_bytes: int) -> int:
    """Return the size of a dictionary for a decoder (`TOO_LARGE`)."""
    if size > max_bytes:
        raise SourceFault(
            Reason.TOO_LARGE, f"a decoder with {counted(size, 'byte')} of memory"
        )
    return max(size, LEAST_DICTIONARY)
