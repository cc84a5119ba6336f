"""Screen of XML before it is parsed: depth, entities, and forms of old RDF/XML."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.namespaces import RDF
from rdfcrawl.rdf.text import MARK_BYTES

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog

MAX_VALUE_BYTES = 1024
MAX_ALL_VALUES_BYTES = 64 * 1024
_MAX_DECLARATION_BYTES = 2 * MAX_VALUE_BYTES

_ENTITY = b"<!ENTITY"
_DECLARATION = re.compile(
    rb"<!ENTITY\s+(?P<parameter>%\s*)?(?P<name>[^\s%\"'<>&;]+)\s+"
    rb"(?P<external>(?:SYSTEM|PUBLIC\s+(?:\"[^\"]*\"|'[^']*'))\s+)?"
    rb"(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)')(?:\s+NDATA\s+[^\s>]+)?\s*>"
)
# Without quotation marks, or with one that is missing: up to the end of its line or tag
_BAD_DECLARATION = re.compile(rb"<!ENTITY[^<>\n]{0,2000}+>?+")
_PLAIN_DECLARATION = re.compile(rb"<!ENTITY\s+([\w.-]+)\s+\"([^\"&<%]*+)\"\s*+>")
_IN_DTD = re.compile(rb"<!--.*?(?:-->|\Z)|<!ENTITY", re.DOTALL)
# A reference between declarations
_PARAMETER = re.compile(rb"<!--.*?(?:-->|\Z)|%([^\s%&;<>\"']+);", re.DOTALL)
_CHARACTER = re.compile(rb"&#(?:(\d{1,6})|[xX]([0-9A-Fa-f]{1,5}));")
_MAX_PARAMETER_DEPTH: Final = 8
_ESCAPED_AMP = re.compile(rb"&#(?:38|[xX]26);(?=#?\w+;)")
_REFERENCE = re.compile(rb"&([^\s&;#<>\"']+);")
_USUAL_NAMESPACE: Final = f'xmlns:rdf="{RDF}"'.encode()
_BAD_NAMESPACE = re.compile(
    rb"http://www\.w3\.org/(?:TR/)?(?:WD|1999/PR|PR)-rdf-syntax(?:-19990105)?#"
    rb"|https://www\.w3\.org/1999/02/22-rdf-syntax-ns#"
    rb"|https?://www\.w3\.org/1999/02/22-rdf-syntax-ns/?(?=[\"'])"
)
# The RDF/XML parser takes quadratic time: 0.4 s for 8,000 levels, more than a minute
# for 100,000.
MAX_XML_DEPTH: Final = 4000
_HEAD_BYTES: Final = 16 * 1024  # with the declarations
_STEP_BYTES: Final = 16 * 1024  # between two checks of the depth
# An unterminated construct continues in the next block; each byte is scanned once.
ASIDE = re.compile(
    rb"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)", re.DOTALL
)
# An outline keeps delimiters, letters by which attributes of RDF differ, and the case.
_KEPT: Final = b"<>/:=\"'!?\n\tbdgpuyABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LEFT_OUT: Final = bytes(set(range(256)) - set(_KEPT))
_OUTLINE: Final = bytes.maketrans(b"\tABCDEFGHIJKLMNOPQRSTUVWXYZ", b"\n" + b"A" * 26)


class XmlScreen:
    """Screen of nesting depth and entities.

    The RDF/XML parser expands internal entities, wherever the document declares them.
    Ontologies use them to shorten namespaces, so entities of a short text are replaced
    by it. An external entity is never fetched: `MARK` is in its place, `on_mark` is
    called, and each reference is logged. Internal parameter entities are replaced by
    the declarations in them; declarations that cannot be read are left out.

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
        self._parameters: dict[bytes, bytes] = {}
        self._parameter_depth = self._n_parameter_bytes = 0
        self._is_begun = False

    def feed(self, block: bytes, is_last: bool) -> bytes:
        """Return the text of the blocks so far that may be parsed.

        Raises:
            SourceFault: `ENTITY_EXPANSION`: entities that grow; `SYNTAX`: nested
                deeper than `MAX_XML_DEPTH`.
        """
        block, self._rest = self._rest + block, b""
        if not is_last:
            start = block.rfind(b"<")
            if not 0 <= start >= len(block) - _MAX_DECLARATION_BYTES:
                start = len(block) - block.endswith(b"\r")
            block, self._rest = block[:start], block[start:]
        if b"\r" in block:  # XML 1.0 section 2.11
            block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if (
            not self._is_begun
            and block.find(_USUAL_NAMESPACE, 0, _HEAD_BYTES) < 0
            and _BAD_NAMESPACE.search(block, 0, _HEAD_BYTES)
        ):
            block = self._with_right_namespace(block)
        if b"!" in block and _ENTITY in block:
            block = self._check(block)
        if self._absent:
            self._note_references(block)
        block = self._screened(block, is_last=is_last)
        self._is_begun = True
        return block

    def _screened(self, block: bytes, *, is_last: bool) -> bytes:
        """Check the depth; return the block, which other classes may change."""
        del is_last
        outline = outline_of(block)
        if b"!" in outline and b"<!" in outline:
            block_without = without_comments(block)
            self._check_depth(block_without, outline_of(block_without))
        else:
            self._check_depth(block, outline)
        return block

    def _check(self, block: bytes) -> bytes:
        last = block.rfind(_ENTITY)
        return (
            block
            if self._are_plain(block, last)
            else self._with_declarations(block, last)
        )

    def _with_declarations(self, block: bytes, last: int) -> bytes:
        """Return the text with all declarations as the parser reads them.

        `last` is where the last one begins.
        """
        parts: list[bytes] = []
        done = at = 0
        while at <= last and (found := _IN_DTD.search(block, at)):
            start, at = found.span()
            if found[0] != _ENTITY:
                if _ENTITY in found[0]:  # the parser would read it in a comment
                    parts.append(self._with_parameters(block[done:start]))
                    done = at
                continue
            parts.append(self._with_parameters(block[done:start]))
            if match := _DECLARATION.match(block, start):
                parts.append(self._declare(match))
            elif match := _BAD_DECLARATION.match(block, start):
                self._note_bad(match[0])
            else:
                raise _refusal("it is too long")
            done = at = match.end()
        if self._parameters and (end := block.find(b"]", done)) >= 0:
            parts.append(self._with_parameters(block[done:end]))
            done = end
        parts.append(block[done:])
        return b"".join(parts)

    def _with_parameters(self, text: bytes) -> bytes:
        """Return a text between declarations with those of parameter entities."""
        return _PARAMETER.sub(self._parameter, text) if self._parameters else text

    def _parameter(self, found: re.Match[bytes]) -> bytes:
        value = self._parameters.get(found[1])
        if value is None:
            return found[0]
        self._n_parameter_bytes += len(value)
        is_deep = self._parameter_depth == _MAX_PARAMETER_DEPTH
        if is_deep or self._n_parameter_bytes > MAX_ALL_VALUES_BYTES:
            if self._log is not None:
                detail = f"{found[0][:100].decode(errors='replace')} grows too long"
                self._log.note(Reason.ENTITY_EXPANSION, detail)
            return b""
        self._parameter_depth += 1
        text = self._with_declarations(value + b"]", value.rfind(_ENTITY))[:-1]
        self._parameter_depth -= 1
        return text

    def _are_plain(self, block: bytes, last: int) -> bool:
        """Note the entities; return whether the parser reads all of them as they are.

        `last` is where the last declaration begins.
        """
        first = block.find(_ENTITY)
        end = last + _MAX_DECLARATION_BYTES
        found = _PLAIN_DECLARATION.findall(block, first, end)
        values = dict(found)
        if (
            self._values
            or end - first > MAX_ALL_VALUES_BYTES
            or not len(values) == len(found) == block.count(_ENTITY, first)
            or block.find(b"<!--", 0, last) >= 0
            or max(map(len, values.values())) > MAX_VALUE_BYTES
        ):
            return False
        self._values = values
        self._n_bytes += sum(map(len, values.values()))
        return True

    def _declare(self, match: re.Match[bytes]) -> bytes:
        name = match["name"]
        value = match["double"] if match["single"] is None else match["single"]
        if match["parameter"]:
            if match["external"] or len(value) > MAX_ALL_VALUES_BYTES:
                self._absent.add(b"%%%s;" % name)
            else:
                value = _CHARACTER.sub(_character, value)  # XML 1.0 section 4.4.5
                self._parameters.setdefault(name, value)
            return b""
        n_written = max(len(value), MAX_VALUE_BYTES)
        if match["external"] or b"<" in value:
            self._absent.add(b"&%s;" % name)
            self._on_mark()
            value = MARK_BYTES
        elif b"&" in value:
            value = _ESCAPED_AMP.sub(b"&", value)  # XML 1.0 section 4.4.2
            value = _REFERENCE.sub(lambda x: self._values.get(x[1], x[0]), value)
        self._n_bytes += len(value)
        if len(value) > n_written or self._n_bytes > MAX_ALL_VALUES_BYTES:
            raise _refusal("it grows too long")
        # The parser only supports double quotes.
        value = value.replace(b'"', b"&#34;")
        value = self._values.setdefault(name, value)  # the first one counts
        return b'<!ENTITY %s "%s">' % (name, value)

    def _note_bad(self, declaration: bytes) -> None:
        if self._log is not None:
            text = declaration[:100].decode(errors="replace")
            self._log.note(Reason.SYNTAX, f"not a declaration: {text}")

    def _note_references(self, block: bytes) -> None:
        for each in self._absent:
            if (n_references := block.count(each)) and self._log is not None:
                name = each.decode(errors="replace")
                detail = f"{name} is external or markup: not read"
                self._log.note(Reason.ENTITY_EXPANSION, detail, n_references)

    def _with_right_namespace(self, block: bytes) -> bytes:
        if self._log is not None:
            self._log.note(Reason.REPAIRED, "a wrong namespace of RDF")
        return _BAD_NAMESPACE.sub(RDF.encode(), block, count=1)

    def _check_depth(self, markup: bytes, outline: bytes) -> None:
        """Count the elements of text without comments."""
        counted, is_alike = outline, b"</>" in outline
        if is_alike:  # `</a>` and perhaps `<a/>`
            n_alike = outline.count(b"</>")
            n_other = outline.count(b"/>") - n_alike
            if markup.count(b"/>") != n_other:
                counted, is_alike = markup, False
        for begin in range(0, len(counted), _STEP_BYTES):
            n = n_open(counted, begin, begin + _STEP_BYTES)
            if is_alike:
                n += counted.count(b"</>", begin, begin + _STEP_BYTES + 2)
            self.depth = max(self.depth + n, 0)
            if self.depth > MAX_XML_DEPTH:
                detail = f"nested deeper than {MAX_XML_DEPTH} levels"
                raise SourceFault(Reason.SYNTAX, detail)


def outline_of(text: bytes) -> bytes:
    """Return the delimiters of a text and few letters, which are searched faster.

    Any letter in upper case is an `A`.
    """
    return text.translate(_OUTLINE, _LEFT_OUT)


def without_comments(text: bytes) -> bytes:
    """Return text without comments, CDATA and processing instructions."""
    return ASIDE.sub(b"", text)


def n_open(text: bytes, begin: int, end: int) -> int:
    """Return how many more start tags than end tags begin in a part of a text.

    Text without comments and instructions; declarations are no tags.
    """
    n = text.count(b"<", begin, end) - text.count(b"/>", begin, end + 1)
    n -= 2 * text.count(b"</", begin, end + 1)
    if text.find(b"!", begin, end) >= 0:
        n -= text.count(b"<!", begin, end + 1)
    if text.find(b"?", begin, end) >= 0:
        n -= text.count(b"<?", begin, end + 1)
    return n


def _character(found: re.Match[bytes]) -> bytes:
    code = int(found[1] or found[2], 10 if found[1] else 16)
    return chr(code).encode("utf-8", "replace")


def _refusal(why: str) -> SourceFault:
    return SourceFault(Reason.ENTITY_EXPANSION, f"entity declaration refused: {why}")
