"""One page, decoded and parsed at most once, the end of its head, and walks."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Final, Protocol

from selectolax.lexbor import LexborHTMLParser, LexborNode

from rdfcrawl.core.errors import Fault, FaultLog, Reason, SourceFault
from rdfcrawl.core.formats import HEAD_BYTES
from rdfcrawl.rdf.html.weight import SCRIPT, TAG, VOID, check_weight, is_heavy
from rdfcrawl.rdf.iris import escape_url, resolve
from rdfcrawl.rdf.sniffing import JSON_START
from rdfcrawl.rdf.terms import language_tag
from rdfcrawl.rdf.text import to_utf8

if TYPE_CHECKING:
    from rdfcrawl.core.formats import Link


_MAX_BASE_CHARS: Final = 4096  # every relative link is resolved against it
_NO_BASES: Final = ("data:", "javascript:")


class ParsedPage:
    """A page, decoded and parsed on first use; the input of all extractors.

    Attributes:
        data: the raw body, at most a few MiB.
        url: after redirects, without fragment.
        media_type: declared, lower case, or empty; so is `charset`.
        links: added by the extractors.
        canonical: URL of the first canonical link; set with the links.
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

    @property
    def is_json(self) -> bool:
        """Whether the page is JSON, not markup; only scraping rules can read it."""
        head = self.data[:HEAD_BYTES].removeprefix(codecs.BOM_UTF8)
        return JSON_START.match(head) is not None

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

    @cached_property
    def head_bytes(self) -> int:
        """Length of the page's head in `utf8`; 0 if unknown."""
        return end_of_head(self.lower)

    @property
    def head_tree(self) -> LexborHTMLParser:
        """The tree of the page if already parsed; else the tree of the head."""
        if "tree" in self.__dict__ or not self.head_bytes:
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
    def has_json_ld_in_head_only(self) -> bool:
        """Whether `head_tree` has all JSON-LD scripts."""
        if not self.head_bytes or self.is_head_heavy:
            return False
        if self.lower.find(b"ld+json", self.head_bytes) >= 0:
            return False
        # A frame set removes the body, with any scripts moved there.
        scripts = self.head_tree.css("script[type]")
        return all(script.parent.tag == "head" for script in scripts if script.parent)

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
        node = self.head_tree.css_first("base[href]")
        href = (node.attributes["href"] or "").strip() if node is not None else ""
        if not href or len(href) > _MAX_BASE_CHARS:
            return self.url
        url = resolve(escape_url(href), self.url).partition("#")[0]
        return self.url if url.lower().startswith(_NO_BASES) else url

    @cached_property
    def default_language(self) -> str:
        """Language of elements without `lang`: HTML Standard, "pragma-set default"."""
        selector = 'meta[http-equiv="content-language" i][content]'
        node = self.tree.css_first(selector)
        return language_tag(node.attributes["content"] or "") if node else ""

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


