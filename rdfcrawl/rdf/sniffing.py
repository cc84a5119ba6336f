"""Decide on the format of a response by its headers, name and first bytes.

An RDF format in `Content-Type` counts unless the content clearly contradicts it; vague
types (`text/plain`, `application/xml`, none, …) are resolved by the URL's extension and
then by the first bytes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rdfcrawl.core import formats
from rdfcrawl.core.formats import (
    HEAD_BYTES,
    HTML,
    TURTLE,
    FormatDecision,
    PackingKind,
    file_name,
)
from rdfcrawl.core.namespaces import RDF
from rdfcrawl.rdf.text import is_binary, utf8_head

if TYPE_CHECKING:
    from rdfcrawl.core.content import ByteSource

_NAMES_WITHOUT_MAGIC = frozenset({"br", "tar", "zip"})
_TYPES_WITHOUT_MAGIC = frozenset(
    {"application/brotli", "application/x-brotli", "application/br"}
    | {"application/zip", "application/x-zip-compressed"}
)

# First bytes of known formats that are not text.
_MAGIC: tuple[tuple[bytes, str | PackingKind | formats.Format], ...] = (
    (b"\x1f\x8b", PackingKind.GZIP),
    *((b"BZh%d1AY&SY" % level, PackingKind.BZIP2) for level in range(1, 10)),
    *((b"BZh%d\x17rE8P\x90" % level, PackingKind.BZIP2) for level in range(1, 10)),
    (b"\xfd7zXZ\x00", PackingKind.XZ),
    (b"\x28\xb5\x2f\xfd", PackingKind.ZSTD),
    # RFC 8878 3.1.2: skippable frames, which pzstd writes first
    *((bytes((0x50 + i, 0x2A, 0x4D, 0x18)), PackingKind.ZSTD) for i in range(16)),
    (b"\x04\x22\x4d\x18", PackingKind.LZ4),
    (b"\x5d\0\0", PackingKind.LZMA),  # usual properties, and a usual dictionary
    (b"LZIP\1", PackingKind.LZIP),
    (b"\x1f\x9d", PackingKind.COMPRESS),
    (b"PK\x03\x04", PackingKind.ZIP),
    (b"PK\x05\x06", PackingKind.ZIP),  # empty
    (b"7z\xbc\xaf\x27\x1c", PackingKind.SEVEN_ZIP),
    (b"$HDT", formats.HDT),
    (b"%PDF-", "PDF"),
    (b"\x89PNG", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF8", "GIF"),
)
# Formats that are never read.
_MEDIA = (
    *((magic, what) for magic, what in _MAGIC if what in ("PDF", "PNG", "JPEG", "GIF")),
    *((b"ID3%c" % version, "MP3") for version in (2, 3, 4)),
    (b"OggS\x00", "Ogg"),
    (b"fLaC\x00", "FLAC"),
    (b"\x1a\x45\xdf\xa3", "Matroska"),
    (b"FLV\x01", "FLV"),
    (b"\x00\x00\x01\x00", "icon"),
    (b"II*\x00", "TIFF"),
    (b"MM\x00*", "TIFF"),
    (b"wOFF", "WOFF"),
    (b"wOF2", "WOFF"),
    (b"%!PS-", "PostScript"),
    (b"{\\rtf1", "RTF"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Microsoft Office"),
)
_RIFF_TYPES = (b"WEBP", b"WAVE", b"AVI ")
_MEDIA_STARTS = tuple(magic for magic, _ in _MEDIA)
_MAGIC_STARTS = tuple(magic for magic, _ in _MAGIC)
_TAR_MAGIC = slice(257, 262), b"ustar"  # POSIX pax, "ustar Interchange Format"

_IRI = rb"<[^<>\"{}|^`\s]*>"
_IRI_OR_BLANK = rb"(?:" + _IRI + rb"|_:[^\s<>\"]{1,200}+)"
_LITERAL = rb'"(?>[^"\\\n]++|\\.)*+"(?:@[\w-]++|\^\^' + _IRI + rb")?"
_COMMENTS = rb"(?>\s++|#[^\n]*+\n)*+"
# A relative IRI at the beginning: Turtle
_STATEMENT = re.compile(
    rb"%s(?=_:|<[A-Za-z][\w+.-]*+:)%s[ \t]*+%s[ \t]*+(?:%s|%s|<<\([^\n]*\)>>)[ \t]*+"
    rb"(%s)?[ \t]*+\.[ \t]*+(?:#[^\n]*+)?(?:[\r\n]|$)"
    % (_COMMENTS, _IRI_OR_BLANK, _IRI, _IRI_OR_BLANK, _LITERAL, _IRI_OR_BLANK)
)
# A statement over several lines, which others read in N-Triples: Turtle
_LONG_STATEMENT = re.compile(
    rb"%s(?=_:|<[A-Za-z][\w+.-]*+:)%s\s*+%s\s*+(?:%s|%s)\s*+\.(?:\s|\Z)"
    % (_COMMENTS, _IRI_OR_BLANK, _IRI, _IRI_OR_BLANK, _LITERAL)
)
_DIRECTIVE = re.compile(
    _COMMENTS + rb"(?:@prefix\s|@base\s|(?i:prefix\s+[^\s:]*:\s*<|base\s+<))"
)
_LATE_DIRECTIVE = re.compile(rb"\n[ \t]*+(?:@prefix|(?i:prefix))\s+[^\s:<>]*+:\s*+<")
# A subject that is not a tag: `<html>\n<head>` begins a page.
_TURTLE_START = re.compile(
    rb"%s(?:(?:(?=_:|<(?:[A-Za-z][\w+.-]*+:|[#./?>]))%s|\[\s*+\]"
    rb"|\([^()\n]{0,500}+\))\s+|\[\s*+)(?:a\s|%s\s|[\w-]*:[\w-])"
    % (_COMMENTS, _IRI_OR_BLANK, _IRI)
)
# `<g> { <s> <p>`, without directives
_TRIG_START = re.compile(
    rb"%s(?:(?i:graph)\s+)?(?:%s)?\s*\{\s*%s\s+(?:a\s|%s)"
    % (_COMMENTS, _IRI_OR_BLANK, _IRI_OR_BLANK, _IRI)
)
_LATE_STATEMENT = re.compile(
    rb"\n[ \t]*+(?:_:\w++|<[A-Za-z][\w+.-]*+:[^\s<>\"]*+>)[ \t]++"
    rb"<[A-Za-z][\w+.-]*+:[^\s<>\"]*+>[ \t]++[<_\"]"
)
_ABSOLUTE_START = re.compile(
    rb"%s(?:_:|<[A-Za-z][\w+.-]*+:)[^\s<>\"]*+>?+\s*+(?!\{)"
    rb"[^\r\n]*+(?<![;,])(?:[\r\n]|\Z)" % _COMMENTS
)
_RULE = re.compile(rb"\}\s*+(?:=>|<=)\s*+\{")
_GRAPH_BLOCK = re.compile(
    rb"[\n.}][ \t]*+(?:(?i:graph)[ \t]++)?"
    rb"(?:" + _IRI_OR_BLANK + rb"|[\w-]*+:[\w.-]*+)?[ \t]*+\r?\n?[ \t]*+\{"
)
# Atomic groups: thousands of comments in the prolog must not cause backtracking.
_XML_ROOT = re.compile(
    rb"(?>\s++|<\?(?!xml\w).*?\?>|<\?.*?\?>|<!--.*?-->)*+"
    rb"<(?:!(?i:doctype)\s++([\w:.-]++)|([\w:.-]++)(?=\s|/?>|$))",
    re.DOTALL,
)
# From the name of a DOCTYPE to the first element, not to markup of entities or comments
_XML_ELEMENT = re.compile(
    rb"(?>[^\[<>\"']++|\"[^\"]*+\"|'[^']*+')*+"
    rb"(?:\[(?>[^\]\"'<]++|<!--(?>.*?-->|.*+)|\"[^\"]*+\"|'[^']*+'|<)*+\])?+"
    rb"(?>[^<]++|<!--.*?-->|<\?.*?\?>)*+<([A-Za-z_][\w:.-]*+)[^<>]*+",
    re.DOTALL,
)
_NODE_ATTRIBUTE = re.compile(rb"\s[\w.-]++:(?:about|ID|nodeID)\s*+=")
# Roots of other vocabularies, in which an RDF/XML parser would still find statements;
# `Ontology` is OWL/XML.
_OTHER_ROOTS = frozenset(b"feed rss svg svg:svg sparql x:xmpmeta Ontology".split())
_XML_START = re.compile(rb"\s*<(?:\?xml\s|!(?i:doctype)\s|!--|[\w:.-]+\s+xmlns\b)")
JSON_START = re.compile(rb'\s*(?:\{\s*"|\[\s*\{|\{\s*\}\s*$|\[\s*\]\s*$)')
_RDF_JSON_START = re.compile(
    rb'\s*\{\s*"[^"\s]*"\s*:\s*\{\s*"[A-Za-z][^"\s]*"\s*:\s*\[\s*\{'
    rb'[^{}]*"type"\s*:\s*"(?:uri|literal|bnode)"'
)
_RDF_JSON_VALUE = re.compile(rb'[{,]\s*+"type"\s*+:\s*+"(?:uri|literal|bnode)"')
_LATE_ROOT = re.compile(
    rb"(?:\s*+<\?xml\b[^<>]*+>)?+(?:\s*+<!(?i:doctype)\b[^<>\[]*+>)?+"
    rb"(?>[^<!?]++|<(?!!|\?)(?![\w.-]*+:?RDF\s))*+<[\w.-]*+:?RDF\s"
)
_JSON_STRING = rb'"(?>[^"\\\n]++|\\.)*+"'
# A line with an array of six strings, the first two not empty
_HEXTUPLE = re.compile(
    rb"\s*\[\s*(?:(?!\"\")%b\s*,\s*){2}(?:%b\s*,\s*){3}%b\s*\][ \t]*(?:[\r\n]|$)"
    % ((_JSON_STRING,) * 3)
)
_JSON_LD_KEY = re.compile(rb'"@(?:context|id|graph|type)"\s*:')
# Text before JSON that the mender of JSON skips, without prose and markup
_JSON_PROLOGUE = re.compile(
    rb"(?>\)\]\}'|[\s\0;,()0-9]++|\xc2\xa0|\xe2\x80[\x8b-\x8f\xa8\xa9]|\xe2\x81\xa0|\xef\xbb\xbf"
    rb"|<!--(?=\s*+[{\[])|<!--.*?-->|<!\[CDATA\[|/\*.*?\*/|(?://|#)[^\r\n]*+"
    rb"|\{\}\s*+&&|[\"']use strict[\"']"
    rb"|(?:(?:var|let|const|export|default|return)\s++)*+(?:[\w$.]{1,100}+\s*+[=(])?+)*+"
    rb"(?:\[\s*+)*+\{\s*+(?:[\"'/<&]|[\w$@]++\s*+:)",
    re.DOTALL,
)
_NEARLY_KEY = re.compile(rb"@(?:context|id|graph|type)(?:[\"'`]|&quot;)?+\s*+:")
_PAGE_MARK = re.compile(rb"<(?:head|title|meta|link|script\s)|\sitem(?:scope|prop)\b")
# The schema that a catalog names, or the fields of a dataset
_DCAT_US = re.compile(
    rb"//project-open-data(?:\.cio)?\.gov/v1|//resources\.data\.gov/schemas/dcat-us/v1"
    rb'|"accessLevel"\s*:\s*"(?i:(?:restricted )?public|non-public|private)"'
    rb'|"(?:bureauCode|programCode)"\s*:\s*[\["]'
    rb'|"@type"\s*:\s*"(?:dcat:)?Catalog".{0,2000}"dataset"\s*:\s*\[',
    re.DOTALL,
)
# One of them is in all of these, and is found much faster
_DCAT_US_MARKS = (
    b"//project-open-data", b"dcat-us/v1", b'"accessLevel"', b'Code"', b'Catalog"'
)  # fmt: skip
_CONTEXT_OF_OTHERS = re.compile(
    rb'"@context"\s*:\s*+(?!"[^"]{0,40}(?:project-open-data|dcat-us/v1)|null\b)'
)
_RDF_NAMESPACE = RDF.encode()
_OWN_ROOTS = {b"trix": formats.TRIX, b"oai-pmh": formats.OAI_PMH}
_HTML_ROOTS = frozenset({b"html", b"head", b"body", b"script", b"meta", b"div"})
# Other elements at the beginning of a page, unless they are IRIs in Turtle.
_HTML_STARTS = frozenset(
    b"title link style base br hr img h1 h2 h3 p a b span section article aside main"
    b" nav header footer table ul ol dl form center font iframe noscript i em strong"
    b" small blockquote address details figure picture video audio pre button input"
    b" select textarea label template fieldset big tt u marquee".split()
)
# `<a> <p> 'x'`, in which names of elements may be IRIs
_RELATIVE_STATEMENT = re.compile(
    rb"%s<[^<>\s]*+>\s++(?:<[^<>\s]*+>|a|[\w-]*+:[^\s<>\"]*+)\s*+(?:[\"']|\[\s|_:"
    rb"|(?:<[^<>\s]*+>|[\w-]*+:[^\s<>\";,]*+|[\d.+-]++|true|false)\s*+[.;,](?:\s|\Z))"
    % _COMMENTS
)
# A page behind messages of the server.
_LATE_PAGE = re.compile(
    rb"[^{}\[\]\"]{1,2000}?<(?:!doctype\s+html|html)[\s>]", re.IGNORECASE
)
# RFC 9264 4.1; `<a>` alone would be markup.
_LINK_SET = re.compile(rb"\s*+<[^<>]*+>\s*+[;,]")

_MARKUP_STARTS = (b"<?xml ", b"<!DOCTYPE ", b"<!doctype ")
# A comment that may be longer than the first bytes
_BEGINS_COMMENT = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*+(?:<\?xml\b[^<>]*+>\s*+)?"
    rb"(?:<!(?i:doctype)\b[^<>\[]*+>\s*+)?(?:<!-|/\*)"
)
_MAX_COMMENT_BYTES = 256 * 1024

LINK_SET = "a link set"
_NOTHING = FormatDecision(None, "content")


def decide(media_type: str, url: str, head: bytes) -> FormatDecision:
    """Return the format of the response with these first bytes.

    Args:
        media_type: of `Content-Type`, with or without parameters, or empty.
        url: only its extension is used.
        head: first `HEAD_BYTES` of the body.
    """
    head = utf8_head(head)
    if "linkset" in media_type and _LINK_SET.match(head):
        return FormatDecision(None, "content-type", LINK_SET)
    decision = _decide(media_type, url, head)
    if (decision.format is None or decision.format is HTML) and _is_nearly_json_ld(
        decision, head, media_type
    ):
        return FormatDecision(formats.JSON_LD, "content")
    return decision


def head_of(source: ByteSource) -> bytes:
    """Return the first bytes for `decide`, behind a comment that is longer."""
    head = source.head()
    begin = _BEGINS_COMMENT.match(head)
    if begin is None or source.data is None:
        return head
    mark = b"*/" if begin[0].endswith(b"*") else b"-->"
    if head.find(mark, begin.end()) >= 0:
        return head
    end = source.data.find(mark, begin.end(), _MAX_COMMENT_BYTES) + len(mark)
    return source.data[end : end + HEAD_BYTES] if end >= len(mark) else head


def _decide(media_type: str, url: str, head: bytes) -> FormatDecision:
    declared = formats.format_of_media_type(media_type)
    name = file_name(url)
    # The names of most resources have no extension.
    has_no_extension = "." not in name and name not in _NAMES_WITHOUT_MAGIC
    if declared is not None and declared is not HTML and has_no_extension:
        return _checked(declared, "content-type", head)
    if packing := _packing_without_magic(media_type, name, head):
        return FormatDecision(None, "extension", packing, packing)
    by_name = formats.format_of_name(url)
    # Servers declare unknown types as HTML.
    if declared is not None and (declared is not HTML or by_name is None):
        return _checked(declared, "content-type", head)
    if by_name is not None:
        return _checked(by_name, "extension", head)
    return _sniff(head)


def begins_json(head: bytes) -> bool:
    """Return whether a text may be JSON, perhaps behind comments or code."""
    return JSON_START.match(head) is not None or _JSON_PROLOGUE.match(head) is not None


def media_at(head: bytes) -> str:
    r"""Return the name of the picture, sound, video or similar format, or "".

    >>> media_at(b"\x89PNG\r\n"), media_at(b"<html>")
    ('PNG', '')
    """
    if head.startswith(_MEDIA_STARTS):
        return next(what for magic, what in _MEDIA if head.startswith(magic))
    if head[:1] == b"\0" and head[4:8] == b"ftyp":
        return "MP4"
    return "RIFF" if head[:4] == b"RIFF" and head[8:12] in _RIFF_TYPES else ""


def _checked(
    claimed: formats.Format, decided_by: formats.DecidedBy, head: bytes
) -> FormatDecision:
    """Return the claimed format unless the content clearly contradicts it."""
    if (
        decided_by == "content-type"
        and claimed.is_line_based
        and head[:1] in (b"<", b"_")
        and _ABSOLUTE_START.match(head)
        and _TURTLE_START.match(head)
        and head[_TAR_MAGIC[0]] != _TAR_MAGIC[1]
        and not _is_over_lines(head)
    ):
        return FormatDecision(claimed, decided_by)  # text, as in `_sniff`
    sniffed = _sniff(head)
    actual = sniffed.format
    if actual is None and _refutes(sniffed.found, claimed, head):
        return sniffed
    if actual is None or (actual is HTML and _is_behind_message(claimed, head)):
        return FormatDecision(claimed, decided_by)
    if actual.family != claimed.family or _is_sure(actual, claimed, decided_by, head):
        is_json_ld = actual is formats.DCAT_US and claimed is formats.JSON_LD
        is_refuted = decided_by == "content-type" and not is_json_ld
        refuted = claimed.name if is_refuted else ""
        return sniffed._replace(refuted=refuted)
    return FormatDecision(claimed, decided_by)


def _is_nearly_json_ld(decision: FormatDecision, head: bytes, media_type: str) -> bool:
    """Return whether comments, code or, in JSON by its label, tags precede JSON-LD."""
    if decision.packing is not None or decision.found == "JSON":
        return False
    begin = _JSON_PROLOGUE.match(head)
    if begin is not None and _JSON_LD_KEY.search(head, begin.end() - 1):
        return True
    if "json" not in media_type.lower():
        return False
    key = _NEARLY_KEY.search(head)
    return key is not None and not _PAGE_MARK.search(head[: key.start()].lower())


def _is_behind_message(claimed: formats.Format, head: bytes) -> bool:
    """Return whether tags of HTML are terms, or a message before the claimed format."""
    if claimed is formats.RDF_JSON:
        return _RDF_JSON_VALUE.search(head) is not None
    if claimed is formats.RDF_XML:
        root = _LATE_ROOT.match(head)
        return root is not None and not _PAGE_MARK.search(root[0].lower())
    return claimed.family == "text" and bool(
        _RELATIVE_STATEMENT.match(head)
        or _LATE_DIRECTIVE.search(head)
        or _LATE_STATEMENT.search(head)
    )


def _is_sure(
    actual: formats.Format,
    claimed: formats.Format,
    decided_by: formats.DecidedBy,
    head: bytes,
) -> bool:
    """Return whether the claimed format cannot be, of two formats of a family."""
    if claimed.family in ("json", "xml") or claimed.reader:
        return actual is not claimed
    if actual in (formats.N_QUADS, formats.N3):
        return actual is not claimed
    if not claimed.is_line_based or actual not in (TURTLE, formats.TRIG):
        return False
    # The first line of N-Triples may be bad.
    if decided_by == "extension" or _is_over_lines(head):
        return True
    return not _ABSOLUTE_START.match(head)


def _is_over_lines(head: bytes) -> bool:
    """Return whether the first statement has several lines."""
    if head[: head.find(b"\n")].rstrip().endswith(b"."):  # usual
        return False
    return not _STATEMENT.match(head) and _LONG_STATEMENT.match(head) is not None


def _refutes(found: str, claimed: formats.Format, head: bytes) -> bool:
    """Return whether content without a known RDF format cannot be the claimed one."""
    if found == "JSON":  # JSON-LD without keywords, if its context is separate
        return claimed.family != "json"
    if found == "XML":  # rdf:RDF is optional in RDF/XML; `<a>` may be an IRI
        if claimed.family == "xml":
            return _xml_root(head)[0] in _OTHER_ROOTS
        if claimed.family == "json":  # comments may be long
            return _XML_ROOT.match(head) is not None
        if claimed.family == "html" or _is_behind_message(claimed, head):
            return False
        return _XML_START.match(head) is not None
    return bool(found) or is_binary(head)


def _sniff(head: bytes) -> FormatDecision:
    if head.startswith(_MAGIC_STARTS):
        return _by_magic(next(what for magic, what in _MAGIC if head.startswith(magic)))
    if head[_TAR_MAGIC[0]] == _TAR_MAGIC[1]:
        return _by_magic(PackingKind.TAR)
    if head.startswith(_MARKUP_STARTS):  # usual, and nothing else
        return _sniff_markup(head)
    if JSON_START.match(head):
        found = _format_of_json(head)
    elif (found := _sniff_text(head)) is not None:
        pass
    elif _HEXTUPLE.match(head):
        found = formats.HEXTUPLES
    elif head.lstrip()[:1] in (b"{", b"[", b"/", b"#") and _is_dcat_us(head):
        found = formats.DCAT_US  # comments may precede it
    else:
        return _sniff_markup(head)
    return FormatDecision(found, "content", "" if found else "JSON")


def _format_of_json(head: bytes) -> formats.Format | None:
    is_json_ld = _JSON_LD_KEY.search(head) is not None
    if not is_json_ld and _RDF_JSON_START.match(head):
        return formats.RDF_JSON
    if _is_dcat_us(head):
        return formats.DCAT_US
    return formats.JSON_LD if is_json_ld else None


def _is_dcat_us(head: bytes) -> bool:
    """Return whether a document is a catalog of DCAT-US."""
    if b'"@context"' in head and _CONTEXT_OF_OTHERS.search(head):
        return False
    is_likely = any(mark in head for mark in _DCAT_US_MARKS)
    return is_likely and _DCAT_US.search(head) is not None


def _sniff_text(head: bytes) -> formats.Format | None:
    if _DIRECTIVE.match(head):
        if b"{" not in head or not _GRAPH_BLOCK.search(head):
            return TURTLE
        return formats.N3 if _RULE.search(head) else formats.TRIG
    if _TRIG_START.match(head):
        return formats.N3 if _RULE.search(head) else formats.TRIG
    if statement := _STATEMENT.match(head):
        return formats.N_QUADS if statement[1] else formats.N_TRIPLES
    return TURTLE if _TURTLE_START.match(head) else None


def _by_magic(what: str | PackingKind | formats.Format) -> FormatDecision:
    if isinstance(what, formats.Format):
        return FormatDecision(what, "content")
    packing = what if isinstance(what, PackingKind) else None
    return FormatDecision(None, "content", what, packing)


def _packing_without_magic(
    media_type: str, name: str, head: bytes
) -> PackingKind | None:
    """Return the packing that only the name or media type indicates, if any."""
    extension = name.rpartition(".")[2]
    essence = media_type.partition(";")[0].strip().lower()
    if extension not in _NAMES_WITHOUT_MAGIC and essence not in _TYPES_WITHOUT_MAGIC:
        return None
    from rdfcrawl.rdf.unmarked_packings import packing_of  # noqa: PLC0415 (few need it)

    return packing_of(
        *(extension, essence, head),
        is_known=_sniff(head) != _NOTHING,
        has_magic=head.startswith(_MAGIC_STARTS),
    )


def _sniff_markup(head: bytes) -> FormatDecision:
    match = _XML_ROOT.match(head)
    if match is None:
        found = "XML" if _XML_START.match(head) else ""
        page = HTML if _LATE_PAGE.match(head) else None
        return FormatDecision(page, "content", "" if page else found)
    form = _format_of_root(match, head)
    return FormatDecision(form, "content", "" if form else "XML")


def _format_of_root(match: re.Match[bytes], head: bytes) -> formats.Format | None:
    if (match[1] or b"").lower() == b"html":  # usual
        return HTML
    if (match[2] or b"").endswith(b":RDF"):
        return formats.RDF_XML
    root, tag = _xml_root(head)
    names = {name.rpartition(b":")[2] for name in (match[1] or root, root)}
    lower = {name.lower() for name in names}
    if lower & _HTML_ROOTS:
        return HTML
    if lower & _OWN_ROOTS.keys():
        return _OWN_ROOTS[min(lower & _OWN_ROOTS.keys())]
    # rdf:RDF is optional in RDF/XML; other XML may contain it further inside.
    if lower & {b"svg", b"xmpmeta"} and b":RDF" in head and b" property=" not in head:
        names.add(b"RDF")  # in their metadata, and no RDFa
    if b"RDF" in names or (
        _RDF_NAMESPACE in head
        and (_NODE_ATTRIBUTE.search(tag) if tag else root not in _OTHER_ROOTS)
    ):
        return formats.RDF_XML
    is_page = tag and lower & _HTML_STARTS and b"xmlns" not in tag
    return HTML if is_page and not _RELATIVE_STATEMENT.match(head) else None


def _xml_root(head: bytes) -> tuple[bytes, bytes]:
    """Return the name of the first element and its tag, which may be truncated.

    If the element is beyond the first bytes, the name is that of the DOCTYPE.
    """
    match = _XML_ROOT.match(head)
    if match is None:
        return b"", b""
    element = _XML_ELEMENT.match(head, match.end(1) if match[1] else match.start(2) - 1)
    if element is None:
        return match[1] or match[2], b""
    return element[1], element[0][element.start(1) - element.start() :]
