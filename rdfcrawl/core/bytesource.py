"""The bytes of one document: in memory, in a file, or in a stream from an archive.

Only this module chooses between the body of a response in memory and its spool file.
Other code would find no body in a large response.
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
        stream: a stream that can be read once; `open` returns it first.

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
        """Whether `open` can return the bytes more than once."""
        return self.data is not None or self._reopen is not None

    @property
    def is_stream(self) -> bool:
        """Whether the bytes are in a stream, which may raise faults."""
        return self._stream is not None

    def gathered(self, max_bytes: int) -> ByteSource:
        """Return a source of the same bytes, in memory if at most `max_bytes`.

        Do not open this source afterwards.
        """
        if self.data is not None:
            return self
        is_stream, file = self.is_stream, self.open()
        head = file.read(max_bytes + 1)
        if len(head) <= max_bytes:
            file.close()
            return ByteSource(head)
        if not is_stream and self._reopen is not None:
            file.close()
            return ByteSource(reopen=self._reopen)
        joined: Any = _Joined(head, file)
        stream: Any = io.BufferedReader(joined, BUFFER_BYTES)
        return ByteSource(reopen=self._reopen, stream=stream)

    def head(self) -> bytes:
        """Return the first bytes, at most `formats.HEAD_BYTES`, without consuming."""
        if self.data is not None:
            return self.data[:HEAD_BYTES]
        if self._stream is not None:
            return self._stream.peek(HEAD_BYTES)[:HEAD_BYTES]
        with self._fresh() as file:
            return file.read(HEAD_BYTES)

    def open(self) -> BinaryIO:
        """Return the bytes as a stream from the beginning; the caller closes it.

        Raises:
            OSError: the stream has been read, and cannot be reopened.
        """
        if self.data is not None:
            return io.BytesIO(self.data)
        stream, self._stream = self._stream, None
        return stream or self._fresh()

    def _fresh(self) -> BinaryIO:
        if self._reopen is None:
            raise OSError("the stream has already been read")
        return self._reopen()


class PulledStream(io.RawIOBase):
    """A stream whose subclass supplies the bytes; closes its file, if any."""

    _file: Any = None  # closed with the stream

    def _pull(self, n_bytes: int) -> bytes | memoryview:
        """Return at most `n_bytes`; empty at the end."""
        raise NotImplementedError

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill the buffer with available bytes; 0 means the end."""
        data = self._pull(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the file as well."""
        if not self.closed and self._file is not None:
            self._file.close()
        super().close()


class _Joined(PulledStream):
    """A stream of bytes already read from a file, followed by the rest of the file."""

    def __init__(self, head: bytes, file: BinaryIO) -> None:
        self._head, self._file = memoryview(head), file

    def _pull(self, n_bytes: int) -> bytes | memoryview:
        data = self._head[:n_bytes] or self._file.read(n_bytes)
        self._head = self._head[len(data) :]
        return data


class HasBody(Protocol):
    """A response, or a document made from it, with a body."""

    body: bytes | None
    path: Path | None


def body_of(holder: HasBody) -> bytes | Path | None:
    """Return the body, or the path of its spool file; None if there is no body."""
    return holder.body if holder.body is not None else holder.path


def head_of(holder: HasBody, n_bytes: int) -> bytes:
    """Return at most `n_bytes` from the start of a body; empty without a body.

    Raises:
        OSError: the spool file cannot be read.
    """
    if holder.body is not None:
        return holder.body[:n_bytes]
    if holder.path is None:
        return b""
    with holder.path.open("rb") as file:
        return file.read(n_bytes)
