"""The charset of a page: as browsers find it, and as its labels are meant.

Source: HTML Standard 13.2.3.2 "Determining the character encoding"; Encoding Standard
4.2 "Names and labels".
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, Final

from rdfcrawl.errors import Reason
from rdfcrawl.rdf.encoding import to_utf8

if TYPE_CHECKING:
    from rdfcrawl.rdf.faultlog import FaultLog

PRESCAN_BYTES: Final = 1024  # HTML Standard: the declaration is within the first 1024

_BOMS: Final = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UTF16_MARKUP: Final = (b"<\0", b"\0<")
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_META = re.compile(rb"<meta[\s/]([^>]*)", re.IGNORECASE)
_CHARSET = re.compile(
    rb"""(?:^|[\s/"';])charset\s*=\s*["']?\s*([^\s"'/>;]+)""", re.IGNORECASE
)
_XML_ENCODING = re.compile(rb"""\s*<\?xml\b[^>]*?\sencoding\s*=\s*["']([^"'>]*)["']""")

# Labels that mean another charset in pages than Python's codec of this name.
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

    A page that declares no charset is UTF-8 if it is valid as such, and
    windows-1252 else, which is what browsers take it for.

    Args:
        data: the page.
        charset: of the Content-Type, or empty.
        is_xml: its media type says so: an XML declaration comes before `<meta>`.
        log: takes `BAD_CHARSET`.
    """
    if data.startswith(_BOMS + _UTF16_MARKUP):
        return to_utf8(data, charset=charset, is_xml=False, log=log)
    label = charset.strip("\"' \t").lower() or declared_charset(data, is_xml=is_xml)
    if label:
        codec = _LABELS.get(label, label)
        if codec == "cp1252" and data.isascii():
            return data
        return to_utf8(data, charset=codec, is_xml=False, log=log)
    try:
        data.decode()
    except UnicodeDecodeError:
        log.note(Reason.BAD_CHARSET, "no charset and not UTF-8, read as windows-1252")
        return to_utf8(data, charset="cp1252", is_xml=False, log=log)
    return data


def declared_charset(data: bytes, *, is_xml: bool = False) -> str:
    """Return the label that a page declares in `<meta>` or as XML; empty if none.

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
            name = _label(found[1])
            # Whoever reads this as ASCII cannot have UTF-16 before them.
            return "utf-8" if name.startswith("utf-16") else name
    return label


def _label(name: bytes) -> str:
    return name.decode("latin-1").strip().lower()
