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
from rdfcrawl.rdf.canonical_tags import Namespaces, canonical_content
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
    """

    def __init__(self) -> None:
        self._rest = b""
        self._content: XmlContent | None = None  # of the open literal
        self._is_closed = False
        self._end = _end_of(b"")
        # Text without plain literals, which the parser sees before another one.
        self._unseen: list[bytes] = []
        self._n_unseen = 0
        # Tags of plain literals: as those of typed literals, and their end tags
        self._alike: dict[bytes, tuple[bytes, bytes]] = {}
        self._n_run = 0  # bytes of the last run of plain literals
        self._has_root = False
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
                    typed = tag[0].replace(LITERAL, _DATATYPE, 1)
                    self._alike[tag[0]] = typed, b"</%s>" % tag["name"]
                    yield typed
                    yield _escaped(plain[0])
                    at = plain[1]
                    yield from self._plain_run(text, at)
                    at += self._n_run
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

    def _plain_run(self, text: bytes, begin: int) -> Iterator[bytes]:
        """Yield text with plain literals like those before, up to another one."""
        at, self._n_run = begin, 0
        while self._n_unseen < _MAX_UNSEEN_BYTES:
            end = text.find(LITERAL, at) + len(LITERAL) + 1
            start = text.rfind(b"<", at, end)
            tag, before = text[start:end], text[at:start]
            known = self._alike.get(tag)
            if known is None or start < 0 or b"xmlns" in before or b"<!" in before:
                return
            stop = text.find(known[1], end, end + _MAX_PLAIN_BYTES)
            content = self._canonical(text[end:stop])
            if stop < 0 or content is None:
                return
            self._unseen += before, tag
            self._n_unseen += end - at
            yield b"".join((before, known[0], _escaped(content)))
            at = stop
            self._n_run = at - begin

    def _pass(self, text: bytes) -> None:
        """Note text outside of literals."""
        self._unseen.append(text)
        if not self._has_root:
            self._has_root = True
            root = ROOT.search(text, 0, HEAD_BYTES)
            tag = root[0] if root else b""
            self._namespaces = _namespaces_of(tag)
            text = text.replace(tag, b"", 1)
        if b"xmlns" in text:
            self._namespaces = None
        if b"<!" in text:  # comments may have tags of literals
            is_closed = text.rfind(b"<!--") < text.rfind(b"-->")
            if not is_closed or text.count(b"<!") != text.count(b"<!--"):
                self._namespaces = None
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
            or b"xmlns" in start
            or start.endswith(b"/>")
        ):
            return None
        end = text.find(b"</%s>" % name, tag.end(), tag.end() + _MAX_PLAIN_BYTES)
        content = self._canonical(text[tag.end() : end]) if end >= 0 else None
        return None if content is None else (content, end)

    def _canonical(self, content: bytes) -> bytes | None:
        known = self._namespaces
        return None if known is None else canonical_content(content, known)

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


def _escaped(text: bytes) -> bytes:
    return (
        text.replace(b"&", b"&amp;").replace(b"<", b"&lt;").replace(b">", b"&gt;")
        if b"<" in text or b"&" in text
        else text
    )


def _namespaces_of(tag: bytes) -> Namespaces | None:
    """Return the namespaces that a root declares; None if not all are known."""
    found = _DECLARED.findall(tag)
    is_known = len(found) == tag.count(b"xmlns") and _ROOT_NAMESPACE in tag
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
