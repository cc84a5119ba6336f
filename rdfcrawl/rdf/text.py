"""Decode and screen the text of one document, repeatedly if required."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.encoding import BLOCK_BYTES, Screen, Utf8Stream, to_utf8

if TYPE_CHECKING:
    from rdfcrawl.core.bytesource import ByteSource
    from rdfcrawl.core.faultlog import FaultLog


class DocumentText:
    """The text of one document, of which at most `max_bytes` are read (`TOO_LARGE`).

    If `is_xml`, the XML declaration counts, and dangerous XML is refused.
    """

    def __init__(
        self, source: ByteSource, *, charset: str, is_xml: bool, max_bytes: int
    ) -> None:
        self._source, self._charset = source, charset
        self._is_xml, self._max_bytes = is_xml, max_bytes
        self._passing: BinaryIO | None = None

    @property
    def is_in_memory(self) -> bool:
        """Whether the document is in memory."""
        return self._source.data is not None

    @property
    def can_reopen(self) -> bool:
        """Whether the text can be read more than once."""
        return self._source.can_reopen

    @contextmanager
    def open(self, log: FaultLog, *screens: Screen) -> Iterator[bytes | BinaryIO]:
        """Yield the text: as bytes if in memory, else as a stream.

        `screens` are applied to each block in order; they may change the text or raise
        `SourceFault`.
        """
        if self._source.data is not None:
            yield self._load(self._source.data, log, *screens)
            return
        with self._stream(log, *screens) as stream:
            yield stream

    def open_stream(self, log: FaultLog, *screens: Screen) -> BinaryIO:
        """Return the text as a stream (`OSError` if not reopenable)."""
        if self._source.data is not None:
            return io.BytesIO(self._load(self._source.data, log, *screens))
        return self._stream(log, *screens)

    def gather(self, max_bytes: int) -> bool:
        """Load a document of at most `max_bytes` into memory; return whether done."""
        self._source = self._source.gathered(max_bytes)
        return self._source.data is not None and len(self._source.data) <= max_bytes

    def drain(self) -> None:
        """Read a stream to the end, to find its remaining faults."""
        file, self._passing = self._passing, None
        if file is not None:
            while file.read(BLOCK_BYTES):
                pass

    def load(self, log: FaultLog) -> bytes:
        """Return the text of a document in memory."""
        return self._load(self._source.data or b"", log)

    def _load(self, data: bytes, log: FaultLog, *screens: Screen) -> bytes:
        if len(data) > self._max_bytes:
            data = data[: self._max_bytes]
            log.note(Reason.TOO_LARGE, "document cut at its largest size")
        text = to_utf8(data, charset=self._charset, is_xml=self._is_xml, log=log)
        for each in self._all(screens):
            text = each(text, True)  # a screen takes no keywords
        return text

    def _stream(self, log: FaultLog, *screens: Screen) -> BinaryIO:
        is_stream, file = self._source.is_stream, self._source.open()
        if is_stream:
            self._passing = file
        stream = Utf8Stream(
            file,
            charset=self._charset,
            is_xml=self._is_xml,
            max_bytes=self._max_bytes,
            log=log,
            screens=self._all(screens),
        )
        # The parser reads 2 KiB at a time.
        return cast("BinaryIO", io.BufferedReader(stream, BLOCK_BYTES))

    def _all(self, screens: tuple[Screen, ...]) -> tuple[Screen, ...]:
        return (XmlScreen().feed, *screens) if self._is_xml else screens


MAX_VALUE_BYTES = 1024
MAX_ALL_VALUES_BYTES = 64 * 1024
_MAX_DECLARATION_BYTES = 2 * MAX_VALUE_BYTES

_ENTITY = b"<!ENTITY"
_PLAIN_ENTITY = re.compile(
    rb"<!ENTITY\s+(?P<name>[^\s%\"'<>&;]+)\s+"
    rb"(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)')\s*>"
)
# Predefined entities and characters (XML 1.0 section 4.6) do not expand.
_REFERENCE = re.compile(rb"&(?!(?:lt|gt|amp|apos|quot|#\d{1,7}|#x[0-9A-Fa-f]{1,6});)")
# The RDF/XML parser takes quadratic time: 0.4 s for 8,000 levels, more than a minute
# for 100,000.
MAX_XML_DEPTH: Final = 4000
_STEP_BYTES: Final = 16 * 1024  # between two checks of the depth
# An unterminated construct continues in the next block; each byte is scanned once.
_NO_ELEMENTS = re.compile(
    rb"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<[!?]", re.DOTALL
)


class XmlScreen:
    """Screen of nesting depth and of entity declarations that expand or are external.

    The RDF/XML parser expands internal entities, wherever the document declares them.
    Ontologies use them to shorten namespaces, so declarations of a short text are
    accepted, and all others refused before parsing.

    The depth is counted, not parsed: the rest of a comment that spans two blocks counts
    as markup. The limit is far above the depth of real documents.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._n_bytes = 0
        self._depth = 0

    def feed(self, block: bytes, is_last: bool) -> bytes:
        """Return the text of the blocks so far that may be parsed.

        Raises:
            SourceFault: `ENTITY_EXPANSION`: an entity that is external, a parameter
                entity, made of other entities, or too long; `SYNTAX`: nested deeper
                than `MAX_XML_DEPTH`.
        """
        block, self._rest = self._rest + block, b""
        if not is_last:
            start = block.rfind(b"<")
            if start >= 0 and len(block) - start <= _MAX_DECLARATION_BYTES:
                block, self._rest = block[:start], block[start:]
        if _ENTITY in block:
            block = self._check(block)
        markup = block
        if b"<!" in block or b"<?" in block:
            markup = _NO_ELEMENTS.sub(b"", block)
        for begin in range(0, len(markup), _STEP_BYTES):
            self._count(markup, begin, begin + _STEP_BYTES)
        return block

    def _check(self, block: bytes) -> bytes:
        parts: list[bytes] = []
        done = 0
        while (start := block.find(_ENTITY, done)) >= 0:
            match = _PLAIN_ENTITY.match(block, start, start + _MAX_DECLARATION_BYTES)
            if match is None:
                raise _refusal("it is external, too long or a parameter entity")
            parts += block[done:start], self._declare(match)
            done = match.end()
        parts.append(block[done:])
        return b"".join(parts)

    def _declare(self, match: re.Match[bytes]) -> bytes:
        value = match["double"] if match["single"] is None else match["single"]
        self._n_bytes += len(value)
        if _REFERENCE.search(value):
            raise _refusal("it is made of other entities")
        if len(value) > MAX_VALUE_BYTES or self._n_bytes > MAX_ALL_VALUES_BYTES:
            raise _refusal("it is too long")
        # The parser only supports double quotes.
        return b'<!ENTITY %s "%s">' % (match["name"], value.replace(b'"', b"&#34;"))

    def _count(self, markup: bytes, begin: int, end: int) -> None:
        n_ends = markup.count(b"</", begin, end + 1)
        n_starts = markup.count(b"<", begin, end) - n_ends
        n_starts -= markup.count(b"/>", begin, end + 1)
        self._depth = max(self._depth + n_starts - n_ends, 0)
        if self._depth > MAX_XML_DEPTH:
            detail = f"nested deeper than {MAX_XML_DEPTH} levels"
            raise SourceFault(Reason.SYNTAX, detail)


def _refusal(why: str) -> SourceFault:
    return SourceFault(Reason.ENTITY_EXPANSION, f"entity declaration refused: {why}")
