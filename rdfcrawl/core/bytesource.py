"""The bytes of one document: in memory, in a file, or passing by in an archive.

Nobody else chooses between the body of a response in memory and its spool file: what
is written for a small body would silently find nothing in a large one.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from rdfcrawl.core.formats import HEAD_BYTES

BUFFER_BYTES = 256 * 1024


class ByteSource:
    """The bytes of one document.

    Args:
        data: all of them, if they are in memory.
        reopen: opens them as a stream from the beginning, any number of times.
        stream: they pass by here, once; `open` gives it out first.

    Attributes:
        data: all of them, or None.
    """

    __slots__ = ("_reopen", "_stream", "data")

    def __init__(
        self,
        data: bytes | None = None,
        *,
        reopen: Callable[[], BinaryIO] | None = None,
        stream: io.BufferedReader | None = None,
    ) -> None:
        self.data = data
        self._reopen = reopen
        self._stream = stream

    @classmethod
    def of(cls, source: bytes | Path | ByteSource) -> ByteSource:
        """Return the source of bytes in memory, or of a file."""
        if isinstance(source, ByteSource):
            return source
        if isinstance(source, Path):
            return cls(reopen=lambda: source.open("rb", buffering=BUFFER_BYTES))
        return cls(source)

    @property
    def can_reopen(self) -> bool:
        """Whether `open` gives the bytes more than once."""
        return self.data is not None or self._reopen is not None

    @property
    def passes_by(self) -> bool:
        """Whether the bytes come in a stream, which tells its faults."""
        return self._stream is not None

    def gathered(self, max_bytes: int) -> ByteSource:
        """Return a source of the same bytes, in memory if there are at most so many.

        This source must not be opened any more.
        """
        if self.data is not None:
            return self
        passes_by, file = self.passes_by, self.open()
        head = file.read(max_bytes + 1)
        if len(head) <= max_bytes:
            file.close()
            return ByteSource(head)
        if not passes_by and self._reopen is not None:
            file.close()
            return ByteSource(reopen=self._reopen)
        joined: Any = _Joined(head, file)
        stream: Any = io.BufferedReader(joined, BUFFER_BYTES)
        return ByteSource(reopen=self._reopen, stream=stream)

    def head(self) -> bytes:
        """Return the first bytes, at most `formats.HEAD_BYTES`; none is consumed."""
        if self.data is not None:
            return self.data[:HEAD_BYTES]
        if self._stream is not None:
            return self._stream.peek(HEAD_BYTES)[:HEAD_BYTES]
        with self._fresh() as file:
            return file.read(HEAD_BYTES)

    def open(self) -> BinaryIO:
        """Return the bytes as a stream from the beginning; the caller closes it.

        Raises:
            OSError: they passed by already and cannot be opened again.
        """
        if self.data is not None:
            return io.BytesIO(self.data)
        stream, self._stream = self._stream, None
        return stream or self._fresh()

    def _fresh(self) -> BinaryIO:
        if self._reopen is None:
            raise OSError("the stream has passed by")
        return self._reopen()


class PulledStream(io.RawIOBase):
    """A stream whose bytes a subclass pulls; closes the file behind it, if any."""

    _file: Any = None  # closed with the stream

    def _pull(self, n_bytes: int) -> bytes | memoryview:
        """Return at most so many bytes; none at the end."""
        raise NotImplementedError

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill the buffer as far as bytes are at hand; zero bytes mean the end."""
        data = self._pull(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the file as well."""
        if not self.closed and self._file is not None:
            self._file.close()
        super().close()


class _Joined(PulledStream):
    """A stream of bytes that were read from a file, and of the rest of the file."""

    def __init__(self, head: bytes, file: BinaryIO) -> None:
        self._head, self._file = memoryview(head), file

    def _pull(self, n_bytes: int) -> bytes | memoryview:
        data = self._head[:n_bytes] or self._file.read(n_bytes)
        self._head = self._head[len(data) :]
        return data


class HasBody(Protocol):
    """A response, or the document that is made of it: it has a body."""

    body: bytes | None
    path: Path | None


def body_of(holder: HasBody) -> bytes | Path | None:
    """Return the body, or the path of the file that has it; None if there is none."""
    return holder.body if holder.body is not None else holder.path


def head_of(holder: HasBody, n_bytes: int) -> bytes:
    """Return the first bytes of a body, at most so many; nothing if there is no body.

    Raises:
        OSError: its file cannot be read.
    """
    if holder.body is not None:
        return holder.body[:n_bytes]
    if holder.path is None:
        return b""
    with holder.path.open("rb") as file:
        return file.read(n_bytes)
