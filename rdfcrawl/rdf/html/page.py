"""One page, decoded and parsed at most once, the end of its head, and walks."""

from __future__ import annotations

import codecs
import re
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol

from selectolax.lexbor import LexborHTMLParser, LexborNode

from rdfcrawl.core.errors import Fault, FaultLog, Reason, SourceFault
from rdfcrawl.core.formats import HEAD_BYTES, HTML, format_of_media_type
from rdfcrawl.rdf.html.extractors import names_json_ld, names_open_graph, scan
from rdfcrawl.rdf.html.prescan import (
    SCRIPT,
    TAG,
    VOID,
    check_weight,
    is_heavy,
    page_to_utf8,
)
from rdfcrawl.rdf.iris import escape_url, resolve
from rdfcrawl.rdf.sniffing import JSON_START
from rdfcrawl.rdf.terms import language_tag

if TYPE_CHECKING:
    from rdfcrawl.core.formats import Link


_MAX_BASE_CHARS: Final = 4096  # every relative link is resolved against it
_NO_BASES: Final = ("data:", "javascript:")
_find_base = re.compile(rb"<base").search


class ParsedPage:
    """A page, decoded and parsed on first use; the input of all extractors.

    Attributes:
        data: the raw body, at most a few MiB.
        url: after redirects, without fragment.
        media_type: declared, lower case, or empty; so is `charset`.
        links: added by the extractors.
        canonical: URL of the first canonical link; set with the links.
        is_json: the page is JSON, not markup; only scraping rules can read it.
        faults: of decoding; complete after the first use of `text`, `utf8` or `tree`.
    """

    def __init__(
        self, data: bytes, *, url: str, media_type: str = "", charset: str = ""
    ) -> None:
        self.data = data
        self.url = url
        self.media_type = media_type
        self.charset = charset
        self.links: set[Link] = set()
        self.canonical = ""
        self.faults = FaultLog()
        self._refusal: Fault | None = None
        head = data[:HEAD_BYTES].removeprefix(codecs.BOM_UTF8)
        self.is_json = JSON_START.match(head) is not None

    @cached_property
    def utf8(self) -> bytes:
        """The page decoded, as UTF-8, with replacement characters.

        Source: HTML Standard 13.2.3.2, "Determining the character encoding".
        """
        is_xml = self.is_served_as_xml
        log = self.faults
        data = page_to_utf8(self.data, charset=self.charset, is_xml=is_xml, log=log)
        return _EMPTY_TAG.sub(_with_end_tag, data) if is_xml else data

    @property
    def is_served_as_xml(self) -> bool:
        """Whether the media type is of XML, such as XHTML."""
        return self.media_type.partition(";")[0].strip().endswith("xml")

    def without_templates(self) -> ParsedPage:
        """Return the page with the content of its `template` elements as markup."""
        data = _MARKUP.sub(_without_template, self.utf8)
        page = ParsedPage(
            data, url=self.url, media_type=self.media_type, charset="utf-8"
        )
        page.links = self.links
        return page

    @cached_property
    def lower(self) -> bytes:
        """The page in UTF-8, with ASCII in lower case."""
        return self.utf8.lower()

    @cached_property
    def text(self) -> str:
        """The page decoded; see `utf8`."""
        return self.utf8.decode("utf-8", "replace")

    @cached_property
    def is_heavy(self) -> bool:
        """Whether parsing may take long and needs a bounded process."""
        return is_heavy(self.utf8)

    @cached_property
    def tree(self) -> LexborHTMLParser:
        """The page parsed as HTML5.

        Raises:
            SourceFault: `TOO_DEEP` or `TOO_LARGE`: parsing would take quadratic time.
        """
        if self._refusal is None and self.is_heavy:
            try:
                check_weight(self.utf8)
            except SourceFault as error:
                self._refusal = error.fault
        if self._refusal is not None:
            raise SourceFault(self._refusal.reason, self._refusal.detail)
        return LexborHTMLParser(self.utf8)

    @property
    def is_parsed(self) -> bool:
        """Whether the tree of the full page is available."""
        return "tree" in self.__dict__

    @cached_property
    def head_bytes(self) -> int:
        """Length of the page's head in `utf8`; 0 if unknown."""
        return end_of_head(self.lower)

    @property
    def head_tree(self) -> LexborHTMLParser:
        """The tree of the page if already parsed; else the tree of the head."""
        if self.is_parsed or not self.head_bytes:
            return self.tree
        return self._head_tree

    @cached_property
    def is_head_heavy(self) -> bool:
        """Whether `head_tree` is heavy; see `is_heavy`."""
        return is_heavy(self._head) if self.head_bytes else self.is_heavy

    @cached_property
    def _head_tree(self) -> LexborHTMLParser:
        if self.is_head_heavy:
            check_weight(self._head)
        return LexborHTMLParser(self._head)

    @property
    def _head(self) -> bytes:
        return self.utf8[: self.head_bytes]

    @cached_property
    def _has_light_head(self) -> bool:
        """Whether `head_tree` is the tree of a head, not heavy, and has the base."""
        if not self.head_bytes or self.is_head_heavy:
            return False
        return _find_base(self.lower, self.head_bytes) is None

    @cached_property
    def has_json_ld_in_head_only(self) -> bool:
        """Whether `head_tree` has all JSON-LD scripts, and their base."""
        if not self._has_light_head or names_json_ld(self.lower, self.head_bytes):
            return False
        # A frame set removes the body, with any scripts moved there.
        scripts = self.head_tree.css("script[type]")
        return all(script.parent.tag == "head" for script in scripts if script.parent)

    @cached_property
    def has_open_graph_in_head_only(self) -> bool:
        """Whether `head_tree` has all that the Open Graph extractor reads."""
        lower = self.lower
        if not self._has_light_head or names_open_graph(lower, self.head_bytes):
            return False
        if lower.find(b"<html", self.head_bytes) >= 0:  # its attributes count
            return False
        tree = self.head_tree
        if _own_language(tree) is None and b"content-language" in lower:
            return False
        # A frame set removes the body, with any tags moved there.
        tags = tree.css("meta[property]")
        return all(tag.parent.tag == "head" for tag in tags if tag.parent)

    @property
    def likely_base(self) -> str:
        """The base; for a page too deep to be parsed, its URL."""
        try:
            return self.base
        except SourceFault:
            return self.url

    @cached_property
    def base(self) -> str:
        """Base of relative URLs: `<base href>` or the page.

        Source: HTML Standard 4.2.3, "frozen base URL".
        """
        if self.is_parsed and _find_base(self.lower) is None:
            return self.url  # most pages have none, and the tree of a page is large
        node = self.head_tree.css_first("base[href]")
        href = (node.attributes["href"] or "").strip() if node is not None else ""
        if not href or len(href) > _MAX_BASE_CHARS:
            return self.url
        url = resolve(escape_url(href), self.url).partition("#")[0]
        return self.url if url.lower().startswith(_NO_BASES) else url

    @cached_property
    def default_language(self) -> str:
        """Language of elements without `lang`: HTML Standard, "pragma-set default"."""
        return _pragma_language(self.tree)

    @property
    def head_language(self) -> str:
        """Language of the head; see `language_of`."""
        tree = self.head_tree
        own = _own_language(tree)
        return _pragma_language(tree) if own is None else own

    def language_of(self, node: LexborNode) -> str:
        """Return the language of an element; empty if unknown.

        Source: HTML Standard 3.2.6.2: nearest `lang`, then `xml:lang`, of itself and
        its ancestors.
        """
        known = self._languages
        if len(known) == 1:
            return known[0]
        above: list[int] = []
        at: LexborNode | None = node
        while at is not None:
            key = at.mem_id
            language = known.get(key)
            if language is not None:
                break
            above.append(key)
            at = at.parent
        else:
            language = known[0]
        for key in above:
            known[key] = language
        return language

    @cached_property
    def _languages(self) -> dict[int, str]:
        """Languages by `mem_id` of elements; key 0 is the default.

        Most pages only declare a language on the root element: then 0 is the only key.
        """
        found: dict[int, str] = {}
        # Selectors see `xml:lang` of foreign elements as `lang`.
        for node in self.tree.css(r"[lang],[xml\:lang]"):
            attrs = node.attributes
            written = attrs["lang"] if "lang" in attrs else attrs.get("xml:lang")
            found[node.mem_id] = language_tag(written or "")
        root = self.tree.root
        if len(found) == 1 and root is not None and root.mem_id in found:
            return {0: found[root.mem_id]}
        return found | {0: self.default_language}


