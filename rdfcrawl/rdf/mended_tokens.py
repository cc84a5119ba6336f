"""Tokens of Turtle and TriG with errors, and the lines at which statements begin."""

from __future__ import annotations

import re
from typing import Final

from rdfcrawl.rdf.lenient import STRINGS

MAX_OPEN_CHARS: Final = 64 * 1024  # of a short string with line breaks

_NO_WORD: Final = (
    rb"(?!\xc2[\xa0\x85]|\xe2\x80[\x80-\x8b\x8e\x8f\xa8\xa9\xaf]|\xe2\x81\x9f"
    rb"|\xe1\x9a\x80|\xe3\x80\x80|\xef\xbb\xbf)"
)
_WORD: Final = (
    rb"(?:%s(?:_\([\w,.-]*+\)|[^\x00-\x20\"'<>()\[\]{};,#\\^|.\x7f]|\\."
    rb"|(?<=\w)'(?=\w)|\.+(?=[^\x00-\x20\"'<>()\[\]{};,#^|.\x7f])))"
) % _NO_WORD
_SPACE: Final = (
    rb"(?:[ \t\r\n]++|#[^\r\n]*+"
    rb"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\xa0\x85]"
    rb"|\xe2\x80[\x80-\x8b\x8e\x8f\xa8\xa9\xaf]|\xe2\x81\x9f|\xe1\x9a\x80"
    rb"|\xe3\x80\x80|\xef\xbb\xbf|(?<![^\n])(?:<{7}|={7}|>{7}|\|{7})[^\r\n]*+)++"
)
PLAIN_SPACE = re.compile(rb"(?>[ \t\r\n]++|#[^\r\n]*+)*+")
# Also `<<http://e.example/a>>`, and an IRI with line breaks but without spaces
IRI: Final = (
    rb"<(?:(?![<(])(?:[^<>\"\r\n]*+>|[^<>\s]*+>"
    rb"|[A-Za-z][\w+.-]*+:[^<>\"\s]*+(?:[\r\n]++[ \t]*+[^<>\"\s]*+){1,4}+>)"
    rb"|<[A-Za-z][\w+.-]*+:[^<>\"\s]*+>>?+)"
)
TOKEN = re.compile(
    rb"(?P<space>" + _SPACE + rb")"
    rb"|(?P<string>" + STRINGS + rb")"
    rb"|(?P<iri>" + IRI + rb")"
    rb"|(?P<open><<\(?|\{\||[\[({])|(?P<close>\)?>>|\|\}|[\])}])"
    rb"|(?P<mark>[;,]|\.(?!\d+[eE\s;,.)\]])|~(?=[\s<_:\w{;,.]))"
    rb"|(?P<word>" + _WORD + rb"++)",
    re.DOTALL,
)
# White space may precede a language tag, but the next line may be a directive.
TAIL = re.compile(
    rb"(?:\s++(?!@(?i:prefix|base|version|keywords|for(?:all|some))\b))?+"
    rb"@(?P<tag>[\w-]*+(?:\.(?i:utf-?8|iso-?8859-?\d\d?)\b)?+)"
    rb"(?P<extra>\^\^(?:"
    + IRI
    + rb"|"
    + _WORD
    + rb"++))?+|\s*+\^\^\s*+(?:(?P<type>"
    + IRI
    + rb")|(?P<name>(?:(?!@)"
    + _WORD
    + rb")++)|)(?:@(?P<late>[A-Za-z][\w-]*+))?+"
)
_TERM: Final = (
    rb"(?:<[^<>\"\s]*+>|_:[^\s<>\"]++|[\w-]*+:[^\s\"<>()\[\]{};,]*+|\[\s*+\])"
)
_VERB: Final = rb"(?:a|<[^<>\"\s]*+>|[\w-]*+:[^\s\"<>()\[\]{};,]++)"
_OBJECT_BEGIN: Final = (
    rb"\s*+(?:(?<=>)|(?<=\s))"
    rb"(?:[<\"'\[(]|_:|[\w-]*+:[^\s;,.]|[+-]?\.?\d|(?:true|false)\b)"
)
_STATEMENT: Final = _TERM + rb"\s++" + _VERB + _OBJECT_BEGIN
THREE_TERMS = re.compile(_STATEMENT)
# A statement whose second term cannot be an object
CLEAR_STATEMENT = re.compile(
    _TERM + rb"\s++(?:a\s|" + _VERB + rb"\s*+(?:(?<=>)|(?<=\s))"
    rb"(?:[\"']|[+-]?\.?\d))"
)
BEGIN = re.compile(
    rb"(?i:@?(?:prefix|base)\s)|(?i:graph\s++)?"
    + _TERM
    + rb"?\s*+\{(?!\|)|\}|"
    + _STATEMENT
)
TWO_TERMS = re.compile(
    _VERB + rb"\s++(?:<[^<>\"\s]*+>|" + STRINGS + rb"|[^\s;,.\"'<>{}]++)[^\s;,.}]*+"
    rb"\s*+[;,.\]}]",
    re.DOTALL,
)
GRAPH_NAME = re.compile(rb"(<[^<>\"\s]++>|_:[\w-]++)\s*+\.(?=\s|\Z)")
START = re.compile(
    rb"^[ \t]*+(?:@(?i:prefix|base)\s|(?i:prefix\s+[\w.-]*:\s*<|base\s+<)"
    rb"|(?i:graph\s++)?"
    + _TERM
    + rb"?\s{0,16}+\{(?!\|)\s*+(?:$|[<_:\w])|\}|"
    + _STATEMENT
    + rb")",
    re.MULTILINE,
)
# A predicate behind a relative IRI such as `<b>`, which is also a tag of HTML
_PREDICATE: Final = (
    rb"(?:a(?=\s++(?:[\w-]*+:|<[^<>\s/:#]*+[/:#]))|<(?!/)[^<>\"\s/:#]*+[/:#][^<>\"\s]*+>"
    rb"|[\w-]*+:[^\s\"<>()\[\]{};,]++)"
)
MARKUP = re.compile(
    rb"</|<!|<\?|<(?i:br|b|p|div|html|body|head|pre|font|table|span|h\d|hr|i)"
    rb"(?:\s[^<>]*+)?/?>(?!\s++" + _PREDICATE + _OBJECT_BEGIN + rb")"
)
BAD_IRI = re.compile(rb"<(?![<(/!?])[^<>\s\"]*+<[^>\s\"]*+>")
LINE = re.compile(rb"[^\r\n]*+")
BROKEN_STRING = re.compile(
    rb"(?P<quote>[\"'])(?P<text>(?:(?!(?P=quote))[^\\]|\\.){1,%d}?)(?P=quote)"
    rb"(?=\s*+(?:[;,\])}]|\.(?:\s|\Z)|\^\^)|@[A-Za-z])" % MAX_OPEN_CHARS,
    re.DOTALL,
)
# A string in quotation marks of a word processor, on one line
CURLY_STRING = re.compile(
    rb"(?:\xe2\x80[\x9c-\x9e])(?P<text>(?:(?!\xe2\x80[\x9c-\x9e])[^\"\\\r\n])*+)"
    rb"\xe2\x80[\x9c\x9d](?=\s*+[;,.\])}]|@[A-Za-z]|\^\^)"
)
DIRECTIVE = re.compile(
    rb"(?P<at>@?)(?P<keyword>(?i:prefix|base))\b[ \t]*+(?P<name>[^\s:<>\"]*+)\s*+:?\s*+"
    rb"<(?P<iri>[^<>\"\r\n]*+)>(?:\s*+(?P<dot>[.;](?=\s|\Z)))?"
)
VERSION = re.compile(rb"@?(?i:version)\s++(?:\"[^\"\n]*+\"|'[^'\n]*+')(?:\s*+\.)?")
KEYWORDS: Final = frozenset(
    {b"@prefix", b"@base", b"@version", b"prefix", b"base", b"version"}
)
PREFIX_NAME = re.compile(rb"@?(?i:prefix)\s++([^\s:<>\"]*+):")
NUMBER = re.compile(
    rb"[+-]?(?:(?:\d++(?:\.\d*+)?+|\.\d++)[eE][+-]?\d++|\d++(?:\.\d++)?+|\.\d++)"
    rb"|true|false"
)
_BASE_CHARS: Final = (
    r"A-Za-z\xc0-\xd6\xd8-\xf6\xf8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d"
    r"\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd"
    r"\U00010000-\U000effff"
)
_CHARS: Final = _BASE_CHARS + r"0-9_\xb7\u0300-\u036f\u203f\u2040\-"
PREFIX = re.compile(f"(?:[{_BASE_CHARS}](?:[{_CHARS}.]*[{_CHARS}])?)?")
LABEL = re.compile(f"_:[{_BASE_CHARS}0-9_](?:[{_CHARS}.]*[{_CHARS}])?")
_ESCAPED: Final = r"%[0-9A-Fa-f]{2}|\\[_~.!$&'()*+,;=/?#@%-]"
LOCAL = re.compile(
    rf"(?:(?:[{_BASE_CHARS}0-9_:]|{_ESCAPED})"
    rf"(?:(?:[{_CHARS}:.]|{_ESCAPED})*(?:[{_CHARS}:]|{_ESCAPED}))?)?"
)
LOCAL_ESCAPE = re.compile(r"\\([_~.!$&'()*+,;=/?#@%-])")
AFTER_FORMULA = re.compile(
    rb"\s*+(?:=|<=|(?!" + _STATEMENT + rb")" + TWO_TERMS.pattern + rb")", re.DOTALL
)
# The end of an open IRI, and of a name with `#`, before more terms on the line
IRI_END = re.compile(rb"[^\r\n]*?(?=[ \t][;,.](?:\s|\Z)|[;,.][ \t]*+$)", re.MULTILINE)
FRAGMENT = re.compile(rb"#[^\s#]++(?=[ \t]++" + _VERB + rb"\s)")
# With brackets around the name of a scheme that is none
PATH = re.compile(r"[!^][\w-]*:")  # of N3
NO_SCHEME = re.compile(rb"[^/?#]*:")
UP_TO_DELIMITER = re.compile(rb"[^\s;,.\[\](){}\"'<]*+")
SCHEME = re.compile(rb"<\s*+[A-Za-z][\w+.-]*+:")
MORE_WORDS: Final = {b"A": b"a", b"True": b"true", b"TRUE": b"true"}
MORE_WORDS.update({b"False": b"false", b"FALSE": b"false"})
