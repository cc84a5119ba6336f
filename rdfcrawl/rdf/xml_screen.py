"""Screen of XML before it is parsed: depth, entities, and forms of old RDF/XML."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.namespaces import RDF

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog

MARK: Final = "\ufdd0"  # in place of text that cannot be read; see `rdf.text`
MARK_BYTES: Final = MARK.encode()
MAX_VALUE_BYTES = 1024
MAX_ALL_VALUES_BYTES = 64 * 1024
_MAX_DECLARATION_BYTES = 2 * MAX_VALUE_BYTES

_ENTITY = b"<!ENTITY"
_DECLARATION = re.compile(
    rb"<!ENTITY\s+(?P<parameter>%\s*)?(?P<name>[^\s%\"'<>&;]+)\s+"
    rb"(?P<external>(?:SYSTEM|PUBLIC\s+(?:\"[^\"]*\"|'[^']*'))\s+)?"
    rb"(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)')(?:\s+NDATA\s+[^\s>]+)?\s*>"
)
_REFERENCE = re.compile(rb"&([^\s&;#<>\"']+);")
_USUAL: Final = tuple(
    b'parseType="%s"' % each for each in (b"Collection", b"Resource", b"Literal")
)
_PARSE_TYPE = re.compile(
    rb"(?<=[\s:])parseType\s*=\s*(?:\"(?!(?:Literal|Resource|Collection|Triple)\")[^\"<>]*\""
    rb"|'(?!(?:Literal|Resource|Collection|Triple)')[^'<>]*')"
)
_OLD_NAMESPACE = re.compile(
    rb"http://www\.w3\.org/(?:TR/)?(?:WD|1999/PR|PR)-rdf-syntax(?:-19990105)?#"
)
_IN_TAG = re.compile(rb"<[^\W\d][^<>]*\Z")
# The RDF/XML parser takes quadratic time: 0.4 s for 8,000 levels, more than a minute
# for 100,000.
MAX_XML_DEPTH: Final = 4000
_STEP_BYTES: Final = 16 * 1024  # between two checks of the depth
# An unterminated construct continues in the next block; each byte is scanned once.
_NO_ELEMENTS = re.compile(
    rb"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<[!?]", re.DOTALL
)


class XmlScreen:
    """Screen of nesting depth, entities, and other values of `rdf:parseType`.

    The RDF/XML parser expands internal entities, wherever the document declares them.
    Ontologies use them to shorten namespaces, so entities of a short text are replaced
    by it. An external entity is never fetched: `MARK` is in its place, `on_mark` is
    called, and each reference is logged. Parameter entities are left out.

    The depth is counted, not parsed: the rest of a comment that spans two blocks counts
    as markup. The limit is far above the depth of real documents.

    Attributes:
        depth: of the open elements.
    """

    def __init__(
        self, log: FaultLog | None = None, on_mark: Callable[[], None] = lambda: None
    ) -> None:
        self._log, self._on_mark = log, on_mark
        self._rest = b""
        self._n_bytes = 0
        self.depth = 0
        self._values: dict[bytes, bytes] = {}
        self._absent: set[bytes] = set()  # references to what is not read
        self._is_begun = False

    def feed(self, block: bytes, is_last: bool) -> bytes:
        """Return the text of the blocks so far that may be parsed.

        Raises:
            SourceFault: `ENTITY_EXPANSION`: an entity that is too long, or cannot be
                read; `SYNTAX`: nested deeper than `MAX_XML_DEPTH`.
        """
        block, self._rest = self._rest + block, b""
        if not is_last:
            start = block.rfind(b"<")
            if not 0 <= start >= len(block) - _MAX_DECLARATION_BYTES:
                start = len(block) - block.endswith(b"\r")
            block, self._rest = block[:start], block[start:]
        if b"\r" in block:  # XML 1.0 section 2.11
            block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if not self._is_begun and _OLD_NAMESPACE.search(block, 0, _STEP_BYTES):
            block = self._with_new_namespace(block)
        self._is_begun = True
        if _ENTITY in block:
            block = self._check(block)
        if self._absent:
            self._note_references(block)
        n_parse_types = block.count(b"parseType")
        if n_parse_types and n_parse_types != sum(map(block.count, _USUAL)):
            block = _with_parse_types(block)
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
            match = _DECLARATION.match(block, start, start + _MAX_DECLARATION_BYTES)
            if match is None:
                raise _refusal("it is too long, or cannot be read")
            parts += block[done:start], self._declare(match)
            done = match.end()
        parts.append(block[done:])
        return b"".join(parts)

    def _declare(self, match: re.Match[bytes]) -> bytes:
        name = match["name"]
        if match["parameter"]:
            self._absent.add(b"%%%s;" % name)
            return b""
        value = match["double"] if match["single"] is None else match["single"]
        if match["external"] or b"<" in value:
            self._absent.add(b"&%s;" % name)
            self._on_mark()
            value = MARK_BYTES
        elif b"&" in value:
            value = _REFERENCE.sub(lambda x: self._values.get(x[1], x[0]), value)
        self._n_bytes += len(value)
        if len(value) > MAX_VALUE_BYTES or self._n_bytes > MAX_ALL_VALUES_BYTES:
            raise _refusal("it is too long")
        # The parser only supports double quotes.
        value = value.replace(b'"', b"&#34;")
        value = self._values.setdefault(name, value)  # the first one counts
        return b'<!ENTITY %s "%s">' % (name, value)

    def _note_references(self, block: bytes) -> None:
        for each in self._absent:
            if (n_references := block.count(each)) and self._log is not None:
                detail = f"{each.decode()} is external, a parameter or markup: not read"
                self._log.note(Reason.ENTITY_EXPANSION, detail, n_references)

    def _with_new_namespace(self, block: bytes) -> bytes:
        if self._log is not None:
            self._log.note(Reason.REPAIRED, "the namespace of a draft of RDF")
        return _OLD_NAMESPACE.sub(RDF.encode(), block, count=1)

    def _count(self, markup: bytes, begin: int, end: int) -> None:
        n_ends = markup.count(b"</", begin, end + 1)
        n_starts = markup.count(b"<", begin, end) - n_ends
        n_starts -= markup.count(b"/>", begin, end + 1)
        self.depth = max(self.depth + n_starts - n_ends, 0)
        if self.depth > MAX_XML_DEPTH:
            detail = f"nested deeper than {MAX_XML_DEPTH} levels"
            raise SourceFault(Reason.SYNTAX, detail)


def _with_parse_types(block: bytes) -> bytes:
    """Return the text with other values of `rdf:parseType` read as Literal.

    Source: RDF/XML section 7.2.20; the parser leaves their statements out.
    """

    def replaced(match: re.Match[bytes]) -> bytes:
        before = block[max(0, match.start() - _MAX_DECLARATION_BYTES) : match.start()]
        return b'parseType="Literal"' if _IN_TAG.search(before) else match[0]

    return _PARSE_TYPE.sub(replaced, block)


def _refusal(why: str) -> SourceFault:
    return SourceFault(Reason.ENTITY_EXPANSION, f"entity declaration refused: {why}")