# Markup of XML, in which any tag may be that of an empty element.
_EMPTY_TAG = re.compile(
    rb"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|" + TAG.pattern, re.DOTALL
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


PRESCAN_BYTES: Final = 1024  # HTML Standard: the declaration is within the first 1024

_BOMS: Final = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UTF16_MARKUP: Final = {b"<\0": "utf-16-le", b"\0<": "utf-16-be"}
_WIDE: Final = ("utf-16", "utf-32")
_CHARSET_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_META = re.compile(rb"<meta[\s/]([^>]*)", re.IGNORECASE)
_CHARSET = re.compile(
    rb"""(?:^|[\s/"';])charset\s*+=\s*+["']?\s*+([^\s"'/>;]{1,40})""", re.IGNORECASE
)
# The text of a description may have an equals sign, too.
_NAMED_META = re.compile(rb"(?:^|[\s\"'])(?:name|property)\s*+=", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""\s*<\?xml\b[^>]*?\sencoding\s*=\s*["']([^"'>]*)["']""")

_MAX_LABELS: Final = 20  # looked up in one page
_NOT_ASCII: Final = bytes(range(128, 256))
_OF_ASCII: Final = frozenset({"", "utf-8", "cp1252"})
# Short text in one of these may be valid UTF-8.
_MULTIBYTE: Final = frozenset(
    {"gb18030", "cp932", "cp949", "big5hkscs", "euc-jp", "euc_jp", "iso-2022-jp"}
)
_MIN_OTHERS: Final = 8
_MIN_BAD: Final = 4  # of a page without any valid sequence, which is windows-1252

# Labels that denote another charset in pages than in Python.
_LABELS: Final = {
    label: codec
    for codec, labels in (
        ("cp1252", "ascii us-ascii iso-8859-1 iso8859-1 iso_8859-1 latin1 latin-1 l1"),
        ("cp1252", "cp1252 x-cp1252 windows-1252 ansi x-user-defined iso-ir-100"),
        ("cp1252", "cp819 ibm819"),
        ("gb18030", "gb2312 gbk x-gbk gb_2312-80 chinese csgb2312 iso-ir-58"),
        ("cp932", "shift_jis shift-jis sjis x-sjis ms_kanji"),
        ("cp949", "euc-kr euckr ks_c_5601-1987 ksc5601 korean"),
        ("big5hkscs", "big5 big5-hkscs cn-big5 x-x-big5"),
        ("cp1254", "iso-8859-9 latin5 l5"),
        ("cp874", "iso-8859-11 tis-620 dos-874 windows-874"),
        ("utf-16-le", "unicode ucs-2 csunicode iso-10646-ucs-2"),
        ("cp1251", "x-cp1251"),
        ("cp1250", "x-cp1250"),
        ("iso-8859-8", "iso-8859-8-i"),
        ("mac_cyrillic", "x-mac-cyrillic"),
        ("mac_roman", "macintosh"),
        ("utf-8", "unicode-1-1-utf-8 x-unicode20utf8"),
    )
    for label in labels.split()
}


def page_to_utf8(data: bytes, *, charset: str, is_xml: bool, log: FaultLog) -> bytes:
    """Return a page as UTF-8 without byte order mark; see `rdf.encoding.to_utf8`.

    A page that declares no charset is UTF-8 if valid, else windows-1252, as in
    browsers. `charset` is that of the Content-Type, or empty. If `is_xml`, an XML
    declaration comes before `<meta>`. `log` takes `BAD_CHARSET`, also for a
    declaration that the bytes refute.
    """
    if data.startswith(_BOMS):
        return to_utf8(data, charset="", is_xml=False, log=log)
    if codec := _UTF16_MARKUP.get(data[:2], ""):
        return to_utf8(data, charset=codec, is_xml=False, log=log)
    codec = _codec(charset.strip("\"' \t").lower())
    if codec.startswith(_WIDE) and b"\0" not in data[:PRESCAN_BYTES]:
        log.note(Reason.BAD_CHARSET, f"is not {codec}")
        codec = ""
    elif codec and not _is_known(codec):
        log.note(Reason.BAD_CHARSET, f"unknown charset {codec!r}")
        codec = ""
    codec = codec or _codec(declared_charset(data, is_xml=is_xml))
    if codec in _OF_ASCII and data.isascii():
        return data
    if not codec.startswith(_WIDE):
        codec = _unless_refuted(data, codec, log)
    return to_utf8(data, charset=codec, is_xml=False, log=log) if codec else data


def _unless_refuted(data: bytes, codec: str, log: FaultLog) -> str:
    """Return the codec of a page, which may be another one; empty for valid UTF-8."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        if _is_known(codec) and codec != "utf-8":
            return codec
        return _instead_of_utf8(data, codec, log)
    if codec in {"", "utf-8"}:
        return ""
    n_others = len(data) - len(text)  # bytes of UTF-8 after the first ones
    if n_others < (_MIN_OTHERS if codec in _MULTIBYTE else 1):
        return codec
    log.note(Reason.BAD_CHARSET, f"is UTF-8, not {codec}")
    return ""


def _instead_of_utf8(data: bytes, codec: str, log: FaultLog) -> str:
    """Return the codec of a page that is not valid UTF-8, and declares no other one.

    A page with more valid than invalid sequences is damaged UTF-8.
    """
    read = data.decode("utf-8", "replace")
    n_bad = read.count("\ufffd")
    n_good = len(read) - n_bad - len(data.translate(None, _NOT_ASCII))
    late = _codec(declared_charset(data, is_late=True))
    if not _is_known(late) or late == "utf-8":
        late = ""
    if codec != "utf-8":  # unknown
        if late or n_good > n_bad:
            return late or "utf-8"
        log.note(Reason.BAD_CHARSET, "no charset, not UTF-8; read as windows-1252")
        return "cp1252"
    if n_good > n_bad or not (late or (n_bad >= _MIN_BAD and not n_good)):
        return codec
    late = late or "cp1252"
    log.note(Reason.BAD_CHARSET, f"not UTF-8; read as {late}")
    return late


def declared_charset(
    data: bytes, *, is_xml: bool = False, is_late: bool = False
) -> str:
    """Return the label declared in `<meta>` or the XML declaration; empty if none.

    Labels without a codec only count if there is no other. If `is_late`, the full page
    is searched, without scripts: browsers find later declarations, too.

    >>> declared_charset(b'<meta charset="ISO-8859-15">')
    'iso-8859-15'
    """
    head = data[:PRESCAN_BYTES]
    xml = _XML_ENCODING.match(head)
    label = _label(xml[1]) if xml else ""
    if is_xml and label:
        return label
    text = SCRIPT.sub(b"", data) if is_late else _CHARSET_COMMENT.sub(b"", head)
    for name in islice(_labels(text), _MAX_LABELS):
        if _is_known(_codec(name)):
            return _narrow(name)
        label = label or name
    return _narrow(label)


def _labels(text: bytes) -> Iterator[str]:
    for meta in _META.finditer(text):
        found = _CHARSET.search(meta[1])
        if found is not None and not _NAMED_META.search(meta[1]):
            yield _label(found[1])


def _is_known(codec: str) -> bool:
    try:
        return codecs.lookup(codec)._is_text_encoding  # noqa: SLF001
    except (LookupError, ValueError):
        return False


def _narrow(label: str) -> str:
    """Return a label, with UTF-16 replaced by UTF-8: the label was read as ASCII."""
    return "utf-8" if _codec(label).startswith(_WIDE) else label


def _codec(label: str) -> str:
    """Return the codec of a label, or the label if there is none."""
    name = _LABELS.get(label, label)
    try:
        known = codecs.lookup(name).name
    except (LookupError, ValueError):
        return name
    if not known.startswith(_WIDE):
        return known if known == "utf-8" else name
    # Without a byte order, Python's codecs expect a byte order mark.
    return known if known.endswith(("le", "be")) else f"{known}-le"


def _label(name: bytes) -> str:
    return name.decode("latin-1").strip().lower()


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
