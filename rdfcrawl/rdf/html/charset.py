"""Detect the charset of a page as browsers do.

Source: HTML Standard 13.2.3.2 "Determining the character encoding"; Encoding Standard
4.2 "Names and labels".
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Reason
from rdfcrawl.rdf.text import to_utf8

if TYPE_CHECKING:
    from rdfcrawl.core.faultlog import FaultLog

PRESCAN_BYTES: Final = 1024  # HTML Standard: the declaration is within the first 1024

_BOMS: Final = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UTF16_MARKUP: Final = {b"<\0": "utf-16-le", b"\0<": "utf-16-be"}
_WIDE: Final = ("utf-16", "utf-32")
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_META = re.compile(rb"<meta[\s/]([^>]*)", re.IGNORECASE)
_CHARSET = re.compile(
    rb"""(?:^|[\s/"';])charset\s*+=\s*+["']?\s*+([^\s"'/>;]+)""", re.IGNORECASE
)
_XML_ENCODING = re.compile(rb"""\s*<\?xml\b[^>]*?\sencoding\s*=\s*["']([^"'>]*)["']""")

# Labels that denote another charset in pages than in Python.
_LABELS: Final = {
    **dict.fromkeys(
        (
            *("ascii", "us-ascii", "iso-8859-1", "iso8859-1", "iso_8859-1", "latin1"),
            *("latin-1", "l1", "cp1252", "x-cp1252", "windows-1252", "ansi"),
            *("x-user-defined", "iso-ir-100", "cp819", "ibm819"),
        ),
        "cp1252",
    ),
    **dict.fromkeys(
        ("gb2312", "gbk", "x-gbk", "gb_2312-80", "chinese", "csgb2312", "iso-ir-58"),
        "gb18030",
    ),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis", "ms_kanji"), "cp932"),
    **dict.fromkeys(
        ("euc-kr", "euckr", "ks_c_5601-1987", "ksc5601", "korean"), "cp949"
    ),
    **dict.fromkeys(("big5", "big5-hkscs", "cn-big5", "x-x-big5"), "big5hkscs"),
    **dict.fromkeys(("iso-8859-9", "latin5", "l5"), "cp1254"),
    **dict.fromkeys(("iso-8859-11", "tis-620", "dos-874", "windows-874"), "cp874"),
    **dict.fromkeys(("unicode", "ucs-2", "csunicode", "iso-10646-ucs-2"), "utf-16-le"),
    "x-cp1251": "cp1251",
    "x-cp1250": "cp1250",
    "iso-8859-8-i": "iso-8859-8",
    "x-mac-cyrillic": "mac_cyrillic",
    "macintosh": "mac_roman",
    "unicode-1-1-utf-8": "utf-8",
    "x-unicode20utf8": "utf-8",
}


def page_to_utf8(data: bytes, *, charset: str, is_xml: bool, log: FaultLog) -> bytes:
    """Return a page as UTF-8 without byte order mark; see `rdf.encoding.to_utf8`.

    A page that declares no charset is UTF-8 if valid, else windows-1252, as in
    browsers. `charset` is that of the Content-Type, or empty. If `is_xml`, an XML
    declaration comes before `<meta>`. `log` takes `BAD_CHARSET`.
    """
    if data.startswith(_BOMS):
        return to_utf8(data, charset="", is_xml=False, log=log)
    if codec := _UTF16_MARKUP.get(data[:2], ""):
        return to_utf8(data, charset=codec, is_xml=False, log=log)
    codec = _codec(charset.strip("\"' \t").lower())
    if codec.startswith(_WIDE) and b"\0" not in data[:PRESCAN_BYTES]:
        log.note(Reason.BAD_CHARSET, f"is not {codec}")
        codec = ""
    codec = codec or _codec(declared_charset(data, is_xml=is_xml))
    if codec:
        if codec == "cp1252" and data.isascii():
            return data
        return to_utf8(data, charset=codec, is_xml=False, log=log)
    try:
        data.decode()
    except UnicodeDecodeError:
        log.note(Reason.BAD_CHARSET, "no charset, not UTF-8; read as windows-1252")
        return to_utf8(data, charset="cp1252", is_xml=False, log=log)
    return data


def declared_charset(data: bytes, *, is_xml: bool = False) -> str:
    """Return the label declared in `<meta>` or the XML declaration; empty if none.

    >>> declared_charset(b'<meta charset="ISO-8859-15">')
    'iso-8859-15'
    """
    head = data[:PRESCAN_BYTES]
    xml = _XML_ENCODING.match(head)
    label = _label(xml[1]) if xml else ""
    if is_xml and label:
        return label
    for meta in _META.finditer(_COMMENT.sub(b"", head)):
        if found := _CHARSET.search(meta[1]):
            return _narrow(_label(found[1]))
    return _narrow(label)


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
        return name
    # Without a byte order, Python's codecs expect a byte order mark.
    return known if known.endswith(("le", "be")) else f"{known}-le"


def _label(name: bytes) -> str:
    return name.decode("latin-1").strip().lower()
