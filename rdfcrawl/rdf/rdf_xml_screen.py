"""Screen of RDF/XML for the strict parser, which reads some documents wrongly.

The parser leaves out attributes at the wrong place, and white space next to comments,
without an error; `MendingNeeded` is raised then, since the mending reader notes such
faults. It also writes XML literals that are not canonical, or not even XML: they become
typed literals before it sees them.

A screen of each document must be fast: outlines find almost all documents without any
of these, and exact checks follow.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import FaultLog, SourceFault
from rdfcrawl.rdf.iris import resolve
from rdfcrawl.rdf.rdf_xml_literals import (
    HEAD_BYTES,
    LITERAL,
    ROOT,
    START,
    LiteralScreen,
    MendingNeeded,
)
from rdfcrawl.rdf.rdf_xml_names import NameScreen
from rdfcrawl.rdf.rdf_xml_stripes import has_stripes
from rdfcrawl.rdf.xml_screen import (
    ASIDE,
    MAX_VALUE_BYTES,
    MAX_XML_DEPTH,
    XmlScreen,
    outline_of,
    without_comments,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfcrawl.rdf.text import Screen

_USUAL_ROOT: Final = b"<rdf:RDF"
_USUAL_TAG = re.compile(rb"<rdf:RDF[\s>]")
_NOT_OF_ROOT = re.compile(
    rb"\s(?!xmlns|xml:|xsi:|its:version|its:dir|[\w.-]+:version)[\w.:-]+\s*=\s*[\"']"
)
_ABSOLUTE_BASE = re.compile(rb"xml:base=\"https?:[^\"&\s]*+\"")
# The parser leaves them in the IRIs of references
_DOTS_IN_BASE = re.compile(rb"xml:base\s*+=\s*+[\"'][^\"'<>]*/\.\.?/")
_RELATIVE_BASE = re.compile(
    rb"(\sxml:base\s*=\s*)(?:\"(?![\w.+-]+:)([^\"&\s]*)\"|'(?![\w.+-]+:)([^'\"&\s]*)')"
)
_ITS = re.compile(rb"xmlns:([\w.-]+)\s*=\s*[\"']http://www\.w3\.org/2005/11/its[\"']")
_VERSION = re.compile(rb":version\s*=\s*[\"']1\.2")
_PARSE_TYPE = re.compile(rb"parseType\s*=\s*(?:\"([^\"<>]*)\"|'([^'<>]*)')")
_KNOWN: Final = frozenset({b"Collection", b"Resource", b"Triple"})
_NOT_BESIDES = re.compile(
    rb"\s(?!xml|[\w.-]+:(?:ID|parseType|annotation(?:NodeID)?)\b)[\w.:-]+\s*="
)
_TAGS = re.compile(rb"<(/?+)(?![!?])((?>[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*+)>")
_NOT_OF_NODE = re.compile(
    rb":(?:resource|datatype|annotation(?:NodeID)?)\s*=|\bbagID\s*="
)
_NOT_OF_PROPERTY = re.compile(rb":(?:about|type)\s*=|\bbagID\s*=")
_IS_NODE = re.compile(rb"parseType\s*=\s*[\"']Resource[\"']")  # a property that is one
_BREAK = re.compile(rb"=(?:\"[^\"\n]*+\n|'[^'\n]*+\n)")
_BREAK_IN_VALUE = re.compile(rb"=\s*(?:\"[^\"<\n\t]*[\n\t]|'[^'<\n\t]*[\n\t])")
_DEFAULT = re.compile(rb"<!ATTLIST\s[^<>]*[\"']")  # of an attribute
_TEXT_AFTER_INSTRUCTION = re.compile(rb"\?>\s*+(?:[^\s<]|</)")
_TEXT_BEFORE_CDATA = re.compile(rb"<!\[CDATA\[(?<!><!\[CDATA\[)")
_TEXT_AFTER_CDATA = re.compile(rb"\]\]>(?!</)")
_MAX_EXACT: Final = 1000  # checks of a block
_LETTERS: Final = b"/:bdgpuyA"  # of outlines
_LITERAL_END: Final = LITERAL.removeprefix(b"parseType") + b">"
_USUAL_ENDS: Final = (b'="Collection">', b'="Resource">', _LITERAL_END)
_ALONE = re.compile(rb"[\w.-]\s[\w.-]++:\Z")  # before the only attribute
_ALONE_BYTES: Final = 12
_TAIL_BYTES: Final = 2048  # with comments behind the root


class LiteralsNeeded(Exception):
    """The first XML literal is in a later block: read again, and follow all blocks."""


class RdfXmlScreen(XmlScreen):
    """Screen of RDF/XML, before the strict parser.

    Args:
        log: of the faults.
        on_mark: see `XmlScreen`.
        base: of the document.
        follows: XML literals may begin in any block.
    """

    def __init__(
        self,
        log: FaultLog,
        on_mark: Callable[[], None],
        *,
        base: str,
        follows: bool = False,
    ) -> None:
        super().__init__(log, on_mark)
        self._base = base
        self._literals = LiteralScreen() if follows else None
        self._names = NameScreen()
        self._is_rdf = False  # the root is rdf:RDF
        self._n_before = 0  # bytes up to the end of its tag
        self._its: list[bytes] = []  # names of attributes that need a version

    def _screened(self, block: bytes, *, is_last: bool) -> bytes:
        """Check the block.

        Raises:
            MendingNeeded: see there.
            LiteralsNeeded: see there.
        """
        begin = 0
        if not self._is_begun:
            block = self._with_root(block)
            begin, self.depth = self._n_before, int(self._is_rdf)
            if _has_defaults(block[:begin]):
                raise MendingNeeded
        self._names.check(block, begin, self._values)
        is_alone = is_last and not self._is_begun and self._is_rdf
        if b"parseType" in block and not self._has_usual_parse_types(block):
            block = self._with_parse_types(block)
        text = block
        if self._literals is not None:
            block, text = self._literals.feed(block, is_last=is_last)
        text = text[begin:] if begin else text
        outline = outline_of(text)
        if _has_rare_values(text, outline) or any(name in text for name in self._its):
            raise MendingNeeded
        if not has_stripes(outline, begins_with_node=self._begins_with_node):
            text = self._checked(text, outline)
            outline = outline_of(text)
        if is_alone and _is_shallow(outline) and _ends_root(text):
            self.depth = 0
        else:
            self._check_depth(text, outline)
        return block

    def _declare(self, match: re.Match[bytes]) -> bytes:
        """Return a declaration; the parser has no bound on references to a long one."""
        if len(match["double"] or match["single"] or b"") > MAX_VALUE_BYTES:
            raise MendingNeeded
        return super()._declare(match)

    @property
    def _begins_with_node(self) -> bool:
        return self.depth % 2 == self._is_rdf

    def _checked(self, text: bytes, outline: bytes) -> bytes:
        """Check unusual text, and return it without asides."""
        markup = text
        if b"!" in outline or b"?" in outline:
            _check_asides(text, outline)
            markup = without_comments(text)
            outline = outline_of(markup)
            if has_stripes(outline, begins_with_node=self._begins_with_node):
                return markup
        if _may_have_break(outline) and _has_break(markup):
            raise MendingNeeded
        self._check_places(markup)
        return markup

    def _with_root(self, block: bytes) -> bytes:
        """Check the root, and resolve its base, which the parser expects."""
        begin = block.find(_USUAL_ROOT, 0, HEAD_BYTES)
        end = block.find(b">", begin) + 1
        tag = block[begin:end]
        if not _USUAL_TAG.match(tag) or b"<" in tag[1:]:
            found = ROOT.search(block, max(begin, 0), HEAD_BYTES)
            if found is None:
                return block
            begin, end = found.span()
            tag = found[0]
        self._is_rdf, self._n_before = True, end
        if b"/." in tag and _DOTS_IN_BASE.search(tag):
            raise MendingNeeded
        n_others = tag.count(b"=") - tag.count(b"xmlns:") - tag.count(b"xmlns=")
        if n_others:
            n_others -= len(_ABSOLUTE_BASE.findall(tag))
        if b"/its" in tag and not _VERSION.search(tag):
            self._its = [prefix + b":dir" for prefix in _ITS.findall(tag)]
        if not n_others:
            return block
        if _NOT_OF_ROOT.search(tag) or _BREAK_IN_VALUE.search(tag):
            raise MendingNeeded
        if base := _RELATIVE_BASE.search(tag):
            value = (base[2] or base[3] or b"").decode()
            try:
                new = resolve(value.partition("#")[0], self._base)
            except ValueError:
                raise MendingNeeded from None
            tag = b'%s%s"%s"%s' % (
                *(tag[: base.start()], base[1]),
                *(new.replace("&", "&amp;").encode(), tag[base.end() :]),
            )
            self._n_before = begin + len(tag)
            return block[:begin] + tag + block[end:]
        return block

    def _with_parse_types(self, block: bytes) -> bytes:
        """Return the text with other values of `rdf:parseType` read as Literal.

        Source: RDF/XML section 7.2.20; the parser leaves their statements out.
        """
        parts: list[bytes] = []
        done = 0
        for found in _PARSE_TYPE.finditer(block):
            tag = _tag_around(block, found.start())
            if not tag or block[found.start() - 1] not in b": \n\t":
                continue
            value = found[1] or found[2] or b""
            is_unknown = value == b"Triple" and not _VERSION.search(block)
            if is_unknown or _NOT_BESIDES.search(tag):
                raise MendingNeeded
            if value not in _KNOWN:
                if self._literals is None and self._is_begun:
                    raise LiteralsNeeded
                self._literals = self._literals or LiteralScreen()
                if found[0] != LITERAL:
                    parts += block[done : found.start()], LITERAL
                    done = found.end()
        return b"".join((*parts, block[done:])) if parts else block

    def _has_usual_parse_types(self, block: bytes) -> bool:
        """Return whether the parser knows all values of `rdf:parseType`.

        For XML literals, the screen of them is set.
        """
        parts = block.split(b"parseType")
        before = {part[-_ALONE_BYTES:] for part in parts[:-1]}
        is_usual = all(part.startswith(_USUAL_ENDS) for part in parts[1:])
        if not is_usual or not all(map(_ALONE.search, before)):
            return False
        has_literals = any(part.startswith(_LITERAL_END) for part in parts[1:])
        if has_literals and self._literals is None:
            if self._is_begun:
                raise LiteralsNeeded
            self._literals = LiteralScreen()
        return True

    def _check_places(self, markup: bytes) -> None:
        """Refuse attributes of nodes at properties, and of properties at nodes."""
        is_node = self._begins_with_node
        is_typed = False  # a node may not follow
        opened: list[bool] = []  # whether a property is a node
        for end, tag in _TAGS.findall(markup):
            if end:
                is_node ^= not (opened and opened.pop())
                is_typed = False
                continue
            not_here = _NOT_OF_NODE if is_node else _NOT_OF_PROPERTY
            is_both = False
            if is_typed or (b"=" in tag and not_here.search(tag)):
                raise MendingNeeded
            if b"=" in tag and not is_node:
                is_typed = b":datatype" in tag
                is_both = _IS_NODE.search(tag) is not None
                if is_typed and b":resource" in tag:
                    raise MendingNeeded
            if tag.endswith(b"/"):
                is_typed = False
            else:
                opened.append(is_both)
                is_node ^= not is_both


def screened_strictly(text: bytes, *, base: str) -> bytes | None:
    """Return the text of a document for the strict parser; None if it has any fault."""
    log = FaultLog()
    screen = RdfXmlScreen(log, _refuse, base=base)
    try:
        screened = screen.feed(text, True)
    except (MendingNeeded, LiteralsNeeded, SourceFault):
        return None
    return None if screen.depth or log.all() else screened


def _refuse() -> None:
    raise MendingNeeded


class XmlScreens:
    """Maker of a screen for each stream of a document.

    Attributes:
        is_strict: the strict parser of RDF/XML is next.
        follows_literals: see `RdfXmlScreen`.
        depth: of the elements that are open at the end of the last stream.
    """

    def __init__(self, base: str, on_mark: Callable[[], None]) -> None:
        self._base, self._on_mark = base, on_mark
        self._last: XmlScreen | None = None
        self.is_strict = self.follows_literals = False

    @property
    def depth(self) -> int:  # noqa: D102 (see the class)
        return self._last.depth if self._last else 0

    def new(self, log: FaultLog) -> Screen:
        """Return a screen."""
        if self.is_strict:
            self._last = RdfXmlScreen(
                log, self._on_mark, base=self._base, follows=self.follows_literals
            )
        else:
            self._last = XmlScreen(log, self._on_mark)
        return self._last.feed


def _tag_around(text: bytes, at: int) -> bytes:
    """Return the start tag at a position, if it is one."""
    begin = text.rfind(b"<", max(0, at - HEAD_BYTES), at)
    found = START.match(text, begin) if begin >= 0 else None
    return found[0] if found and found.end() > at else b""


def _has_rare_values(text: bytes, outline: bytes) -> bool:
    """Return whether a blank node is in place of an IRI, or a base has dots."""
    if b'=":' in outline and b'="_:' in text:
        return True
    return b":b=" in outline and _DOTS_IN_BASE.search(text) is not None


def _may_have_break(outline: bytes) -> bool:
    """Return whether an attribute may have a line break."""
    rest = outline.translate(None, _LETTERS).replace(b'=""', b"").replace(b"=''", b"")
    return b"=" in rest and _BREAK.search(rest) is not None


def _is_shallow(outline: bytes) -> bool:
    n_tags = outline.count(b"<")
    if n_tags > 4 * MAX_XML_DEPTH:
        return False
    return n_tags <= MAX_XML_DEPTH or n_tags - outline.count(b"</") <= MAX_XML_DEPTH


def _ends_root(markup: bytes) -> bool:
    """Return whether the end of the root is at the end; the parser checks the rest."""
    tail = markup[-_TAIL_BYTES:].rstrip()
    while tail.endswith(b"-->"):
        tail = tail[: max(tail.rfind(b"<!--"), 0)].rstrip()
    return tail.endswith(b"</rdf:RDF>")


def _check_asides(block: bytes, outline: bytes) -> None:
    """Refuse text next to comments, CDATA and instructions, and defaults.

    Defaults are those of attributes.
    """
    is_declared = b"<!" in outline
    has_cdata = is_declared and b"<![CDATA[" in block
    after_declaration = outline.find(b"?>") + 2 if outline.startswith(b"<?") else 0
    has_text = (
        (is_declared and _is_beside_comments(block))
        or (
            has_cdata
            and (_TEXT_BEFORE_CDATA.search(block) or _TEXT_AFTER_CDATA.search(block))
        )
        or (
            outline.find(b"<?", after_declaration) >= 0
            and _TEXT_AFTER_INSTRUCTION.search(block)
        )
    )
    if (has_text and _splits_text(block)) or (is_declared and _has_defaults(block)):
        raise MendingNeeded


def _is_beside_comments(block: bytes) -> bool:
    """Return whether text or an end tag follows a comment."""
    for part in block.split(b"<!--")[1:]:
        first = part.partition(b"-->")[2].lstrip(b" \t\n\r\f\v")[:2]
        if first and (first[:1] != b"<" or first == b"</"):
            return True
    return False


def _has_defaults(block: bytes) -> bool:
    """Return whether a declaration gives attributes values."""
    if b"<!ATTLIST" not in block:
        return False
    return _DEFAULT.search(without_comments(block)) is not None


def _splits_text(text: bytes) -> bool:
    """Return whether text of an element is next to comments, CDATA or instructions.

    The parser would leave out its white space, or end.
    """
    at = n_texts = 0
    is_inside = False  # of an element that has had text alone
    for found in ASIDE.finditer(text):
        part = text[at : found.start()]
        at = found.end()
        begin = part.rfind(b"<")
        if begin >= 0:
            end = part.find(b">", begin) + 1
            is_start = part[begin + 1 : begin + 2] not in (b"/", b"!", b"?")
            is_inside = is_start and part[end - 2 : end] != b"/>"
            n_texts = 0
            part = part[end:]
        if is_inside:
            n_texts += bool(part) + found[0].startswith(b"<![")
            after = text.find(b"<", at)
            if text.startswith(b"</", after) and n_texts + (after > at) > 1:
                return True
    return False


def _has_break(markup: bytes) -> bool:
    """Return whether an attribute has a line break or tab, which XML reads as a space.

    The parser keeps it.
    """
    for n, found in enumerate(_BREAK_IN_VALUE.finditer(markup)):
        if n > _MAX_EXACT or _tag_around(markup, found.start()):
            return True
    return False
