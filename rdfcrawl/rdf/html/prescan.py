"""Look through the bytes of a page before it is parsed: its charset, and its weight.

The charset is the declared one, or another one that the bytes show. Refused are pages
that are slow to parse: too deep, or with too many attributes.
Parsers of HTML search the open elements at most tags ("has an element in scope"), and
compare each attribute of a tag with those before it: both take quadratic time.
Browsers limit the depth to 512.

Sources: HTML Standard 13.2.3 "The input byte stream"; Encoding Standard 4.2.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.charsets import WIDE, codec_of, is_known
from rdfcrawl.rdf.text import to_utf8, wide_codec

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog

MAX_LIGHT_TAGS: Final = 20_000  # half a second of parsing if all are nested
MAX_DEPTH: Final = 4096
MAX_ATTRIBUTES: Final = 1024  # of one element
_LONG_TAG_BYTES: Final = 4 * 1024
_LOOKS: Final = 8  # scans of a byte, in overlapping candidates for tags

# Content without tags; matches an unterminated one too, so that it is read once.
SCRIPT = re.compile(
    rb"<!--(?:-?>|.*?(?:--!?>|\Z))|<(script|style|textarea|title)\b.*?(?:</\1|\Z)",
    re.DOTALL | re.IGNORECASE,
)
# HTML Standard 13.2.5.6 to 13.2.5.39, from the name of a tag to its end.
_SPACE: Final = rb"\t\n\f\r "
_NAME: Final = rb"[^>/" + _SPACE + rb"]*+"
_VALUE: Final = rb"\"[^\"]*+\"?|'[^']*+'?|[^>\"'" + _SPACE + rb"][^>" + _SPACE + rb"]*+"
_ATTRIBUTE_NAME: Final = rb"[^>/" + _SPACE + rb"][^>/=" + _SPACE + rb"]*+"
_EQUALS: Final = rb"[" + _SPACE + rb"]*+=[" + _SPACE + rb"]*+"
_ATTRIBUTE: Final = _ATTRIBUTE_NAME + rb"(?:" + _EQUALS + rb"(?:" + _VALUE + rb")?+)?+"
_ATTRIBUTES: Final = rb"(?:[/" + _SPACE + rb"]++|" + _ATTRIBUTE + rb")*+"
TAG = re.compile(rb"<(/?)([a-zA-Z]" + _NAME + rb")(" + _ATTRIBUTES + rb")>?")
_EACH_ATTRIBUTE = re.compile(_ATTRIBUTE)
# Starts of tags, except tags with few attributes that end before the next tag begins:
# a quick expression excludes those.
_ODD_TAG = re.compile(
    rb"<(?=[a-zA-Z])(?![^<>\"'=/\t\n\f\r ]*+(?:[/\t\n\f\r ]++"
    rb"(?:[^<>\"'=/\t\n\f\r ]++(?:=(?:\"[^\"<]*+\"|'[^'<]*+'"
    rb"|[^<>\"'=\t\n\f\r ][^<>\"'\t\n\f\r ]*+))?+)?+){0,64}+>)"
)
_WHITE_SPACE: Final = b"\t\n\f\r "
_BEFORE_VALUE: Final = b"=" + _WHITE_SPACE
_VALUE_BEGINS: Final = tuple(bytes((byte,)) for byte in _BEFORE_VALUE)
VOID: Final = frozenset(
    b"area base br col embed hr img input link meta param source track wbr".split()
)
# Elements with optional end tags: the next one of the same kind closes them.
_IMPLIED: Final = frozenset(
    b"a p li dt dd option optgroup tr td th tbody thead tfoot colgroup rp rt rb".split()
)
_FOREIGN: Final = frozenset((b"svg", b"math"))
# HTML Standard 13.2.4.2, "have a particular element in scope": an end tag does not
# close elements outside these.
_SCOPES: Final = frozenset(
    b"applet caption html table td th marquee object template foreignobject".split()
)


def is_heavy(data: bytes) -> bool:
    """Return whether parsing a page in UTF-8 may take longer than its length suggests.

    Anything like a tag counts, even in a comment, a script or a value. The estimate
    can only be too high.
    """
    if len(data) > MAX_LIGHT_TAGS and data.count(b"<") > MAX_LIGHT_TAGS:
        return True
    n_bytes_left = _LOOKS * len(data)
    for begin in _iter_odd_tags(data):
        near = TAG.match(data, begin, begin + _LONG_TAG_BYTES)
        if near is None or near.end() < begin + _LONG_TAG_BYTES:
            continue
        tag = TAG.match(data, begin)
        n_bytes_left -= len(tag[0]) if tag else 0
        if n_bytes_left < 0 or (tag and _has_many_attributes(tag[3])):
            return True
    return False


def _iter_odd_tags(data: bytes) -> Iterator[int]:
    """Yield the start of odd tags that may be long.

    A tag ends at its first `">`, unless an equals sign precedes it and it begins a
    value. So no long tag begins between two nearby ends of tags, and only stretches
    without them are searched. If a value in single quotes contains an end, the full
    page is searched.
    """
    if _hides_end_of_tag(data):
        yield from (odd.start() for odd in _ODD_TAG.finditer(data))
        return
    at = 0
    while at < len(data):
        end = _last_end_of_tag(data, at, at + _LONG_TAG_BYTES)
        if end < 0:
            end = _next_end_of_tag(data, at + _LONG_TAG_BYTES - 1)
            yield from (odd.start() for odd in _ODD_TAG.finditer(data, at, end))
        at = end


def _last_end_of_tag(data: bytes, begin: int, end: int) -> int:
    """Return the end of the last `">` that ends a tag in a range; else -1."""
    at = data.rfind(b'">', begin + 1, end)
    while at >= 0:
        if data[at - 1] not in _BEFORE_VALUE:
            return at + 2
        at = data.rfind(b'">', begin + 1, at + 1)
    return -1


def _next_end_of_tag(data: bytes, begin: int) -> int:
    """Return the end of the first `">` that ends a tag, or the end of the data."""
    at = data.find(b'">', begin)
    while at >= 0:
        if data[at - 1] not in _BEFORE_VALUE:
            return at + 2
        at = data.find(b'">', at + 1)
    return len(data)


def _hides_end_of_tag(data: bytes) -> bool:
    """Return whether a possible value in single quotes contains `">`."""
    before = b""
    for part in data.split(b"'"):
        hides = before.endswith(_VALUE_BEGINS) and b'">' in part
        if hides and before.rstrip(_WHITE_SPACE).endswith(b"="):
            return True
        before = part
    return False


def check_weight(data: bytes) -> None:
    """Refuse a page that is nested too deep or has too many attributes.

    The depth is estimated from the tags alone, and never too low. The fault is
    `TOO_DEEP` or `TOO_LARGE`.
    """
    stack: list[bytes] = []
    n_foreign = 0
    for tag in TAG.finditer(SCRIPT.sub(b"", data)):
        end, raw_name, attributes = tag.groups()
        if len(attributes) > _LONG_TAG_BYTES and _has_many_attributes(attributes):
            detail = f"more than {MAX_ATTRIBUTES} attributes of one element"
            raise SourceFault(Reason.TOO_LARGE, detail)
        name = raw_name.lower()
        if end:
            n_foreign -= _close(stack, name)
            continue
        is_closed = attributes.endswith(b"/") if n_foreign else name in _IMPLIED
        if name in VOID or is_closed:
            continue
        n_foreign += name in _FOREIGN
        stack.append(name)
        if len(stack) > MAX_DEPTH:
            raise SourceFault(Reason.TOO_DEEP, f"more than {MAX_DEPTH} elements open")


def _close(stack: list[bytes], name: bytes) -> int:
    """Close an element with its descendants; return how many of these were foreign."""
    for depth in range(len(stack) - 1, -1, -1):
        if stack[depth] == name:
            n_foreign = sum(each in _FOREIGN for each in stack[depth:])
            del stack[depth:]
            return n_foreign
        if stack[depth] in _SCOPES:
            break
    return 0


def _has_many_attributes(attributes: bytes) -> bool:
    found = islice(_EACH_ATTRIBUTE.finditer(attributes), MAX_ATTRIBUTES + 1)
    return sum(1 for _ in found) > MAX_ATTRIBUTES


PRESCAN_BYTES: Final = 1024  # HTML Standard: the declaration is within the first 1024

_BOMS: Final = (
    *(codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
    codecs.BOM_UTF32_BE,  # that of little-endian text begins as in UTF-16
)
_is_utf16_le = re.compile(rb"<\0[^\0]\0").match
_is_utf16_be = re.compile(rb"\0<\0[^\0]").match
_CHARSET_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_META = re.compile(rb"<meta[\s/]([^>]*)", re.IGNORECASE)
_CHARSET = re.compile(
    rb"""(?:^|[\s/"';])charset\s*+[=:]\s*+["']?\s*+([^\s"'/>;]{1,40})""", re.IGNORECASE
)
# The text of a description may have an equals sign, too.
_NAMED_META = re.compile(
    rb"(?:^|[\s\"'])(?:name|property)\s*+=(?!\s*+[\"']?content-type)", re.IGNORECASE
)
_XML_ENCODING = re.compile(rb"""\s*<\?xml\b[^>]*?\sencoding\s*=\s*["']([^"'>]*)["']""")

_ESCAPE: Final = b"\x1b"  # shifts to it in ISO-2022-JP, which is in ASCII
_MAX_LABELS: Final = 20  # looked up in one page
_NOT_ASCII: Final = bytes(range(128, 256))
_OF_ASCII: Final = frozenset({"", "utf-8", "cp1252"})
# Short text in one of these may be valid UTF-8.
_MULTIBYTE: Final = frozenset(
    {"gb18030", "cp932", "cp949", "big5hkscs", "euc-jp", "euc_jp", "iso-2022-jp"}
)
_MIN_OTHERS: Final = 8
_MIN_BAD: Final = 4  # of a page without any valid sequence, which is windows-1252


def page_to_utf8(data: bytes, *, charset: str, is_xml: bool, log: FaultLog) -> bytes:
    """Return a page as UTF-8 without byte order mark; see `rdf.encoding.to_utf8`.

    A page that declares no charset is UTF-8 if valid, else windows-1252, as in
    browsers. `charset` is that of the Content-Type, or empty. If `is_xml`, an XML
    declaration comes before `<meta>`. `log` takes `BAD_CHARSET`, also for a
    declaration that the bytes refute.
    """
    if data.startswith(_BOMS):
        return to_utf8(data, charset="", is_xml=False, log=log)
    if _is_utf16_le(data) or _is_utf16_be(data):
        codec = "utf-16-be" if data[0] == 0 else "utf-16-le"
        return to_utf8(data, charset=codec, is_xml=False, log=log)
    if wide_codec(data[:PRESCAN_BYTES]):
        return to_utf8(data, charset="", is_xml=False, log=log)
    codec = codec_of(charset.strip("\"' \t").lower())
    if codec.startswith(WIDE) and b"\0" not in data[:PRESCAN_BYTES]:
        log.note(Reason.BAD_CHARSET, f"is not {codec}")
        codec = ""
    elif codec and not is_known(codec):
        log.note(Reason.BAD_CHARSET, f"unknown charset {codec!r}")
        codec = ""
    codec = codec or codec_of(declared_charset(data, is_xml=is_xml))
    if codec in _OF_ASCII and data.isascii():
        is_shifted = _ESCAPE in data and not charset
        late = declared_charset(data, is_late=True) if is_shifted else ""
        if late != "iso-2022-jp":
            return data
        codec = late
    if not codec.startswith(WIDE):
        codec = _unless_refuted(data, codec, log)
    return to_utf8(data, charset=codec, is_xml=False, log=log) if codec else data


def _unless_refuted(data: bytes, codec: str, log: FaultLog) -> str:
    """Return the codec of a page, which may be another one; empty for valid UTF-8."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        if is_known(codec) and codec != "utf-8":
            return codec
        return _instead_of_utf8(data, codec, log)
    if codec in {"", "utf-8"}:
        return ""
    n_others = len(data) - len(text)  # bytes of UTF-8 after the first ones
    is_short = codec in _MULTIBYTE and n_others < _MIN_OTHERS
    if not n_others or (is_short and "\ufffd" not in data.decode(codec, "replace")):
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
    late = codec_of(declared_charset(data, is_late=True))
    if not is_known(late) or late == "utf-8":
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
        if is_known(codec_of(name)):
            return _narrow(name)
        label = label or name
    return _narrow(label)


def _labels(text: bytes) -> Iterator[str]:
    for meta in _META.finditer(text):
        found = _CHARSET.search(meta[1])
        if found is not None and not _NAMED_META.search(meta[1]):
            yield _label(found[1])


def _narrow(label: str) -> str:
    """Return a label, with UTF-16 replaced by UTF-8: the label was read as ASCII."""
    return "utf-8" if codec_of(label).startswith(WIDE) else label


def _label(name: bytes) -> str:
    return name.decode("latin-1").strip().lower()
