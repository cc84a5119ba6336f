"""Codecs of the labels of charsets, as browsers know them.

Labels mean the superset in use: `iso-8859-1` is windows-1252, `gb2312` is GB 18030.

Source: Encoding Standard 4.2 "Names and labels".
"""

from __future__ import annotations

import codecs
import re
from typing import Final

WIDE: Final = ("utf-16", "utf-32")
# Codecs of Python that are not charsets of documents; some take quadratic time.
_NO_CHARSETS: Final = frozenset(
    {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "utf-7"}
)
# Labels that denote another charset in documents than in Python.
_PREFIX = re.compile(r"^(?:windows|win|dos)(?=\W?\d)")
_NO_HYPHENS: Final = str.maketrans("", "", "-_ ")
_LABELS: Final = {
    label: codec
    for codec, labels in (
        ("cp1252", "ascii us-ascii iso-8859-1 iso8859-1 iso_8859-1 latin1 latin-1 l1"),
        ("cp1252", "cp1252 x-cp1252 windows-1252 ansi x-user-defined iso-ir-100"),
        ("cp1252", "cp819 ibm819"),
        ("gb18030", "gb2312 gbk x-gbk gb_2312-80 chinese csgb2312 iso-ir-58"),
        ("cp932", "shift_jis shift-jis sjis x-sjis ms_kanji windows-31j csshiftjis"),
        ("cp949", "euc-kr euckr ks_c_5601-1987 ksc5601 korean"),
        ("big5hkscs", "big5 big5-hkscs cn-big5 x-x-big5"),
        ("cp1254", "iso-8859-9 latin5 l5"),
        ("cp874", "iso-8859-11 tis-620 dos-874 windows-874"),
        ("utf-16-le", "unicode ucs-2 csunicode iso-10646-ucs-2"),
        ("cp1251", "x-cp1251"),
        ("cp1250", "x-cp1250"),
        ("iso-8859-8", "iso-8859-8-i logical visual"),
        ("iso-8859-7", "sun_eu_greek"),
        ("koi8-r", "koi koi8r"),
        ("mac_cyrillic", "x-mac-cyrillic"),
        ("mac_roman", "macintosh"),
        ("utf-8", "unicode-1-1-utf-8 x-unicode20utf8"),
    )
    for label in labels.split()
}


def is_known(codec: str) -> bool:
    """Return whether a name is that of a codec of text in documents."""
    try:
        info = codecs.lookup(codec)
    except (LookupError, ValueError):
        return False
    return info._is_text_encoding and info.name not in _NO_CHARSETS  # noqa: SLF001


def codec_of(label: str) -> str:
    """Return the codec of a label in lower case, or the label if there is none.

    >>> codec_of("iso-8859-1"), codec_of("utf-16"), codec_of("x-none")
    ('cp1252', 'utf-16-le', 'x-none')
    """
    name = _LABELS.get(label, label)
    try:
        known = codecs.lookup(name).name
    except (LookupError, ValueError):
        usual = _PREFIX.sub("cp", label.removeprefix("x-")).translate(_NO_HYPHENS)
        exists = usual != label and is_known(_LABELS.get(usual, usual))
        return codec_of(usual) if exists else name
    if not known.startswith(WIDE):
        return known if known == "utf-8" else name
    # Without a byte order, Python's codecs expect a byte order mark.
    return known if known.endswith(("le", "be")) else f"{known}-le"
