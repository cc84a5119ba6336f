"""XML literals of RDF/XML as text, by exclusive canonicalization with comments.

lxml writes all literals of a block at once. Expat reads them one by one if lxml refuses
one, or if other elements than the root and those of literals declare what it may use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Final, NamedTuple
from xml.parsers import expat

from lxml import etree

from rdfcrawl.core.namespaces import RDF
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
    rb"\sxmlns(?::[\w.-]++)?+\s*+=\s*+(?:\"[^\"&<\s]++\"|'[^'&<\s]++')"
)
_NAME = re.compile(rb"\s(xmlns(?::[\w.-]++)?+)\s*+=")
_ATTRIBUTES: Final = (
    rb"(?:\s++(?!rdf:parseType)[^\s=<>\"']++=(?:\"[^\"<]*+\"|'[^'<]*+'))*+"
)
# Content that is well-formed ends at the first end tag of this name.
_LITERAL = re.compile(
    rb"(<([A-Za-z][\w.:-]*+)(?! rdf:about)%b\srdf:)%b(%b\s*+/?+>)"
    rb"(?:(?<=/>)|([^<]*+(?:<(?!/\2\s*+>)[^<]*+)*+))"
    % (_ATTRIBUTES, LITERAL, _ATTRIBUTES)
)
_N_PARTS: Final = 5  # text outside, two parts of a tag and its name between, content
_NOT_TEXT = re.compile(rb"[<>&\x00-\x08\x0b\x0c\x0e-\x1f\xef]")
# Elements around literals, and their end after all have been escaped
_ROOT: Final = b'<_.:all xmlns:_.="urn:x"%b><_.:one%b</_.:one></_.:all>'
_NEXT: Final = b"</_.:one><_.:one"
_BEGIN: Final = b'&lt;_.:all xmlns:_.="urn:x"&gt;&lt;_.:one&gt;'
_BETWEEN: Final = b"&lt;/_.:one&gt;&lt;_.:one&gt;"
_END: Final = b"&lt;/_.:one&gt;&lt;/_.:all&gt;"
_PARSER: Final = etree.XMLParser(resolve_entities=False)
_MAX_BULK_BYTES: Final = 256 * 1024  # of a literal that is cut
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
        self._bulk: _BulkWriter | None = None
        self._is_bulk = True
        # Text with literals as text, which the parser sees before another one.
        self._unseen: list[bytes] = []
        self._n_unseen = 0

    def feed(self, block: bytes, *, is_last: bool) -> tuple[bytes, bytes]:
        """Return the text with literals as text, and the same for checks of its tags.

        The latter may lack the text of literals.

        Raises:
            MendingNeeded: not well-formed, or a literal that is too long.
        """
        text, self._rest = self._rest + block, b""
        try:
            if self._is_bulk:
                self._bulk = self._bulk or _BulkWriter(text)
                if written := self._bulk.write(text, is_last=is_last):
                    self._rest = written.rest
                    self._note_unseen(written.text)
                    return written.text, written.tags
                self._is_bulk = False
                self._see()
            parts = [*self._parts(text, is_last=is_last)]
        except expat.ExpatError as error:
            raise MendingNeeded from error
        if len(self._rest) > _MAX_REST_BYTES:
            raise MendingNeeded
        text = b"".join(parts)
        return text, text

    def _parts(self, text: bytes, *, is_last: bool) -> Iterator[bytes]:
        at = 0
        while True:
            if self._content is None:
                tag = _literal_tag(text, at)
                end = tag.start() if tag else _end_of_tags(text, at, is_last=is_last)
                self._parser.Parse(text[at:end])
                yield text[at:end]
                if tag is None:
                    self._rest = text[end:]
                    return
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
    def _parser(self) -> expat.XMLParserType:
        parser = expat.ParserCreate("utf-8", SEPARATOR)
        parser.namespace_prefixes = True
        parser.buffer_text = True
        return parser

    def _note_unseen(self, text: bytes) -> None:
        self._unseen.append(text)
        self._n_unseen += len(text)
        if self._n_unseen > _MAX_UNSEEN_BYTES:
            self._see()

    def _see(self) -> None:
        self._parser.Parse(b"".join(self._unseen))
        self._unseen.clear()
        self._n_unseen = 0

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


class _Written(NamedTuple):
    """Text with literals as text, the same without these, and what follows."""

    text: bytes
    tags: bytes
    rest: bytes


class _BulkWriter:
    """Writer of many literals by one call of lxml.

    Args:
        text: the beginning of the document, with its root.
    """

    def __init__(self, text: bytes) -> None:
        root = ROOT.search(text, 0, HEAD_BYTES)
        self._n_root = root.end() if root else 0  # bytes up to the end of its tag
        self._namespaces = _namespaces_of(root[0]) if root else None

    def write(self, text: bytes, *, is_last: bool) -> _Written | None:
        """Return text with literals as text, and the rest of it, which is cut.

        None if literals are not known to be well-formed.
        """
        parts = _LITERAL.split(text)
        rest = b"" if is_last else _cut_off(parts)
        if len(rest) > _MAX_BULK_BYTES or not self._is_known(parts[::_N_PARTS]):
            return None
        self._n_root = 0
        contents = [content or b"" for content in parts[4::_N_PARTS]]
        canonical = self._canonical(contents, parts[1::_N_PARTS], parts[3::_N_PARTS])
        if canonical is None:
            return None
        parts[2::_N_PARTS] = [_DATATYPE] * len(contents)
        parts[4::_N_PARTS] = [b""] * len(contents)
        tags = b"".join(parts)
        parts[4::_N_PARTS] = canonical
        return _Written(b"".join(parts), tags, rest)

    def _is_known(self, outside: list[bytes]) -> bool:
        """Return whether all literals were found, and all namespaces are known."""
        text, begin = b"".join(outside), self._n_root
        return (
            self._namespaces is not None
            and begin <= len(outside[0])
            and LITERAL not in text
            and self._leaves_names(text[begin:])
            and (
                (b"!" not in text and text.count(b"?") == text.count(b"?", 0, begin))
                or all(map(_has_comments_alone, (outside[0][begin:], *outside[1:])))
            )
        )

    def _leaves_names(self, text: bytes) -> bool:
        """Return whether elements of a text only declare prefixes unknown to the root.

        If a literal uses one of them, it is not well-formed without them.
        """
        if not (n_declared := _n_declared(text)):
            return True
        names = _NAME.findall(text)
        known = _NAME.findall(self._namespaces or b"")
        return len(names) == n_declared and not {b"xmlns", *known} & {*names}

    def _canonical(
        self, contents: list[bytes], *tags: list[bytes]
    ) -> list[bytes] | None:
        """Return the escaped canonical form of contents, for the tags around them."""
        joined, names = b"".join(contents), b"".join(map(b"".join, tags))
        if b"xmlns:rdf" in names or b"_.:" in joined:
            return None
        if not _NOT_TEXT.search(joined):
            return contents
        elements = b">" + (_NEXT + b">").join(contents)
        if n_declared := _n_declared(names):
            starts = [
                b"".join(_DECLARED.findall(b"".join(tag)))
                for tag in zip(*tags, strict=True)
            ]
            if n_declared != sum(map(_n_declared, starts)):
                return None
            elements = _NEXT.join(map(b">".join, zip(starts, contents, strict=True)))
        try:
            root = etree.fromstring(_ROOT % (self._namespaces, elements), _PARSER)
            xml: bytes = etree.tostring(
                root, method="c14n", exclusive=True, with_comments=True
            )
        except etree.LxmlError:
            return None
        xml = xml.replace(b"&", b"&amp;").replace(b"<", b"&lt;").replace(b">", b"&gt;")
        return xml[len(_BEGIN) : -len(_END)].split(_BETWEEN)


def _cut_off(parts: list[bytes]) -> bytes:
    """Remove a literal or tag that is cut from the end of a text, and return it."""
    if len(parts) > 1 and not parts[-1]:  # no end tag follows
        begin, _, end, content, _ = parts[-_N_PARTS:]
        del parts[-_N_PARTS:]
        return b"".join((begin, LITERAL, end, content or b""))
    last = parts[-1]
    n_complete = _end_of_tags(last, 0, is_last=False)
    parts[-1] = last[:n_complete]
    return last[n_complete:]


def _has_comments_alone(text: bytes) -> bool:
    """Return whether no comment is cut, and nothing else may have tags as text."""
    n_asides = text.count(b"<!") + text.count(b"<?")
    is_closed = text.rfind(b"<!--") < text.rfind(b"-->")
    return not n_asides or (is_closed and n_asides == text.count(b"<!--"))


def _n_declared(text: bytes, begin: int = 0) -> int:
    """Return how many namespaces a text may declare; that of FOAF is at `xmlns.com`."""
    n = text.count(b"xmlns", begin)
    return n and n - text.count(b"xmlns.", begin)


@lru_cache(maxsize=64)
def _namespaces_of(root: bytes) -> bytes | None:
    """Return the namespaces that a root declares; None if not all are known."""
    found = _DECLARED.findall(root)
    is_known = len(found) == _n_declared(root) and _ROOT_NAMESPACE in root
    return b"".join(found) if is_known else None


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