# Types under which a page is no surprise
_OF_PAGES: Final = frozenset({"", "application/octet-stream", "binary/octet-stream"})


def note_label(page: ParsedPage, media_type: str, log: FaultLog) -> None:
    """Note that a page was served as something else."""
    essence = media_type.partition(";")[0].strip().lower()
    if essence == "text/html":  # usual
        return
    declared = format_of_media_type(essence)
    is_usual = essence.endswith("xml") and declared is None
    if declared is HTML or is_usual or essence in _OF_PAGES or page.is_json:
        return
    detail = f"a page that was served as {media_type}"
    if scan(page.lower):
        log.note(Reason.REPAIRED, detail, apart=True)
    elif declared:
        log.note(Reason.UNSUPPORTED_FORMAT, detail)


def note_faults(page: ParsedPage, log: FaultLog) -> list[Fault]:
    """Log the faults of an earlier reading again, and return all that are logged."""
    _ = page.utf8  # finds the faults
    for fault in page.faults.all():
        log.note(fault.reason, fault.detail, fault.count)
    return log.all()


def _own_language(tree: LexborHTMLParser) -> str | None:
    """Return the language that the head or the root declares; None if neither does."""
    for node in filter(None, (tree.head, tree.root)):
        attrs = node.attributes
        if "lang" in attrs or "xml:lang" in attrs:
            key = "lang" if "lang" in attrs else "xml:lang"
            return language_tag(attrs[key] or "")
    return None


def _pragma_language(tree: LexborHTMLParser) -> str:
    selector = 'meta[http-equiv="content-language" i][content]'
    node = tree.css_first(selector)
    return language_tag(node.attributes["content"] or "") if node else ""


