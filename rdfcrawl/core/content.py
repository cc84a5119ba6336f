"""The content of a document: its bytes, and its statements in chunks.

A body is in memory, in a file, or in a stream from an archive. Only this module chooses
between the body of a response in memory and its spool file: other code would find no
body in a large response.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, Protocol, Self

from rdfcrawl.core.formats import HEAD_BYTES

BUFFER_BYTES = 256 * 1024
RAW_DEFLATE: Final = -15  # window bits; negative: neither zlib nor gzip header
_MARK_BEGIN = re.compile(rb"^#\t", re.MULTILINE)


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

    def first(self, n_bytes: int) -> bytes:
        """Return the first bytes; all of them if in memory."""
        if self.data is not None:
            return self.data
        with self.open() as stream:
            return stream.read(n_bytes)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveMember:
    """One file of an archive.

    Attributes:
        name: in the archive; data, never a path.
        format: name of the format it was read in; empty if it was not read.
    """

    name: str
    format: str = ""
    n_quads: int = 0


class DeflatePiece(NamedTuple):
    """A part of a deflate stream that can be inflated alone.

    Attributes:
        packed: the part; it ends on a byte.
        crc: CRC-32 of its content.
        n_content: length of its content.
        digest: `digest_of` its content.
    """

    packed: bytes
    crc: int
    n_content: int
    digest: bytes


def digest_of(lines: bytes) -> bytes:
    """Return SHA-256 of statements: processors have instructions for it."""
    return sha256(lines, usedforsecurity=False).digest()


class FoundLinks(NamedTuple):
    """Links, with those to one host separate: most links of a chunk are to one host."""

    of_host: bytes = b""  # links to the host, a line each
    host: bytes = b""  # common beginning of these; see `links.authority`
    n_of_host: int = 0  # number of these
    others: bytes = b""  # links to other hosts, a line each

    @classmethod
    def sort(cls, links: AbstractSet[bytes], host: bytes) -> Self:
        """Return links by host, given the one of most links so far."""
        lines = b"\n" + b"\n".join(links)
        n_of_host = lines.count(b"\n" + host)
        if not host or not n_of_host:
            return cls(others=lines[1:])
        if n_of_host == len(links):
            return cls(lines[1:], host, n_of_host)
        parts = _split_elsewhere(host)(lines)  # the others at each odd place
        others, of_host = b"".join(parts[1::2])[1:], b"".join(parts[::2])[1:]
        return cls(of_host, host, n_of_host, others)


NO_LINKS: Final = FoundLinks()


@lru_cache(maxsize=64)
def _split_elsewhere(host: bytes) -> Callable[[bytes], list[bytes]]:
    return re.compile(rb"(\n(?!%s)[^\n]++)" % re.escape(host)).split


class QuadChunk:
    """Statements as complete lines of N-Quads, at most about 256 KiB.

    A child process that reads a long document packs its chunks and finds their links.

    Args:
        lines: the statements; empty if they are packed.
        n_quads: their number; counted if it is not given.
        links: in the statements; None if they are still to be found.
        packed: the statements, packed; None if they are not.
        is_describing: the statements may describe data elsewhere.
    """

    __slots__ = ("is_describing", "lines", "links", "n_quads", "packed")
    lines: bytes

    def __init__(
        self,
        lines: bytes,
        n_quads: int | None = None,
        links: FoundLinks | None = None,
        packed: DeflatePiece | None = None,
        *,
        is_describing: bool = True,
    ) -> None:
        if packed is None:
            self.lines = lines
        self.n_quads = lines.count(b"\n") if n_quads is None else n_quads
        self.links, self.packed, self.is_describing = links, packed, is_describing

    @property
    def digest(self) -> bytes:
        """The digest of the lines, known without inflating them."""
        return digest_of(self.lines) if self.packed is None else self.packed.digest

    def __getattr__(self, name: str) -> bytes:
        """Return `lines`, which are inflated at their first use if they are packed."""
        if name != "lines" or self.packed is None:
            raise AttributeError(name)
        from isal import isal_zlib  # noqa: PLC0415  (most chunks are not packed)

        inflating = isal_zlib.decompressobj(RAW_DEFLATE)
        self.lines = inflating.decompress(self.packed.packed)
        return self.lines


def check_statements(lines: bytes) -> None:
    """Raise `ValueError` if lines cannot be stored behind others.

    The last one has no end, or one begins as a document's mark does.
    """
    # A tab is rare and found at the speed of memory, a comment is not.
    if lines[-1:] != b"\n" or (b"\t" in lines and _MARK_BEGIN.search(lines)):
        raise ValueError("want complete lines of N-Quads without marks")


class QuadCopy(Protocol):
    """A copy of the statements of a document, complete if they were read to the end."""

    n_bytes: int
    is_whole: bool

    def open(self) -> BinaryIO:
        """Return the copy, from its beginning."""

    def close(self) -> None:
        """Delete the copy."""
