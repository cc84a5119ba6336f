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
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from rdfcrawl.rdf.iris import resolve
from rdfcrawl.rdf.rdf_xml_literals import (
    HEAD_BYTES,
    LITERAL,
    ROOT,
    START,
    LiteralScreen,
    MendingNeeded,
)
from rdfcrawl.rdf.xml_screen import (
    MAX_XML_DEPTH,
    XmlScreen,
    n_open,
    outline_of,
    without_comments,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.rdf.text import Screen

_USUAL_ROOT: Final = b"<rdf:RDF"
_NOT_OF_ROOT = re.compile(
    rb"\s(?!xmlns|xml:|xsi:|its:version|its:dir|[\w.-]+:version)[\w.:-]+\s*=\s*[\"']"
)
_RELATIVE_BASE = re.compile(
    rb"(\sxml:base\s*=\s*)(?:\"(?![\w.+-]+:)([^\"&\s]*)\"|'(?![\w.+-]+:)([^'\"&\s]*)')"
)
_ITS: Final = b"http://www.w3.org/2005/11/its"
_VERSION = re.compile(rb":version\s*=\s*[\"']1\.2")
_UNUSUAL_PARSE_TYPE = re.compile(rb"parseType(?!=\"(?:Collection|Resource)\">)")
_PARSE_TYPE = re.compile(rb"parseType\s*=\s*(?:\"([^\"<>]*)\"|'([^'<>]*)')")
_KNOWN: Final = frozenset({b"Collection", b"Resource", b"Triple"})
_NOT_BESIDES = re.compile(
    rb"\s(?!xml|[\w.-]+:(?:ID|parseType|annotation(?:NodeID)?)\b)[\w.:-]+\s*="
)
# In outlines: a node below rdf:datatype.
_TYPED_NODE = re.compile(rb"dyp=\"[^\"<>]{0,300}+\"[^<>]{0,300}+><[^/!?]")
# In outlines of tags: a name that may be in upper case.
_UPPER = re.compile(rb"(?:[bdgpuyA]*+:)?A")
_TAG = re.compile(rb"(?:[^\"'>]++|\"[^\"]*+\"|'[^']*+')*+>")
_BREAK = re.compile(rb"=(?:\"[^\"\n]*+\n|'[^'\n]*+\n)")
_BREAK_IN_VALUE = re.compile(rb"=\s*(?:\"[^\"<\n\t]*[\n\t]|'[^'<\n\t]*[\n\t])")
_DEFAULT = re.compile(rb"<!ATTLIST\s[^<>]*[\"']")  # of an attribute
_ASIDE = re.compile(
    rb"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)", re.DOTALL
)
_MARKUP_ASIDE = re.compile(
    rb"<!(?:--[^<>]*+(?:<|(?<!--)>)|\[CDATA\[[^<>]*+(?:<|(?<!\]\])>))"
)
_TEXT_AFTER_COMMENT = re.compile(rb"-->\s*+(?:[^\s<]|</)")
_TEXT_AFTER_INSTRUCTION = re.compile(rb"\?>\s*+(?:[^\s<]|</)")
_TEXT_BEFORE_CDATA = re.compile(rb"<!\[CDATA\[(?<!><!\[CDATA\[)")
_TEXT_AFTER_CDATA = re.compile(rb"\]\]>(?!</)")
_MAX_EXACT: Final = 1000  # checks of a block
_MIN_LINES_BYTES: Final = 8 * 1024
_MAX_KNOWN: Final = 1024  # outlines of tags
# What tags have that needs a check, in outlines.
_ABOUT, _RESOURCE, _TYPE = map(outline_of, (b":about=", b":resource=", b":type="))
_NAMED: Final = {
    outline_of(b"parseType="): "parse type",
    outline_of(b"bagID="): "bag",
    outline_of(b"datatype="): "datatype",
    _TYPE: "type",
    _ABOUT: "about",  # perhaps at a property
}
_DECLARED: Final = ((b"!", "aside"), (b"!AAAAA", "cdata"), (b"!AAAAAAA", "list"))
_ATTRIBUTES: Final = (
    *(("about", _ABOUT, True), ("resource", _RESOURCE, False), ("type", _TYPE, True)),
)
_MAX_COUNTED: Final = 3  # tags with an attribute
_NONE: Final = frozenset[str]()


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
        self._is_rdf = False  # the root is rdf:RDF

    def _screened(self, block: bytes, *, is_last: bool) -> bytes:
        """Check the block.

        Raises:
            MendingNeeded: see there.
            LiteralsNeeded: see there.
        """
        if not self._is_begun:
            block = self._with_root(block)
        outline = outline_of(block)
        found = _found_in(outline)
        if "parse type" in found and (
            _UNUSUAL_PARSE_TYPE.search(block) or b'"d:pAyp' in outline
        ):
            block = self._with_parse_types(block)
        if self._literals is not None:
            block = self._literals.feed(block, is_last=is_last)
            outline = outline_of(block)
            found = _found_in(outline)
        markup = block
        if found:
            if "aside" in found or "instruction" in found:
                markup = _without_markup_in_asides(block, found)
                if markup is not block:
                    outline = outline_of(markup)
            if (
                ("bag" in found and b"bagID" in markup)
                or ("datatype" in found and _TYPED_NODE.search(outline))
                or ("break" in found and _has_break(markup))
            ):
                raise MendingNeeded
            self._check_names(markup, outline, found)
        is_small = is_last and not self._is_begun and len(markup) < MAX_XML_DEPTH
        # The parser checks that it ends the root.
        if (
            not (is_small and self._is_rdf)
            or "aside" in found
            or not markup.rstrip().endswith(b"</rdf:RDF>")
        ):
            self._check_depth(markup, outline)
        return block

    def _with_root(self, block: bytes) -> bytes:
        """Check the root, and resolve its base, which the parser expects."""
        begin = block.find(_USUAL_ROOT, 0, HEAD_BYTES)
        found = ROOT.search(block, max(begin, 0), HEAD_BYTES)
        if found is None:
            return block
        self._is_rdf, tag = True, found[0]
        if tag.count(b"xmlns") == tag.count(b"=") and _ITS not in tag:
            return block
        is_its = _ITS in tag and b":dir" in block
        if _NOT_OF_ROOT.search(tag) or (is_its and not _VERSION.search(tag)):
            raise MendingNeeded
        if base := _RELATIVE_BASE.search(tag):
            value = (base[2] or base[3] or b"").decode()
            try:
                new = resolve(value.partition("#")[0], self._base)
            except ValueError:
                raise MendingNeeded from None
            begin = found.start() + base.start()
            end = found.start() + base.end()
            block = b'%s%s"%s"%s' % (
                *(block[:begin], base[1]),
                *(new.replace("&", "&amp;").encode(), block[end:]),
            )
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

    def _check_names(self, markup: bytes, outline: bytes, found: set[str]) -> None:
        """Refuse attributes of nodes at properties, and of properties at nodes."""
        tags: list[tuple[int, bool]] = []
        for name, mark, is_of_node in _ATTRIBUTES:
            if name in found:
                tags += _tags_with(
                    *(markup, b":%s=" % name.encode()),
                    n_at_most=outline.count(mark),
                    is_of_node=is_of_node,
                )
        if not tags:
            return
        depth, done = self.depth, 0
        has_nodes = b'"Resource"' in markup  # they are properties, too
        for at, is_of_node in sorted(tags):
            depth += n_open(markup, done, at)
            done = at
            if has_nodes or (depth % 2 == self._is_rdf) is not is_of_node:
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


def _tags_with(
    markup: bytes, attribute: bytes, *, n_at_most: int, is_of_node: bool
) -> Iterator[tuple[int, bool]]:
    """Yield the first begin of tags with an attribute and a name of unusual case.

    Names of classes mostly begin in upper case, and those of properties do not.
    """
    firsts: dict[bytes, int] = {}
    for tag in _tags_before(markup, attribute, n_at_most):
        name = tag.split(None, 1)[0]
        is_upper = name.rpartition(b":")[2].lstrip(b"<")[:1].isupper()
        if is_upper is not is_of_node:
            at = markup.find(tag + attribute)
            firsts[name] = min(at, firsts.get(name, at))
    for at in firsts.values():
        yield at, is_of_node


def _tags_before(markup: bytes, attribute: bytes, n_at_most: int) -> set[bytes]:
    """Return the different texts before an attribute in tags.

    Counts of few ones are faster than a search for all.
    """
    tags: set[bytes] = set()
    n_left, at = n_at_most, -1
    while len(tags) < _MAX_COUNTED and (at := markup.find(attribute, at + 1)) >= 0:
        tag = markup[markup.rfind(b"<", 0, at) : at]
        if tag in tags:
            break
        tags.add(tag)
        n_left -= markup.count(tag + attribute)
        if not n_left:
            return tags
    parts = markup.split(attribute)
    parts.pop()
    return {part[part.rfind(b"<") :] for part in parts}


def _found_in(outline: bytes) -> set[str]:
    """Return the unusual parts of the tags, and those that need a check.

    A document has few tags whose outlines differ, and documents have the same ones.
    """
    if outline.startswith(b"<?"):  # the declaration
        outline = outline[outline.find(b"?>") + 2 :]
    rows = _rows_of_lines(outline) if len(outline) > _MIN_LINES_BYTES else None
    if rows is None:
        rows = set(outline.split(b"<"))
    if len(rows) > _MAX_KNOWN:  # mostly of different texts
        rows = {_tag_of(row) for row in rows}
    return set().union(*map(_kinds_of, rows))


def _rows_of_lines(outline: bytes) -> set[bytes] | None:
    """Return the tags of an outline; None if one has a line break."""
    rows: set[bytes] = set()
    for line in set(outline.split(b"\n")):
        tags = line.split(b"<")
        last = tags[-1]
        if len(tags) > 1 and not (last.startswith((b"!", b"?")) or _TAG.match(last)):
            return None
        rows.update(tags[1:])
    return rows


def _tag_of(row: bytes) -> bytes:
    return found[0] if (found := _TAG.match(row)) else row


@lru_cache(_MAX_KNOWN)
def _kinds_of(row: bytes) -> frozenset[str]:
    """Return the unusual parts of a tag with this outline behind `<` and of text."""
    if row.startswith(b"!"):
        return frozenset(kind for mark, kind in _DECLARED if row.startswith(mark))
    if row.startswith(b"?"):
        return frozenset({"instruction"})
    tag = _TAG.match(row)
    outline = tag[0] if tag else row
    if b"=" not in outline:
        return _NONE
    kinds = {kind for name, kind in _NAMED.items() if name in outline}
    if _RESOURCE in outline and _UPPER.match(outline):
        kinds.add("resource")
    if b"\n" in outline and _BREAK.search(outline):
        kinds.add("break")
    return frozenset(kinds)


def _without_markup_in_asides(block: bytes, found: set[str]) -> bytes:
    """Return the text without asides if they have markup.

    Raises:
        MendingNeeded: text next to them, or defaults of attributes.
    """
    is_declared = "aside" in found
    markup, splits_text = block, False
    if (
        (is_declared and _TEXT_AFTER_COMMENT.search(block))
        or (
            "cdata" in found
            and (_TEXT_BEFORE_CDATA.search(block) or _TEXT_AFTER_CDATA.search(block))
        )
        or ("instruction" in found and _TEXT_AFTER_INSTRUCTION.search(block))
    ):
        markup, splits_text = _without_asides(block)
    elif is_declared and _MARKUP_ASIDE.search(block):
        markup = without_comments(block)
    if splits_text or ("list" in found and _has_defaults(markup)):
        raise MendingNeeded
    return markup


def _has_defaults(markup: bytes) -> bool:
    """Return whether a declaration gives attributes values."""
    return b"<!ATTLIST" in markup and _DEFAULT.search(markup) is not None


def _without_asides(text: bytes) -> tuple[bytes, bool]:
    """Return text without comments, CDATA and processing instructions.

    The second value is whether text of an element is next to one: the parser would
    leave out its white space, or end.
    """
    parts: list[bytes] = []
    at = n_texts = 0
    is_inside = splits = False  # of an element that has had text alone
    for found in _ASIDE.finditer(text):
        part = text[at : found.start()]
        parts.append(part)
        at = found.end()
        begin = part.rfind(b"<")
        if begin >= 0:
            end = part.find(b">", begin) + 1
            is_start = part[begin + 1 : begin + 2] not in (b"/", b"!", b"?")
            is_inside = is_start and part[end - 2 : end] != b"/>"
            n_texts = 0
            part = part[end:]
        if is_inside and not splits:
            n_texts += bool(part) + found[0].startswith(b"<![")
            after = text.find(b"<", at)
            is_last = text.startswith(b"</", after)
            splits = is_last and n_texts + (after > at) > 1
    parts.append(text[at:])
    return b"".join(parts), splits


def _has_break(markup: bytes) -> bool:
    """Return whether an attribute has a line break or tab, which XML reads as a space.

    The parser keeps it.
    """
    for n, found in enumerate(_BREAK_IN_VALUE.finditer(markup)):
        if n > _MAX_EXACT or _tag_around(markup, found.start()):
            return True
    return False