# Markup of XML, in which any tag may be that of an empty element.
_EMPTY_TAG = re.compile(
    rb"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)"
    rb"|<script\b[^<>]*+(?<!/)>.*?(?:</script|\Z)|" + TAG.pattern,
    re.DOTALL,
)


def _with_end_tag(tag: re.Match[bytes]) -> bytes:
    """Return the tag of an empty element, with an end tag unless HTML implies it."""
    is_empty = tag[0].endswith(b"/>") and tag[3] and not tag[1]
    if not is_empty or tag[2].lower() in VOID:
        return tag[0]
    return b"<%b%b></%b>" % (tag[2], tag[3].removesuffix(b"/"), tag[2])


# Tags, and content without tags.
_MARKUP = re.compile(SCRIPT.pattern + rb"|" + TAG.pattern, re.DOTALL | re.IGNORECASE)


def _without_template(found: re.Match[bytes]) -> bytes:
    """Return a tag of `template` as one of `div`, and other markup as it is."""
    _, slash, name, *_ = found.groups()
    if name is None or name.lower() != b"template":
        return found[0]
    return b"<%bdiv%b" % (slash, found[0][found.end(3) - found.start() :])


_MAX_TAGS: Final = 1000  # of a head; if it has more, the full page is parsed
_END = re.compile(rb"<(?:/head|body)[\s/>]")
_COMMENT = re.compile(rb"<!--(?:-?>|.*?--!?>)", re.DOTALL)
# Raw text elements: HTML Standard 13.2.6.2.
_ENDS_OF_TEXT: Final = {
    name: re.compile(rb"</" + name + rb"(?=[\t\n\f\r />])")
    for name in b"title textarea style xmp iframe noembed noframes script".split()
}
# Elements with special content: the scan for the end of the head gives up.
_UNSUPPORTED: Final = frozenset(b"template svg math select frameset plaintext".split())


def end_of_head(lower: bytes) -> int:
    """Return the position of the tag that ends the head of a page; 0 if unknown.

    The page is in lower case. Comments, scripts and attribute values are skipped.

    >>> end_of_head(b"<head><!--<body>--><title></head></title></head>")
    41
    """
    if _END.search(lower) is None:
        return 0
    at = lower.find(b"<")
    for _ in range(_MAX_TAGS):
        if at < 0:
            break
        tag = TAG.match(lower, at)
        if tag is None:
            end = _after_other(lower, at)
        else:
            slash, name = tag[1], tag[2]
            if name == (b"head" if slash else b"body"):
                return at
            end = tag.end() if slash else _after_element(lower, name, tag.end())
        if end < 0:
            break
        at = lower.find(b"<", end)
    return 0


def _after_other(lower: bytes, at: int) -> int:
    """Return the end of a comment, other markup or plain text; -1 if there is none."""
    if lower.startswith(b"<!--", at):
        comment = _COMMENT.match(lower, at)
        return comment.end() if comment else -1
    if lower[at + 1 : at + 2] in {b"!", b"?", b"/"}:
        return lower.find(b">", at)
    return at + 1


def _after_element(lower: bytes, name: bytes, at: int) -> int:
    """Return the position after a start tag or raw text element; -1 if unknown."""
    if name in _UNSUPPORTED:
        return -1
    end_of_text = _ENDS_OF_TEXT.get(name)
    if end_of_text is None:
        return at
    end = end_of_text.search(lower, at)
    if end is None:
        return -1
    # 13.2.5.20 "Script data escaped state": a script in a comment in a script hides
    # its end tag.
    if name == b"script":
        comment = lower.find(b"<!--", at, end.start())
        if comment >= 0 and lower.find(b"<script", comment, end.start()) >= 0:
            return -1
    return end.start()


Attributes = dict[str, "str | None"]


class PageHandler(Protocol):
    """Handler of the elements of a page in document order."""

    def start(self, name: str, attributes: Attributes) -> None:
        """Handle the start of an element; an attribute without a value has None."""

    def end(self) -> None:
        """Handle the end of the innermost element."""

    def text(self, text: str) -> None:
        """Handle text, in any pieces."""

    def comment(self, text: str) -> None:
        """Handle a comment."""


def walk(tree: LexborHTMLParser, handler: PageHandler) -> None:
    """Pass an HTML tree to a handler, without the content of `template`."""
    walk_node(tree.root, handler)


def walk_node(node: LexborNode | None, handler: PageHandler) -> None:
    """Pass a node and all its descendants to a handler."""
    open_nodes: list[LexborNode] = []
    while node is not None:
        if node.is_element_node:
            handler.start(node.tag or "", node.attributes)
            child = node.first_child
            if child is not None:
                open_nodes.append(node)
                node = child
                continue
            handler.end()
        elif node.is_text_node:
            handler.text(node.text_content or "")
        elif node.is_comment_node:
            # `comment_content` is stripped of spaces.
            handler.comment((node.html or "")[4:-3])
        following = node.next if open_nodes else None
        while following is None and open_nodes:
            handler.end()
            node = open_nodes.pop()
            following = node.next if open_nodes else None
        node = following
