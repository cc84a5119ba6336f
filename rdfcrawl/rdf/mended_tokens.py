"""Tokens of Turtle and TriG with errors, and the lines at which statements begin."""

from __future__ import annotations

import re
from typing import Final

from rdfcrawl.rdf.lenient import STRINGS

MAX_OPEN_CHARS: Final = 64 * 1024  # of a short string with line breaks

_NO_WORD: Final = (
    rb"(?!\xc2[\xa0\x85]|\xe2\x80[\x8b-\x8f\xa8\xa9]|\xe3\x80\x80|\xef\xbb\xbf)"
)
_WORD: Final = (
    rb"(?:%s(?:_\([\w,.-]*+\)|[^\x00-\x20\"'<>()\[\]{};,#\\^|.\x7f]|\\."
    rb"|(?<=\w)'(?=\w)|\.+(?=[^\x00-\x20\"'<>()\[\]{};,#^|.\x7f])))"
) % _NO_WORD
_SPACE: Final = (
    rb"(?:[ \t\r\n]++|#[^\r\n]*+"
    rb"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\xa0\x85]|\xe2\x80[\x8b-\x8f\xa8\xa9]"
    rb"|\xe3\x80\x80|\xef\xbb\xbf)++"
)
PLAIN_SPACE = re.compile(rb"(?>[ \t\r\n]++|#[^\r\n]*+)*+")
IRI: Final = rb"<(?![<(])(?:[^<>\"\r\n]*+>|[^<>\s]*+>)"
TOKEN = re.compile(
    rb"(?P<space>" + _SPACE + rb")"
    rb"|(?P<string>" + STRINGS + rb")"
    rb"|(?P<iri>" + IRI + rb")"
    rb"|(?P<open><<\(?|\{\||[\[({])|(?P<close>\)?>>|\|\}|[\])}])"
    rb"|(?P<mark>[.;,]|~(?=[\s<_:\w{;,.]))"
    rb"|(?P<word>" + _WORD + rb"++)",
    re.DOTALL,
)
TAIL = re.compile(
    rb"@(?P<tag>[\w-]*+)|\s*+\^\^\s*+(?:(?P<type>"
    + IRI
    + rb")|(?P<name>"
    + _WORD
    + rb"++)|)"
)
_TERM: Final = (
    rb"(?:<[^<>\"\s]*+>|_:[^\s<>\"]++|[\w-]*+:[^\s\"<>()\[\]{};,]*+|\[\s*+\])"
)
_VERB: Final = rb"(?:a|<[^<>\"\s]*+>|[\w-]*+:[^\s\"<>()\[\]{};,]++)"
_STATEMENT: Final = (
    _TERM + rb"\s++" + _VERB + rb"\s*+(?:(?<=>)|(?<=\s))"
    rb"(?:[<\"'\[(]|_:|[\w-]*+:[^\s;,.]|[+-]?\.?\d|(?:true|false)\b)"
)
THREE_TERMS = re.compile(_STATEMENT)
TWO_TERMS = re.compile(
    _VERB + rb"\s++(?:<[^<>\"\s]*+>|" + STRINGS + rb"|[^\s;,.\"'<>{}]++)[^\s;,.]*+"
    rb"\s*+[;,.\]]",
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
MARKUP = re.compile(
    rb"</|<!|<\?|<(?i:br|b|p|div|html|body|head|pre|font|table|span|h\d|hr|i)"
    rb"(?:\s[^<>]*+)?/?>(?!\s++[<\w:]++[^\n]*+[.;,]\s*+$)",
    re.MULTILINE,
)
LINE = re.compile(rb"[^\r\n]*+")
BROKEN_STRING = re.compile(
    rb"(?P<quote>[\"'])(?P<text>(?:(?!(?P=quote))[^\\]|\\.){1,%d}?)(?P=quote)"
    rb"(?=\s*+(?:[;,\])}]|\.(?:\s|\Z)|\^\^)|@[A-Za-z])" % MAX_OPEN_CHARS,
    re.DOTALL,
)
DIRECTIVE = re.compile(
    rb"(?P<at>@?)(?P<keyword>(?i:prefix|base))\b[ \t]*+(?P<name>[^\s:<>\"]*+)\s*+:?\s*+"
    rb"<(?P<iri>[^<>\"\r\n]*+)>(?:\s*+(?P<dot>[.;](?=\s|\Z)))?"
)
KEYWORDS: Final = frozenset({b"@prefix", b"@base", b"prefix", b"base"})
PREFIX_NAME = re.compile(rb"@?(?i:prefix)\s++([^\s:<>\"]*+):")
NUMBER = re.compile(rb"[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?|true|false")
LABEL = re.compile(rb"_:[A-Za-z0-9_\x80-\xff](?:[\w\x80-\xff.-]*[\w\x80-\xff-])?")
LOCAL = re.compile(
    rb"(?:[\w\x80-\xff:]|%[0-9A-Fa-f]{2}|\\[_~.!$&'()*+,;=/?#@%-])"
    rb"(?:(?:[\w\x80-\xff:.-]|%[0-9A-Fa-f]{2}|\\[_~.!$&'()*+,;=/?#@%-])*"
    rb"(?:[\w\x80-\xff:-]|%[0-9A-Fa-f]{2}|\\[_~.!$&'()*+,;=/?#@%-]))?|"
)
LOCAL_ESCAPE = re.compile(r"\\([_~.!$&'()*+,;=/?#@%-])")
AFTER_FORMULA = re.compile(
    rb"\s*+(?:=|<=|(?!" + _STATEMENT + rb")" + TWO_TERMS.pattern + rb")", re.DOTALL
)
UP_TO_DELIMITER = re.compile(rb"[^\s;,.\[\](){}\"'<]*+")
SCHEME = re.compile(rb"<\s*+[A-Za-z][\w+.-]*+:")
MORE_WORDS: Final = {b"A": b"a", b"True": b"true", b"TRUE": b"true"}
MORE_WORDS.update({b"False": b"false", b"FALSE": b"false"})
