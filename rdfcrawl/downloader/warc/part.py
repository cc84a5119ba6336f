"""A part of a WARC or ARC file: its records, with their offsets and bodies.

If each record of a compressed file is a separate gzip member or frame of Zstandard,
reading may start at any of them. A file of one member, or of none, is read from its
beginning. Archives differ: some keep bodies as sent, others have decoded them and kept
the headers.

Source: The WARC Format 1.1 (IIPC), annex D.
"""

from __future__ import annotations

import re
import sys
import zlib
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from rdfcrawl.core.errors import Fault, RdfcrawlError, Reason, SourceFault
from rdfcrawl.core.messages import counted
from rdfcrawl.downloader.warc.http_messages import BodyFrame
from rdfcrawl.rdf.unpack.content_encoding import BodyDecoder, UnknownCoding
from rdfcrawl.rdf.unpack.limits import RATIO_FREE_BYTES

if sys.version_info >= (3, 14):  # pragma: no cover
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Iterator

Dictionary = zstd.ZstdDict

READ_BYTES: Final = 64 * 1024
MAX_MEMBER_BYTES: Final = 4 * 1024**3
_GZIP: Final = b"\x1f\x8b\x08"
_WARC: Final = b"WARC/"
_ZIP: Final = b"PK\1\2", b"PK\3\4", b"PK\5\6", b"PK\7\x08"
_GZIP_WINDOW: Final = 31
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
# RFC 8878 3.1.2; the first frame of a file may be a dictionary, packed or not.
_SKIPPABLE: Final = tuple(bytes((0x50 + i, 0x2A, 0x4D, 0x18)) for i in range(16))
_DICTIONARY: Final = b"\x5d\x2a\x4d\x18"
_MAX_DICTIONARY_BYTES: Final = 16 * 2**20
_OPTIONS: Final[dict[int, int]] = {zstd.DecompressionParameter.window_log_max: 27}
_SLICE_BYTES: Final = 4096  # fed to a decoder at a time
MAX_LINE_BYTES: Final = 8192  # that begins a record of ARC
_begins_chunk: Final = re.compile(rb"[0-9A-Fa-f]{1,16}[ \t]*(?:;[^\r\n]*)?\r?\n").match


class PartEnds(RdfcrawlError):
    """The part ends, and the file does not."""


class BadMember(RdfcrawlError):
    """A packed member is damaged, or its content has no end."""


class FilePart:
    """Bytes of a file from an offset on, read in order.

    Args:
        file: at the first byte of the part.
        offset: of that byte in the file.
        is_last: the part ends with the file.
        dictionary: of Zstandard, for all frames; see `read_dictionary`.
    """

    def __init__(
        self,
        file: BinaryIO,
        offset: int,
        *,
        is_last: bool,
        dictionary: Dictionary | None = None,
    ) -> None:
        self._file, self._is_last = file, is_last
        self.dictionary = dictionary
        self._ahead = b""
        self._end = offset

    def tell(self) -> int:
        """Return the offset of the next byte in the file."""
        return self._end - len(self._ahead)

    def read(self, n_bytes: int = READ_BYTES) -> bytes:
        """Return the next bytes; none at the end of the file.

        Raises:
            PartEnds: at the end of a part other than the last.
        """
        if not self._ahead:
            self._ahead = self._file.read(READ_BYTES)
            self._end += len(self._ahead)
            if not self._ahead and not self._is_last:
                raise PartEnds
        taken, self._ahead = self._ahead[:n_bytes], self._ahead[n_bytes:]
        return taken

    def push_back(self, content: bytes) -> None:
        """Push back the bytes that were read last."""
        self._ahead = content + self._ahead

    def begins_packed(self) -> bool:
        """Return whether a gzip member or a frame of Zstandard begins here."""
        return self.head().startswith((_GZIP, _ZSTD, *_SKIPPABLE))

    def begins_zip(self) -> bool:
        """Return whether a header of zip begins here, as in WACZ."""
        return self.head().startswith(_ZIP)

    def head(self) -> bytes:
        """Return the next bytes, at least as many as a magic number has."""
        head = self.read(READ_BYTES)
        while 0 < len(head) < len(_ZSTD) and (more := self.read(READ_BYTES)):
            head += more
        self.push_back(head)
        return head

    def seek_record(self) -> None:
        """Skip to the next possible start of a record, or to the end.

        Raises:
            PartEnds: no record starts in the part; it is read up to a possible start.
        """
        window = b""
        while True:
            try:
                content = self.read()
            except PartEnds:
                undecided = _first_undecided(window, self.dictionary)
                self.push_back(window[undecided:])
                raise
            if not content:
                return
            window += content
            for found in _places(window):
                if _begins_record(window[found:], self.dictionary):
                    self.push_back(window[found:])
                    return
            window = window[-READ_BYTES:] if len(window) > 2 * READ_BYTES else window


