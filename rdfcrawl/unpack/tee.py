"""A stream that passes by once, and can be read again all the same."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, BinaryIO, cast

from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.unpack.scratch import BLOCK_BYTES

if TYPE_CHECKING:
    from rdfcrawl.unpack.scratch import ScratchSpace


class ScratchTee:
    """Puts aside what passes by.

    Args:
        stream: passes by.
        scratch: has the room for it. Where it has no more, the first reader goes on
            without, and there is no second one.
    """

    def __init__(self, stream: BinaryIO, scratch: ScratchSpace) -> None:
        self._stream = stream
        self._scratch = scratch
        self._refusal = 0
        self._held = scratch.begin()
        self._is_full = False

    def first(self) -> io.BufferedReader:
        """Return the stream; once."""
        return io.BufferedReader(_Cursor(self, is_first=True), BLOCK_BYTES)

    def again(self) -> BinaryIO:
        """Return the stream from its begin.

        Raises:
            SourceFault: `TOO_LARGE` if it was too long to be kept.
        """
        if self._is_full:
            self._scratch.refusal = self._scratch.refusal or self._refusal
            raise SourceFault(Reason.TOO_LARGE, "too long to be read twice")
        return cast("BinaryIO", io.BufferedReader(_Cursor(self), BLOCK_BYTES))

    def close(self) -> None:
        """Free the scratch space."""
        self._held.close()

    def read_at(self, at: int, n_bytes: int, *, is_first: bool) -> bytes:
        """Return bytes from there on, pulled from the stream as it is needed."""
        if self._is_full and is_first:
            return self._stream.read(n_bytes)
        if at < self._held.n_bytes:
            return self._held.read_at(at, n_bytes)
        data = self._stream.read(n_bytes)
        try:
            self._held.append(data)
        except SourceFault:
            self._is_full = True
            if not is_first:
                raise
            # Nobody may ever want it again.
            self._refusal, self._scratch.refusal = self._scratch.refusal, 0
        return data


class _Cursor(io.RawIOBase):
    def __init__(self, tee: ScratchTee, *, is_first: bool = False) -> None:
        self._tee, self._is_first = tee, is_first
        self._at = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._tee.read_at(self._at, len(buffer), is_first=self._is_first)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)
