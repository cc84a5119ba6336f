"""The text of one document: decoded, screened, and in blocks of lines.

Any charset becomes UTF-8 without byte order mark, in memory or as a stream. An invalid
byte sequence becomes `MARK`, a noncharacter (Unicode 23.7). This keeps the parser in
step, and statements with a mark are dropped from its output: literals are never
altered.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from rdfcrawl.core.content import PulledStream
from rdfcrawl.core.errors import Reason
from rdfcrawl.rdf.charsets import WIDE, codec_of, is_known

if TYPE_CHECKING:
    from rdfcrawl.core.content import ByteSource
    from rdfcrawl.core.errors import FaultLog

Screen = Callable[[bytes, bool], bytes]

MARK: Final = "\ufdd0"
MARK_BYTES: Final = MARK.encode()
BLOCK_BYTES = 128 * 1024

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, since it begins with its BOM
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    # RFC 7303 and XML 1.0 appendix F: `<?` in UTF-16 without a mark
    (b"<\0?\0", "utf-16-le"),
    (b"\0<\0?", "utf-16-be"),
)
_BOM_STARTS = tuple(bom for bom, _ in _BOMS)
_UTF8_NAMES = frozenset({"", "utf-8", "utf8", "us-ascii", "ascii"})
_WESTERN = frozenset({"iso8859-1", "iso8859-15", "cp1252"})
_ASCII = bytes(range(0x20, 0x7F))
_LEAST_WIDE = 4
_MAX_HELD_BYTES = 1024 * 1024  # of a line
CONTROLS: Final = bytes({*range(9), *range(0x0E, 0x20)} - {0x1B})
"""Control characters that text does not have."""

_WIDE_MARKUP = re.compile(rb"(<\0)[^\0]\0|\0<\0[^\0]")
_STARTS_OF_TEXT = b"<{[@#"
_UTF_32 = re.compile(rb"(?:[^\0]\0\0\0){4}|((?:\0\0\0[^\0]){4})")
_XML_ENCODING = re.compile(
    rb"(?P<before>\s*<\?xml\b[^>]{0,200}?)\sencoding\s*=\s*[\"'](?P<name>[^\"'>]*)[\"']"
)
_ESCAPED = re.compile("[\udc80-\udcff]+")


def detect_encoding(
    head: bytes, *, charset: str, is_xml: bool, log: FaultLog
) -> tuple[str, int]:
    """Return the Python codec, and the number of bytes before the text.

    An unknown charset is a fault, and read as UTF-8.

    Source: RFC 7303 section 3: byte order mark, then the charset parameter, then
    the XML declaration.
    """
    codec, n_bytes = marked_codec(head)
    if codec:
        return codec, n_bytes
    name = charset.strip("\"' ").lower()
    if not name and is_xml and (declared := _XML_ENCODING.match(head)):
        name = declared["name"].decode("latin-1").strip().lower()
    if name in _UTF8_NAMES:
        if wide := wide_codec(head):
            log.note(Reason.BAD_CHARSET, f"is {wide}, and not labelled so")
        return wide or "utf-8", 0
    codec = codec_of(name)
    if not is_known(codec):
        log.note(Reason.BAD_CHARSET, f"unknown charset {name!r}, read as UTF-8")
        return "utf-8", 0
    if not codec.startswith(WIDE):
        return codecs.lookup(codec).name, 0
    # The byte order of a text without mark that begins in ASCII.
    if b"\0" not in head:
        log.note(Reason.BAD_CHARSET, f"is not {name}, read as UTF-8")
        return "utf-8", 0
    return wide_codec(head) or codec, 0


def marked_codec(head: bytes) -> tuple[str, int]:
    """Return the codec that the first bytes show, and the number of bytes of a mark.

    These are a byte order mark or, in UTF-16, the beginning of XML.
    """
    if not head.startswith(_BOM_STARTS):
        return "", 0
    bom, codec = next(pair for pair in _BOMS if head.startswith(pair[0]))
    return codec, 0 if b"<" in bom else len(bom)


def wide_codec(head: bytes) -> str:
    """Return the codec of wide text without a mark that begins in ASCII, or ""."""
    if b"\0" not in head[:2]:
        return ""
    if wide := _UTF_32.match(head):
        return "utf-32-be" if wide[1] else "utf-32-le"
    first, second = head[:16:2], head[1:16:2]
    if len(second) < _LEAST_WIDE:
        return ""
    if not any(second) and all(first):
        return "utf-16-le"
    return "utf-16-be" if not any(first) and all(second) else ""


def utf8_head(head: bytes) -> bytes:
    """Return the head as UTF-8 without byte order mark, if UTF-8, UTF-16 or UTF-32."""
    start = head[:2]
    if start < b"\xef" and b"\0" not in start:  # usual
        return head
    if head.startswith(b"\xef\xbb\xbf"):
        return head.lstrip(b"\xef\xbb\xbf")
    codec, n_bytes = marked_codec(head)
    if not codec and b"\0" in head[:2]:
        markup = _WIDE_MARKUP.match(head)
        codec = "utf-16-le" if markup and markup[1] else "utf-16-be" if markup else ""
    codec = codec or wide_codec(head)
    if codec:
        return head[n_bytes : len(head) & ~3].decode(codec, "replace").encode()
    if head[:1] == b"\0":
        text = head.lstrip(b"\0")
        return text if text[:1] and text[0] in _STARTS_OF_TEXT else head
    return head


def is_binary(head: bytes) -> bool:
    """Return whether bytes are not UTF-8, and a tenth of them control characters."""
    if head.isascii() or len(head.translate(None, CONTROLS)) >= len(head) * 0.9:
        return False
    return "\ufffd" in head[:-3].decode("utf-8", "replace")


def to_utf8(
    data: bytes, *, charset: str, is_xml: bool, log: FaultLog, is_page: bool = True
) -> bytes:
    """Return a document as UTF-8; invalid sequences are marked and logged.

    Valid UTF-8 refutes another charset unless `is_page`.
    """
    codec, skip = detect_encoding(data[:512], charset=charset, is_xml=is_xml, log=log)
    if skip:
        data = data[skip:]
    if codec == "utf-8":
        if not data.isascii():
            data = Utf8Marker(log).feed(data, is_last=True)
    else:
        transcode = _transcoder(codec, log, is_page=is_page)
        data = transcode.feed(data, is_last=True)
    return without_xml_encoding(data) if is_xml else data


def _transcoder(
    codec: str, log: FaultLog, *, is_page: bool
) -> Transcoder | Utf8OrOther:
    if is_page or not _is_ascii_superset(codec):
        return Transcoder(codec, log)
    return Utf8OrOther(codec, log)


def _is_ascii_superset(codec: str) -> bool:
    """Return whether the bytes of ASCII mean ASCII in a codec, in all states."""
    is_stateful = codec.startswith(("utf", "iso2022", "hz"))
    return not is_stateful and _ASCII.decode(codec, "replace").encode() == _ASCII


def without_xml_encoding(data: bytes) -> bytes:
    """Remove the encoding from an XML declaration; the bytes are UTF-8."""
    found = _XML_ENCODING.match(data)
    return found["before"] + data[found.end() :] if found else data


class Utf8Marker:
    """Marker of invalid sequences in blocks of UTF-8."""

    def __init__(self, log: FaultLog) -> None:
        self._log = log
        self._rest = b""
        self._n_bytes = 0  # before the block

    def feed(self, block: bytes, *, is_last: bool) -> bytes:
        """Return the text up to the last complete character."""
        if self._rest:
            block, self._rest = self._rest + block, b""
        n_bytes = len(block)
        try:
            block.decode()
        except UnicodeDecodeError as error:
            if not is_last and error.reason == "unexpected end of data":
                block, self._rest = block[: error.start], block[error.start :]
            else:
                block = self._mark(block, error.start, is_last=is_last)
        self._n_bytes += n_bytes - len(self._rest)
        return block

    def _mark(self, block: bytes, first: int, *, is_last: bool) -> bytes:
        decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        text, n_marks = _ESCAPED.subn(MARK, decoder.decode(block, is_last))
        self._rest = decoder.getstate()[0]
        if n_marks:
            detail = f"not valid UTF-8, from byte {self._n_bytes + first + 1:,}"
            self._log.note(Reason.BAD_CHARSET, detail, n_marks)
        return text.encode()


class Transcoder:
    """Converter of another charset to UTF-8, block by block."""

    def __init__(self, codec: str, log: FaultLog) -> None:
        self._codec, self._log = codec, log
        self._decoder = codecs.getincrementaldecoder(codec)("replace")

    def feed(self, block: bytes, *, is_last: bool) -> bytes:
        """Return the complete characters as UTF-8."""
        text = self._decoder.decode(block, is_last)
        if n_marks := text.count("\ufffd"):
            self._log.note(Reason.BAD_CHARSET, f"not valid {self._codec}", n_marks)
            text = text.replace("\ufffd", MARK)
        return text.encode("utf-8", "replace")


class Utf8OrOther:
    """Converter of text whose charset is labelled differently, but may be UTF-8.

    The formats of RDF are always UTF-8, and servers add a charset to all of them. In
    Western charsets, each line counts for itself.
    """

    def __init__(self, codec: str, log: FaultLog) -> None:
        self._codec, self._log = codec, log
        self._rest = b""
        self._is_noted = False

    def feed(self, block: bytes, *, is_last: bool) -> bytes:
        """Return complete lines as UTF-8."""
        block, self._rest = self._rest + block, b""
        if not is_last:
            end = block.rfind(b"\n") + 1
            if end or len(block) < _MAX_HELD_BYTES:
                block, self._rest = block[:end], block[end:]
        if block.isascii() or self._is_utf8(block):
            return block
        by_line = self._codec in _WESTERN
        parts = block.splitlines(keepends=True) if by_line else [block]
        return b"".join(
            part if self._is_utf8(part) else self._other(part) for part in parts
        )

    def _is_utf8(self, text: bytes) -> bool:
        try:
            text.decode()
        except UnicodeDecodeError:
            return False
        if not self._is_noted and not text.isascii():
            detail = f"is UTF-8, and labelled {self._codec}"
            self._log.note(Reason.BAD_CHARSET, detail)
            self._is_noted = True
        return True

    def _other(self, text: bytes) -> bytes:
        return Transcoder(self._codec, self._log).feed(text, is_last=True)


class Utf8Stream(PulledStream):
    """A file as UTF-8, read once from the beginning, in bounded memory.

    Args:
        file: opened for reading in binary mode; closed with this stream.
        charset: of the Content-Type, or empty.
        is_xml: apply the XML declaration and remove its encoding.
        max_bytes: maximum to read; more is logged as `TOO_LARGE`.
        screens: applied to each block in order; may change the text or raise
            `SourceFault`.
        is_page: see `to_utf8`.
    """

    def __init__(
        self,
        file: BinaryIO,
        *,
        charset: str,
        is_xml: bool,
        max_bytes: int,
        log: FaultLog,
        screens: Sequence[Screen] = (),
        is_page: bool = True,
    ) -> None:
        self._file, self._log, self._screens = file, log, screens
        self._left = max_bytes
        self._ready = memoryview(b"")
        self._is_at_end = False
        first = file.read(BLOCK_BYTES)
        codec, skip = detect_encoding(
            first[:512], charset=charset, is_xml=is_xml, log=log
        )
        self._decoder = (
            Utf8Marker(log)
            if codec == "utf-8"
            else _transcoder(codec, log, is_page=is_page)
        )
        head = self._decode(first[skip:])
        self._ready = memoryview(without_xml_encoding(head) if is_xml else head)

    def _pull(self, n_bytes: int) -> memoryview:
        while not self._ready and not self._is_at_end:
            self._ready = memoryview(self._decode(self._file.read(BLOCK_BYTES)))
        data, self._ready = self._ready[:n_bytes], self._ready[n_bytes:]
        return data

    def _decode(self, block: bytes) -> bytes:
        if len(block) > self._left:
            block = block[: self._left]
            self._log.note(Reason.TOO_LARGE, "document cut at its largest size")
            self._is_at_end = True
        self._left -= len(block)
        self._is_at_end = self._is_at_end or not block
        text = self._decoder.feed(block, is_last=self._is_at_end)
        for screen in self._screens:
            text = screen(text, self._is_at_end)
        return text


class DocumentText:
    """The text of one document, of which at most `max_bytes` are read (`TOO_LARGE`).

    If there is an `xml_screen`, the XML declaration counts, and each stream has a new
    screen, before others.
    """

    def __init__(
        self,
        source: ByteSource,
        *,
        charset: str,
        max_bytes: int,
        xml_screen: Callable[[FaultLog], Screen] | None = None,
    ) -> None:
        self.source, self._charset = source, charset
        self._xml_screen, self._max_bytes = xml_screen, max_bytes
        self._passing: BinaryIO | None = None

    def open(
        self, log: FaultLog, *screens: Screen
    ) -> AbstractContextManager[bytes | BinaryIO]:
        """Return the text: as bytes if in memory, else as a stream.

        `screens` are applied to each block in order; they may change the text or raise
        `SourceFault`.
        """
        if self.source.data is not None:
            return nullcontext(self.load(log, *screens))
        return self._stream(log, *screens)

    def open_stream(self, log: FaultLog, *screens: Screen) -> BinaryIO:
        """Return the text as a stream (`OSError` if not reopenable)."""
        if self.source.data is not None:
            return io.BytesIO(self.load(log, *screens))
        return self._stream(log, *screens)

    def gather(self, max_bytes: int) -> bool:
        """Load a document of at most `max_bytes` into memory; return whether done."""
        self.source = self.source.gathered(max_bytes)
        return self.source.data is not None and len(self.source.data) <= max_bytes

    def drain(self) -> None:
        """Read a stream to the end, to find its remaining faults."""
        file, self._passing = self._passing, None
        if file is not None:
            while file.read(BLOCK_BYTES):
                pass

    def load(self, log: FaultLog, *screens: Screen) -> bytes:
        """Return the text of a document in memory."""
        data = self.source.data or b""
        if len(data) > self._max_bytes:
            data = data[: self._max_bytes]
            log.note(Reason.TOO_LARGE, "document cut at its largest size")
        charset, is_xml = self._charset, self._xml_screen is not None
        text = to_utf8(data, charset=charset, is_xml=is_xml, log=log, is_page=False)
        for each in self._all_screens(log, screens):
            text = each(text, True)  # a screen takes no keywords
        return text

    def _all_screens(
        self, log: FaultLog, screens: tuple[Screen, ...]
    ) -> tuple[Screen, ...]:
        return (self._xml_screen(log), *screens) if self._xml_screen else screens

    def _stream(self, log: FaultLog, *screens: Screen) -> BinaryIO:
        is_stream, file = self.source.is_stream, self.source.open()
        if is_stream:
            self._passing = file
        stream = Utf8Stream(
            file,
            charset=self._charset,
            is_xml=self._xml_screen is not None,
            max_bytes=self._max_bytes,
            log=log,
            screens=self._all_screens(log, screens),
            is_page=False,
        )
        # The parser reads 2 KiB at a time.
        return cast("BinaryIO", io.BufferedReader(stream, BLOCK_BYTES))


def iter_line_blocks(
    read: Callable[[int], bytes], *, max_line_bytes: int, log: FaultLog
) -> Iterator[bytes]:
    """Yield blocks of complete lines; all but the last end with a line end.

    A line longer than `max_line_bytes` is skipped, and logged as `LITERAL_TOO_LONG`.
    """
    held: list[bytes] = []  # of a line without its end so far
    n_held = 0
    block = read(BLOCK_BYTES)
    while block:
        # N-Triples section 2, EOL: a carriage return alone also ends a line.
        cut = max(block.rfind(b"\n"), block.rfind(b"\r")) + 1
        if cut:
            held.append(block[:cut])
            yield b"".join(held)
            held, n_held = [], 0
        held.append(block[cut:])
        n_held += len(block) - cut
        if n_held > max_line_bytes:
            log.note(Reason.LITERAL_TOO_LONG, "a line is too long")
            held, n_held = [], 0
            block = _after_next_line_end(read)
        else:
            block = b""
        block = block or read(BLOCK_BYTES)
    if n_held:
        yield b"".join(held)


def gathered(blocks: Iterable[bytes], n_bytes: int) -> Iterator[bytes]:
    """Yield joined blocks of complete lines, of about `n_bytes`."""
    held: list[bytes] = []
    n_held = 0
    for block in blocks:
        held.append(block)
        n_held += len(block)
        if n_held >= n_bytes:
            yield b"".join(held)
            held.clear()
            n_held = 0
    if held:
        yield b"".join(held)


def _after_next_line_end(read: Callable[[int], bytes]) -> bytes:
    while block := read(BLOCK_BYTES):
        ends = [end for end in (block.find(b"\n"), block.find(b"\r")) if end >= 0]
        if ends:
            return block[min(ends) + 1 :]
    return b""