def _places(window: bytes) -> list[int]:
    places = [0] if window.startswith(_WARC) else []  # behind a line that is no record
    for magic in (_GZIP, _ZSTD, b"\n" + _WARC):
        at = window.find(magic)
        while at >= 0:
            places.append(at + (magic[:1] == b"\n"))
            at = window.find(magic, at + 1)
    return sorted(places)


def begins_warc(line: bytes) -> bool:
    """Return whether a line begins a record of WARC."""
    return line.startswith(_WARC)


def without_version_2(line: bytes) -> bytes:
    r"""Return the first line of a record of ARC with the fields of version 1.

    >>> without_version_2(b"u://a 1.1.1.1 20250301120000 text/plain 200 - - 0 f 7\n")
    b'u://a 1.1.1.1 20250301120000 text/plain 7\n'
    """
    url, *fields = line.rsplit(b" ", 9)
    if len(fields) != 9 or not (fields[1].isdigit() and fields[3].isdigit()):
        return line
    return b" ".join((url, *fields[:3], fields[-1]))


def begins_arc(line: bytes) -> bool:
    """Return whether a line begins a record of ARC.

    It has a URL, an address, a date, a media type and a length.
    """
    url, *fields = without_version_2(line).rstrip().rsplit(b" ", 4)
    if len(fields) != 4 or b":" not in url:
        return False
    date, length = fields[1], fields[3]
    return date.isdigit() and 12 <= len(date) <= 17 and length.isdigit()


def _begins_record(content: bytes, dictionary: Dictionary | None) -> bool | None:
    """Return whether a record begins here; None with too few bytes."""
    if content.startswith(_WARC):
        return True
    try:
        inflate = _decoder(content, dictionary)
        head = inflate.decompress(content, MAX_LINE_BYTES)
        while not head and inflate.unconsumed_tail:
            head = inflate.decompress(inflate.unconsumed_tail, MAX_LINE_BYTES)
    except _broken():
        return False
    line, end, _ = head.partition(b"\n")
    if begins_warc(head) or (end and begins_arc(line)):
        return True
    is_short = not end and len(head) < MAX_LINE_BYTES and not inflate.eof
    is_possible = _WARC.startswith(head) or b":" in head[:20]
    return None if is_short and is_possible else False


def _first_undecided(window: bytes, dictionary: Dictionary | None) -> int:
    """Return the possible start of an incomplete record."""
    tail = max(0, len(window) - len(_WARC))  # perhaps the start of a magic number
    places = (
        at for at in _places(window) if _begins_record(window[at:], dictionary) is None
    )
    return min(next(places, tail), tail)


def read_dictionary(file: BinaryIO) -> Dictionary | None:
    """Return the dictionary of a file that is packed with Zstandard, if any.

    Source: IIPC, "Zstandard Compression for WARC Files 1.0" (draft), 4.

    Raises:
        SourceFault: it is too long, or damaged.
    """
    file.seek(0)
    head = file.read(8)
    if not head.startswith(_DICTIONARY):
        return None
    n_bytes = int.from_bytes(head[4:], "little")
    n_read = min(n_bytes, _MAX_DICTIONARY_BYTES + 1)
    content = file.read(n_read)
    try:
        if len(content) < n_read:
            raise ValueError("cut off")
        if content.startswith(_ZSTD):
            n_bytes = len(content := _unpacked(content))
        if n_bytes > _MAX_DICTIONARY_BYTES:
            limit = counted(_MAX_DICTIONARY_BYTES, "byte")
            raise SourceFault(Reason.TOO_LARGE, f"a dictionary of more than {limit}")
        return Dictionary(content)
    except _broken() as error:
        raise SourceFault(Reason.BAD_ARCHIVE, f"dictionary: {error}") from error


def _unpacked(dictionary: bytes) -> bytes:
    frame = zstd.ZstdDecompressor(options=_OPTIONS)
    content = frame.decompress(dictionary, _MAX_DICTIONARY_BYTES + 1)
    if not frame.eof and len(content) <= _MAX_DICTIONARY_BYTES:
        raise ValueError("cut off")
    return content


class _ZstdFrame:
    """A decoder of one frame, with the interface of one of zlib."""

    def __init__(self, dictionary: Dictionary | None) -> None:
        self._frame = zstd.ZstdDecompressor(zstd_dict=dictionary, options=_OPTIONS)
        self.unconsumed_tail = self.unused_data = b""

    @property
    def eof(self) -> bool:
        """Whether the frame has been decoded to its end."""
        return self._frame.eof

    @property
    def needs_input(self) -> bool:
        """Whether there is no more content without further bytes."""
        return self._frame.needs_input

    def decompress(self, packed: bytes, n_bytes: int) -> bytes:
        """Return the next content, at most `n_bytes`."""
        n_taken = _SLICE_BYTES if self._frame.needs_input else 0
        self.unconsumed_tail = packed[n_taken:]
        content = self._frame.decompress(packed[:n_taken], n_bytes)
        if self._frame.eof:
            self.unused_data = self._frame.unused_data + self.unconsumed_tail
            self.unconsumed_tail = b""
        return content


