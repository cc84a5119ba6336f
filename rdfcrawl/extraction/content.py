"""Give a document to a user's extractor; see `docs/how-to/own-extractors.md`."""

from __future__ import annotations

import io
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from rdfcrawl.bytesource import BUFFER_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfcrawl.bytesource import ByteSource

MAX_CONTENT_BYTES: Final = 64 * 2**20  # in memory; a stream has all of them


class DocumentContent:
    """The bytes of one document, with metadata.

    Attributes:
        url: after redirects, without fragment.
        media_type: of the Content-Type, in lower case.
        charset: of the Content-Type, or empty.
        is_cut: `data` or `text` was used, and the document is longer.
    """

    def __init__(
        self,
        source: ByteSource,
        *,
        url: str,
        media_type: str,
        charset: str,
        note_read: Callable[[int], None],
    ) -> None:
        self._source = source
        self._note_read = note_read
        self._n_read = 0
        self.url = url
        self.media_type = media_type
        self.charset = charset
        self.is_cut = False

    def open(self) -> BinaryIO:
        """Return all bytes as a stream; close it."""
        counted: Any = _CountedStream(self._source.open(), self._note_place)
        return io.BufferedReader(counted, BUFFER_BYTES)

    @cached_property
    def data(self) -> bytes:
        """The bytes, at most the first 64 MiB."""
        with self.open() as stream:
            data = stream.read(MAX_CONTENT_BYTES + 1)
        self.is_cut = len(data) > MAX_CONTENT_BYTES
        return data[:MAX_CONTENT_BYTES]

    @cached_property
    def text(self) -> str:
        """The `data` decoded; UTF-8, if no other charset is declared or known."""
        try:
            return self.data.decode(self.charset or "utf-8-sig", "replace")
        except LookupError:
            return self.data.decode("utf-8-sig", "replace")

    def _note_place(self, n_bytes: int) -> None:
        """Note what was read for the first time."""
        if n_bytes > self._n_read:
            self._note_read(n_bytes - self._n_read)
            self._n_read = n_bytes


class _CountedStream(io.RawIOBase):
    """Tells how far a stream was read."""

    def __init__(self, file: BinaryIO, note: Callable[[int], None]) -> None:
        self._file, self._note = file, note
        self._n = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._file.seekable()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._n = self._file.seek(offset, whence)
        return self._n

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        self._n += len(data)
        self._note(self._n)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()
