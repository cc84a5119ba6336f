"""XML literals of RDF/XML as text, by exclusive canonicalization with comments.

Most literals have few and plain tags, which need no parser: see `canonical_tags`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Final
from xml.parsers import expat

from rdfcrawl.core.namespaces import RDF
from rdfcrawl.rdf.canonical_tags import (
    PLAIN_TAG,
    PLAIN_TEXT,
    Namespaces,
    canonical_content,
    plain_content,
)
from rdfcrawl.rdf.trix import SEPARATOR, XmlContent

START = re.compile(
    rb"<(?P<name>[^\W\d][^\s<>/=\"']*+)(?>[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*+>"
)
HEAD_BYTES: Final = 32 * 1024
ROOT = re.compile(rb"<(?:[\w.-]+:)?RDF(?=[\s>])[^<>]*+>")
LITERAL: Final = b'parseType="Literal"'
_PARSE_TYPE_NAME: Final = SEPARATOR.join((RDF, "parseType"))
_DATATYPE: Final = f'datatype="{RDF}XMLLiteral"'.encode()
_ROOT_NAMESPACE: Final = f' xmlns:rdf="{RDF}"'.encode()
_DECLARED = re.compile(
    rb"\sxmlns(?::([\w.-]++))?+\s*+=\s*+(?:\"([^\"&<\s]++)\"|'([^'&<\s]++)')"
)
# No other literal is inside, so each byte is looked at once.
_PLAIN_LITERAL = re.compile(
    rb"<([A-Za-z][\w.:-]*+) rdf:%b>"
    rb"((?>%b|&(?:amp|lt|gt);|<(?!/\1>|[\w.:-]++ rdf:parseType)%b>)*+)(?=</\1>)"
    % (LITERAL, PLAIN_TEXT, PLAIN_TAG)
)
_PLAIN_TEXT = re.compile(
    rb"<([A-Za-z][\w.:-]*+) rdf:%b>(?:%b)?+</\1>" % (LITERAL, PLAIN_TEXT)
)
_MAX_PLAIN_BYTES: Final = 64 * 1024
_MAX_UNSEEN_BYTES: Final = 4 * 2**20
_MAX_LITERAL_CHARS: Final = 16 * 2**20
_MAX_REST_BYTES: Final = 4 * 2**20
_ESCAPED: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})


class MendingNeeded(Exception):
    """The strict parser would leave something out without an error."""


class LiteralScreen:
    """Writer of XML literals as text, by exclusive canonicalization with comments.

    Source: RDF/XML section 7.2.17.

    Attributes:
        is_mixed: not all literals are plain.
    """

    def __init__(self) -> None:
        self.is_mixed = False
        self._rest = b""
        self._content: XmlContent | None = None  # of the open literal
        self._is_closed = False
        self._end = _end_of(b"")
        # Text without plain literals, which the parser sees before another one.
        self._unseen: list[bytes] = []
        self._n_unseen = 0
        self._has_root = False
        self._n_root = 0  # bytes before the end of the tag of the root, if they follow
        # Of the root, if no other element has declared any.
        self._namespaces: Namespaces | None = None

    def feed(self, block: bytes, *, is_last: bool) -> bytes:
        """Return the text with literals as text.

        Raises:
            MendingNeeded: not well-formed, or a literal that is too long.
        """
        text, self._rest = self._rest + block, b""
        try:
            parts = [*self._parts(text, is_last=is_last)]
        except expat.ExpatError as error:
            raise MendingNeeded from error
        if len(self._rest) > _MAX_REST_BYTES:
            raise MendingNeeded
        return b"".join(parts)

    def _parts(self, text: bytes, *, is_last: bool) -> Iterator[bytes]:
        at = 0
        if self._content is None and (plain := self._plain_part(text)):
            yield plain[0]
            at = plain[1]
        while True:
            if self._content is None:
                tag = _literal_tag(text, at)
                end = tag.start() if tag else _end_of_tags(text, at, is_last=is_last)
                self._pass(text[at:end])
                yield text[at:end]
                if tag is None:
                    self._rest = text[end:]
                    return
                if plain := self._plain_content(text, tag):
                    self._unseen.append(tag[0])
                    yield tag[0].replace(LITERAL, _DATATYPE, 1)
                    yield plain[0]
                    at = plain[1]
                    continue
                self._see()
                yield self._open(tag)
                at = tag.end()
            else:
                found = self._end.search(text, at)
                end = found.end() if found else max(text.rfind(b"<", at), at)
                self._parser.Parse(text[at:end])
                if self._content.n_chars > _MAX_LITERAL_CHARS:
                    raise MendingNeeded
                if self._is_closed and found:
                    yield self._content.markup().translate(_ESCAPED).encode() + found[0]
                    self._content = None
                elif found is None:
                    if is_last:
                        raise MendingNeeded
                    self._rest = text[end:]
                    return
                at = end

    @cached_property
    def _parser(self) -> expat.XMLParserType:  # not for plain literals alone
        parser = expat.ParserCreate("utf-8", SEPARATOR)
        parser.namespace_prefixes = True
        parser.buffer_text = True
        return parser

    def _plain_part(self, text: bytes) -> tuple[bytes, int] | None:
        """Return the text before the last literal, if all in it are plain, and its end.

        Otherwise literals are read one by one.
        """
        self._look_at_root(text)
        if self.is_mixed:
            return None
        end = text.rfind(b"<", 0, max(text.rfind(LITERAL), 0))
        namespaces = self._namespaces
        part = text[: max(end, 0)]
        if not part or namespaces is None or (b"!" in part and b"<!" in part):
            return None
        new = _typed(part, namespaces, part.count(LITERAL), self._n_root)
        if new is None:
            return None
        self._n_root = 0
        self._note_unseen(new)
        return new, end

    def _look_at_root(self, text: bytes) -> None:
        if not self._has_root:
            self._has_root = True
            if root := ROOT.search(text, 0, HEAD_BYTES):
                self._namespaces, self._n_root = _namespaces_of(root[0]), root.end()

    def _pass(self, text: bytes) -> None:
        """Note text outside of literals."""
        self._look_at_root(text)
        if _n_declared(text, self._n_root):
            self._namespaces = None
        self._n_root = 0
        if b"<!" in text:  # comments may have tags of literals
            is_closed = text.rfind(b"<!--") < text.rfind(b"-->")
            if not is_closed or text.count(b"<!") != text.count(b"<!--"):
                self._namespaces = None
        self._note_unseen(text)

    def _note_unseen(self, text: bytes) -> None:
        self._unseen.append(text)
        self._n_unseen += len(text)
        if self._n_unseen > _MAX_UNSEEN_BYTES:
            self._see()

    def _see(self) -> None:
        self._parser.Parse(b"".join(self._unseen))
        self._unseen.clear()
        self._n_unseen = 0

    def _plain_content(
        self, text: bytes, tag: re.Match[bytes]
    ) -> tuple[bytes, int] | None:
        """Return the canonical content of a plain literal and its end, else None."""
        name, start = tag["name"], tag[0]
        if (
            self._namespaces is None
            or b" rdf:" + LITERAL not in start
            or _n_declared(start)
            or start.endswith(b"/>")
        ):
            return None
        end = text.find(b"</%s>" % name, tag.end(), tag.end() + _MAX_PLAIN_BYTES)
        content = (
            canonical_content(text[tag.end() : end], self._namespaces)
            if end >= 0
            else None
        )
        return None if content is None else (content, end)

    def _open(self, tag: re.Match[bytes]) -> bytes:
        """Parse a start tag, and return the one of a typed literal in its place."""
        parser = self._parser
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._leave
        self._is_closed = False
        parser.Parse(tag[0])
        if self._content is None:  # of another namespace, or in a comment
            parser.StartElementHandler = parser.EndElementHandler = None
            return tag[0]
        parser.StartElementHandler = self._content.start
        self._end = _end_of(tag["name"])
        if self._is_closed:
            self._content = parser.StartElementHandler = None
        return tag[0].replace(LITERAL, _DATATYPE, 1)

    def _start(self, _name: str, attributes: dict[str, str]) -> None:
        for name, value in attributes.items():
            if value == "Literal" and name.startswith(_PARSE_TYPE_NAME):
                content = self._content = XmlContent()
                parser = self._parser
                parser.CharacterDataHandler = content.text
                parser.CommentHandler = content.comment
                parser.ProcessingInstructionHandler = content.instruction

    def _leave(self, _name: str) -> None:
        if self._content is None:
            return
        if self._content.depth:
            self._content.end()
            return
        self._is_closed = True
        parser = self._parser
        parser.StartElementHandler = parser.EndElementHandler = None
        parser.CharacterDataHandler = parser.CommentHandler = None
        parser.ProcessingInstructionHandler = None


def with_plain_literals(text: bytes, root: bytes) -> bytes | None:
    """Return text behind the root with literals as text; empty if not all are plain.

    None if that is not known, since there is something else.
    """
    tag = ROOT.search(root)
    namespaces = _namespaces_of(tag[0]) if tag else None
    n_literals = text.count(LITERAL)
    if (
        namespaces is None
        or not n_literals
        or n_literals < text.count(b"parseType")
        or (b"!" in text and b"<!" in text)
    ):
        return None
    return _typed(text, namespaces, n_literals, 0) or b""


def _typed(
    text: bytes, namespaces: Namespaces, n_literals: int, n_root: int
) -> bytes | None:
    """Return text with its plain literals as text; None if there are not so many.

    Or if others than the root, of `n_root` bytes, declare namespaces.
    """
    first = text.find(b"<", text.find(LITERAL))
    if (
        text.startswith(b"</", first)
        and len(_PLAIN_TEXT.findall(text)) == n_literals
        and not _n_declared(text, n_root)
    ):
        return text.replace(LITERAL, _DATATYPE)
    writer = _PlainWriter(namespaces)
    new = _PLAIN_LITERAL.sub(writer.write, text)
    n_names = text.count(b"xmlns", n_root) - writer.n_names
    if n_names:  # outside of literals
        n_names -= text.count(b"xmlns.", n_root) - writer.n_dots
    return None if n_names or n_literals != writer.n_written else new


class _PlainWriter:
    """Writer of plain literals as text.

    Attributes:
        n_written: literals.
        n_names: times that they have `xmlns`.
        n_dots: times that a dot follows it.
    """

    def __init__(self, namespaces: Namespaces) -> None:
        self._namespaces = namespaces
        self.n_written = self.n_names = self.n_dots = 0

    def write(self, found: re.Match[bytes]) -> bytes:
        """Return the element of a literal, without its end tag, as a typed one."""
        name, content = found.groups()
        new = plain_content(content, self._namespaces)
        if new is None:
            return found[0]
        if b"xmlns" in content:
            self.n_names += content.count(b"xmlns")
            self.n_dots += content.count(b"xmlns.")
        self.n_written += 1
        return b"<%b rdf:%b>%b" % (name, _DATATYPE, new)


def _n_declared(text: bytes, begin: int = 0) -> int:
    """Return how many namespaces a text may declare; that of FOAF is at `xmlns.com`."""
    n = text.count(b"xmlns", begin)
    return n and n - text.count(b"xmlns.", begin)


@lru_cache(maxsize=64)
def _namespaces_of(tag: bytes) -> Namespaces | None:
    """Return the namespaces that a root declares; None if not all are known."""
    found = _DECLARED.findall(tag)
    is_known = len(found) == _n_declared(tag) and _ROOT_NAMESPACE in tag
    return (
        tuple((name.decode(), (one or two).decode()) for name, one, two in found)
        if is_known
        else None
    )


@lru_cache(maxsize=64)
def _end_of(name: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"</%s\s*>" % re.escape(name))


def _literal_tag(text: bytes, begin: int) -> re.Match[bytes] | None:
    """Return the next start tag of an XML literal."""
    at = begin
    while (at := text.find(LITERAL, at)) >= 0:
        start = text.rfind(b"<", max(begin, at - HEAD_BYTES), at)
        found = START.match(text, start) if start >= 0 else None
        if found and found.end() > at:
            return found
        at += len(LITERAL)
    return None


def _end_of_tags(text: bytes, begin: int, *, is_last: bool) -> int:
    """Return where the last tag begins if it is cut, else the end."""
    start = -1 if is_last else text.rfind(b"<", begin)
    return start if start >= 0 and text.find(b">", start) < 0 else len(text)
