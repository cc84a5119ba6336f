"""Convert any charset to UTF-8 without byte order mark, at once or as a stream.

An invalid byte sequence becomes `MARK`, a noncharacter (Unicode 23.7). This keeps the
parser in step, and statements with a mark are dropped from its output: literals are
never altered.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, BinaryIO

from rdfcrawl.core.bytesource import PulledStream
from rdfcrawl.core.errors import Reason

if TYPE_CHECKING:
    from rdfcrawl.core.faultlog import FaultLog

Screen = Callable[[bytes, bool], bytes]

MARK = "\ufdd0"
MARK_BYTES = MARK.encode()
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
# Codecs of Python that are not charsets of documents; some take quadratic time.
_NO_CHARSETS = frozenset(
    {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "utf-7"}
)
_WIDE = ("utf-16", "utf-32")  # Python's codecs of these names expect a byte order mark
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
    if head.startswith(_BOM_STARTS):
        bom, codec = next(pair for pair in _BOMS if head.startswith(pair[0]))
        return codec, 0 if bom[:1] in b"<\0" and b"<" in bom else len(bom)
    name = charset.strip("\"' ").lower()
    if not name and is_xml and (declared := _XML_ENCODING.match(head)):
        name = declared["name"].decode("latin-1").strip().lower()
    if name in _UTF8_NAMES:
        return "utf-8", 0
    try:
        info = codecs.lookup(name)
    except (LookupError, ValueError):
        info = None
    if info is None or info.name in _NO_CHARSETS or not info._is_text_encoding:  # noqa: SLF001
        log.note(Reason.BAD_CHARSET, f"unknown charset {name!r}, read as UTF-8")
        return "utf-8", 0
    if info.name in _WIDE:
        return _wide_encoding(info.name, head, log), 0
    return info.name, 0


def _wide_encoding(name: str, head: bytes, log: FaultLog) -> str:
    """Return the byte order of a text without mark that begins in ASCII."""
    if b"\0" not in head:
        log.note(Reason.BAD_CHARSET, f"is not {name}, read as UTF-8")
        return "utf-8"
    return f"{name}-be" if head.startswith(b"\0") else f"{name}-le"


def to_utf8(data: bytes, *, charset: str, is_xml: bool, log: FaultLog) -> bytes:
    """Return a document as UTF-8; invalid sequences are marked and logged."""
    codec, skip = detect_encoding(data[:512], charset=charset, is_xml=is_xml, log=log)
    if skip:
        data = data[skip:]
    if codec == "utf-8":
        if not data.isascii():
            data = Utf8Marker(log).feed(data, is_last=True)
    else:
        data = Transcoder(codec, log).feed(data, is_last=True)
    return without_xml_encoding(data) if is_xml else data


def without_xml_encoding(data: bytes) -> bytes:
    """Remove the encoding from an XML declaration; the bytes are UTF-8."""
    found = _XML_ENCODING.match(data)
    return found["before"] + data[found.end() :] if found else data


class Utf8Marker:
    """Marker of invalid sequences in blocks of UTF-8."""

    def __init__(self, log: FaultLog) -> None:
        self._log = log
        self._rest = b""

    def feed(self, block: bytes, *, is_last: bool) -> bytes:
        """Return the text up to the last complete character."""
        if self._rest:
            block, self._rest = self._rest + block, b""
        try:
            block.decode()
        except UnicodeDecodeError as error:
            if not is_last and error.reason == "unexpected end of data":
                block, self._rest = block[: error.start], block[error.start :]
            else:
                block = self._mark(block, is_last=is_last)
        return block

    def _mark(self, block: bytes, *, is_last: bool) -> bytes:
        decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        text, n_marks = _ESCAPED.subn(MARK, decoder.decode(block, is_last))
        self._rest = decoder.getstate()[0]
        if n_marks:
            self._log.note(Reason.BAD_CHARSET, "not valid UTF-8", n_marks)
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


class Utf8Stream(PulledStream):
    """A file as UTF-8, read once from the beginning, in bounded memory.

    Args:
        file: opened for reading in binary mode; closed with this stream.
        charset: of the Content-Type, or empty.
        is_xml: apply the XML declaration and remove its encoding.
        max_bytes: maximum to read; more is logged as `TOO_LARGE`.
        screens: applied to each block in order; may change the text or raise
            `SourceFault`.
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
    ) -> None:
        self._file, self._log, self._screens = file, log, screens
        self._left = max_bytes
        self._ready = memoryview(b"")
        self._is_at_end = False
        first = file.read(BLOCK_BYTES)
        codec, skip = detect_encoding(
            first[:512], charset=charset, is_xml=is_xml, log=log
        )
        self._decoder = Utf8Marker(log) if codec == "utf-8" else Transcoder(codec, log)
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