def _decoder(head: bytes, dictionary: Dictionary | None) -> Any:
    """Return a decoder of what begins with these bytes."""
    if head.startswith((_ZSTD, *_SKIPPABLE)):
        return _ZstdFrame(dictionary)
    return zlib.decompressobj(_GZIP_WINDOW)


def _broken() -> tuple[type[Exception], ...]:
    return zlib.error, zstd.ZstdError, ValueError


class PackedRecords:
    """The content of the member or frame at the start of a part; read once."""

    def __init__(self, part: FilePart, *, max_ratio: float) -> None:
        self._part, self._max_ratio = part, max_ratio
        self._inflate = _decoder(part.head(), part.dictionary)
        self._n_packed = self._n_bytes = 0
        self._unread = b""  # content before an error
        self._most_bytes = MAX_MEMBER_BYTES

    def allow(self, n_bytes: int) -> None:
        """Raise the limit of the content by `n_bytes`."""
        self._most_bytes = MAX_MEMBER_BYTES + n_bytes

    def read(self, n_bytes: int = READ_BYTES) -> bytes:
        """Return the next bytes; none at the end of the member.

        Raises:
            PartEnds: see `FilePart.read`.
            BadMember: the member is damaged, truncated or too long.
        """
        while not self._inflate.eof:
            packed = self._inflate.unconsumed_tail
            if not packed and getattr(self._inflate, "needs_input", True):
                packed = self._part.read()
                if not packed:
                    raise BadMember("the file ends within a record")
                self._n_packed += len(packed)
            try:
                content: bytes = self._inflate.decompress(packed, max(1, n_bytes))
            except _broken() as error:
                self._unread = packed[1:]
                raise BadMember(f"packed: {error}") from error
            self._unread = self._inflate.unconsumed_tail
            if self._inflate.eof:
                self._part.push_back(self._inflate.unused_data)
            self._n_bytes += len(content)
            if self._n_bytes > self._most_bytes:
                raise BadMember(
                    f"a record of more than {counted(self._most_bytes, 'byte')}"
                )
            if self._n_bytes > max(RATIO_FREE_BYTES, self._n_packed * self._max_ratio):
                raise BadMember(f"packed: ratio over {self._max_ratio:g}")
            if content:
                return content
        return b""

    def abandon(self) -> None:
        """Leave the part within the member, after the bytes read so far."""
        self._part.push_back(self._unread)
        self._unread = b""


class RecordBody:
    """The body of a warcio record, to be read once.

    Args:
        record: after its head.
        max_ratio: decoded : encoded.

    Attributes:
        fault: error that ended the body; set at its end.

    Raises:
        SourceFault: `BAD_CONTENT_ENCODING`: there are too many codings.
    """

    def __init__(self, record: Any, *, max_ratio: float) -> None:
        self.fault: Fault | None = None
        self._pieces: Iterator[bytes] = iter(
            partial(record.raw_stream.read, READ_BYTES), b""
        )
        self._ahead = b""
        http = record.http_headers
        if http is None:
            return
        if (http.get_header("Transfer-Encoding") or "").lower().endswith("chunked"):
            self._pieces = self._unchunked(self._pieces)
        coding = http.get_header("Content-Encoding") or ""
        if coding:
            decoder = BodyDecoder(coding, max_ratio=max_ratio)
            self._pieces = self._decoded(self._pieces, decoder)

    def read(self, n_bytes: int = READ_BYTES) -> bytes:
        """Return at most `n_bytes` of the next bytes; none at the end."""
        if not self._ahead:
            self._ahead = next(self._pieces, b"")
        taken, self._ahead = self._ahead[:n_bytes], self._ahead[n_bytes:]
        return taken

    def begin(self, n_bytes: int) -> bytes:
        """Return at least `n_bytes` of the first bytes, if available."""
        begin = b""
        while len(begin) < n_bytes and (piece := self.read()):
            begin += piece
        return begin

    def _unchunked(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        first = next(pieces, b"")
        pieces = chain([first], pieces)
        if not _begins_chunk(first):
            yield from pieces
            return
        frame = BodyFrame(is_chunked=True)
        yield from frame.pieces(pieces)
        if not frame.is_complete:
            self.fault = Fault(Reason.TRUNCATED_BODY, "the last chunk is missing")

    def _decoded(
        self, pieces: Iterator[bytes], decoder: BodyDecoder
    ) -> Iterator[bytes]:
        n_bytes = 0
        try:
            for position, piece in enumerate(pieces):
                try:
                    for decoded in decoder.pieces(piece):
                        n_bytes += len(decoded)
                        yield decoded
                except UnknownCoding:
                    raise
                except SourceFault as error:
                    is_broken = error.fault.reason is Reason.BAD_CONTENT_ENCODING
                    if position or n_bytes or not is_broken:
                        raise
                    yield from chain([piece], pieces)  # already decoded
                    return
            decoder.finish()
        except SourceFault as error:
            self.fault = self.fault or error.fault
