"""The one table of formats, and how the format of an answer is decided.

`Content-Type` is believed when it names an RDF format and the content does not
flatly contradict it; vague types (`text/plain`, `application/xml`, none, …) are
resolved by the URL's extension and then by the first bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from pyoxigraph import RdfFormat

HEAD_BYTES = 4096  # looked at to tell one format from another

Family = Literal["text", "xml", "json"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Format:
    """One RDF serialization.

    Attributes:
        name: as its specification calls it.
        media_types: accepted ones, the registered one first.
        extensions: of file names, without the dot, the usual one first.
        parser: what the parser library calls it.
        family: what the bytes look like; sniffing tells families apart for sure.
        is_line_based: one statement per line, so that any line can be dropped.
        is_resumable: reading may go on after a bad statement without the risk of
            statements that the publisher did not make.
        has_graphs: statements may name a graph.
    """

    name: str
    media_types: tuple[str, ...]
    extensions: tuple[str, ...]
    parser: RdfFormat
    family: Family
    is_line_based: bool = False
    is_resumable: bool = False
    has_graphs: bool = False


N_TRIPLES = Format(
    name="N-Triples",
    media_types=("application/n-triples", "text/x-ntriples", "text/ntriples"),
    extensions=("nt", "ntriples"),
    parser=RdfFormat.N_TRIPLES,
    family="text",
    is_line_based=True,
    is_resumable=True,
)
N_QUADS = Format(
    name="N-Quads",
    media_types=("application/n-quads", "text/x-nquads", "text/nquads"),
    extensions=("nq", "nquads"),
    parser=RdfFormat.N_QUADS,
    family="text",
    is_line_based=True,
    is_resumable=True,
    has_graphs=True,
)
TURTLE = Format(
    name="Turtle",
    media_types=("text/turtle", "application/x-turtle", "application/turtle"),
    extensions=("ttl", "turtle"),
    parser=RdfFormat.TURTLE,
    family="text",
    is_resumable=True,
)
# Not resumable: after an error inside of `<g> { … }` the parser takes what follows
# for statements of the default graph.
TRIG = Format(
    name="TriG",
    media_types=("application/trig", "application/x-trig"),
    extensions=("trig",),
    parser=RdfFormat.TRIG,
    family="text",
    has_graphs=True,
)
N3 = Format(
    name="N3",
    media_types=("text/n3", "text/rdf+n3", "application/n3", "application/rdf+n3"),
    extensions=("n3",),
    parser=RdfFormat.N3,
    family="text",
    has_graphs=True,
)
RDF_XML = Format(
    name="RDF/XML",
    media_types=("application/rdf+xml", "text/rdf+xml", "application/owl+xml"),
    extensions=("rdf", "owl", "rdfs"),
    parser=RdfFormat.RDF_XML,
    family="xml",
)
JSON_LD = Format(
    name="JSON-LD",
    media_types=("application/ld+json", "application/activity+json"),
    extensions=("jsonld",),
    parser=RdfFormat.JSON_LD,
    family="json",
    has_graphs=True,
)

FORMATS = (N_TRIPLES, N_QUADS, TURTLE, TRIG, N3, RDF_XML, JSON_LD)
_BY_MEDIA_TYPE = {name: each for each in FORMATS for name in each.media_types}
_BY_EXTENSION = {name: each for each in FORMATS for name in each.extensions}
_PACKED = frozenset({"gz", "bz2", "xz", "zst", "br"})

# First bytes of what is known by name and not read as RDF.
_MAGIC = (
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"PK\x03\x04", "zip"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"$HDT", "HDT"),
    (b"%PDF-", "PDF"),
    (b"\x89PNG", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF8", "GIF"),
)
_MAGIC_STARTS = tuple(magic for magic, _ in _MAGIC)

_IRI = rb"<[^<>\"{}|^`\s]*>"
_IRI_OR_BLANK = rb"(?:" + _IRI + rb"|_:[^\s<>\"]++)"
_LITERAL = rb'"(?>[^"\\\n]++|\\.)*+"(?:@[\w-]++|\^\^' + _IRI + rb")?"
_COMMENTS = rb"(?>\s++|#[^\n]*+\n)*+"
_STATEMENT = re.compile(
    _COMMENTS  # a relative IRI at the begin: Turtle
    + (rb"(?=_:|<[A-Za-z][\w+.-]*+:)" + _IRI_OR_BLANK + rb"[ \t]*" + _IRI + rb"[ \t]*")
    + (rb"(?:" + _IRI_OR_BLANK + rb"|" + _LITERAL + rb"|<<\([^\n]*\)>>)[ \t]*")
    + (rb"(" + _IRI_OR_BLANK + rb")?[ \t]*\.[ \t]*(?:#[^\n]*)?(?:[\r\n]|$)")
)
_DIRECTIVE = re.compile(
    _COMMENTS + rb"(?:@prefix\s|@base\s|(?i:prefix\s+[^\s:]*:\s*<|base\s+<))"
)
_TURTLE_START = re.compile(
    _COMMENTS + _IRI_OR_BLANK + rb"\s+(?:a\s|" + _IRI + rb"|[\w-]*:[\w-])"
)
_GRAPH_BLOCK = re.compile(
    rb"[\n.}][ \t]*+(?:(?i:graph)[ \t]++)?"
    rb"(?:" + _IRI_OR_BLANK + rb"|[\w-]*+:[\w.-]*+)?[ \t]*+\r?\n?[ \t]*+\{"
)
# Atomic groups: a prolog of thousands of comments must not make it backtrack.
_XML_ROOT = re.compile(
    rb"(?>\s++|<\?(?!xml\w).*?\?>|<\?.*?\?>|<!--.*?-->)*+"
    rb"<(?:!(?i:doctype)\s++([\w:.-]++)|([\w:.-]++)(?=\s|/?>|$))",
    re.DOTALL,
)
_XML_START = re.compile(rb"\s*<(?:\?xml\s|!(?i:doctype)\s|!--|[\w:.-]+\s+xmlns\b)")
_JSON_START = re.compile(rb'\s*(?:\{\s*"|\[\s*\{|\{\s*\}\s*$|\[\s*\]\s*$)')
_JSON_LD_KEY = re.compile(rb'"@(?:context|id|graph|type)"\s*:')
_RDF_NAMESPACE = b"http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_HTML_ROOTS = frozenset({b"html", b"head", b"body", b"script", b"meta", b"div"})
_CONTROLS = bytes({*range(9), *range(0x0E, 0x20)} - {0x1B})

DecidedBy = Literal["content-type", "extension", "content"]


class Decision(NamedTuple):
    """What an answer is to be read as.

    Attributes:
        format: unset if the content is no RDF that can be read.
        decided_by: what told.
        found: name of what the content is instead (`HTML`, `gzip`, `JSON`, …);
            empty if that is not known either.
    """

    format: Format | None
    decided_by: DecidedBy
    found: str = ""


def decide(media_type: str, url: str, head: bytes) -> Decision:
    """Decide what the answer with these first bytes is to be read as.

    Args:
        media_type: of `Content-Type`, with or without parameters; may be empty.
        url: URL the bytes came from; only its extension counts.
        head: first bytes of the body; `HEAD_BYTES` are enough.
    """
    declared = _BY_MEDIA_TYPE.get(media_type) or _BY_MEDIA_TYPE.get(
        media_type.partition(";")[0].strip().lower()
    )
    head = _as_ascii_superset(head)
    if declared is not None:
        return _checked(declared, "content-type", head)
    by_name = _BY_EXTENSION.get(_extension(url))
    if by_name is not None:
        return _checked(by_name, "extension", head)
    return _sniff(head)


def _checked(claimed: Format, decided_by: DecidedBy, head: bytes) -> Decision:
    """Believe the claim unless the content flatly contradicts it."""
    sniffed = _sniff(head)
    actual = sniffed.format
    if actual is None:
        return (
            sniffed
            if _refutes(sniffed.found, claimed, head)
            else Decision(claimed, decided_by)
        )
    if actual.family != claimed.family:
        return sniffed
    # Inside the text family a Content-Type is believed, a file's name less so.
    if decided_by == "extension" and (
        (actual is N_QUADS and claimed is not N_QUADS)
        or (actual in (TURTLE, TRIG) and claimed.is_line_based)
    ):
        return sniffed
    return Decision(claimed, decided_by)


def _refutes(found: str, claimed: Format, head: bytes) -> bool:
    """Tell whether content without a known RDF format cannot be the claimed one."""
    if found == "JSON":  # JSON-LD without keywords, if its context comes apart
        return claimed.family != "json"
    if found == "XML":  # RDF/XML may do without rdf:RDF; `<a>` may be an IRI
        return claimed.family != "xml" and _XML_START.match(head) is not None
    return bool(found) or _is_binary(head)


def _sniff(head: bytes) -> Decision:
    """Decide by the content alone."""
    if head.startswith(_MAGIC_STARTS):
        found = next(name for magic, name in _MAGIC if head.startswith(magic))
        return Decision(None, "content", found)
    if text_format := _sniff_text(head):
        return Decision(text_format, "content")
    if _JSON_START.match(head):
        if _JSON_LD_KEY.search(head):
            return Decision(JSON_LD, "content")
        return Decision(None, "content", "JSON")
    return _sniff_markup(head)


def _sniff_text(head: bytes) -> Format | None:
    if _DIRECTIVE.match(head):
        return TRIG if b"{" in head and _GRAPH_BLOCK.search(head) else TURTLE
    if statement := _STATEMENT.match(head):
        return N_QUADS if statement[1] else N_TRIPLES
    return TURTLE if _TURTLE_START.match(head) else None


def _sniff_markup(head: bytes) -> Decision:
    match = _XML_ROOT.match(head)
    if match is None:
        found = "XML" if _XML_START.match(head) else ""
        return Decision(None, "content", found)
    root: bytes = match[1] or match[2]
    local = root.rpartition(b":")[2]
    if local.lower() in _HTML_ROOTS:
        return Decision(None, "content", "HTML")
    if local == b"RDF" or (_RDF_NAMESPACE in head and b"<html" not in head):
        return Decision(RDF_XML, "content")
    return Decision(None, "content", "XML")


def _as_ascii_superset(head: bytes) -> bytes:
    """Return the head as UTF-8 without byte order mark, if UTF-16 or UTF-8."""
    if head.startswith(b"\xef\xbb\xbf"):
        return head[3:]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return head[: len(head) & ~1].decode("utf-16", "replace").encode()
    if head.startswith(b"<\0"):
        return head[: len(head) & ~1].decode("utf-16-le", "replace").encode()
    if head.startswith(b"\0<"):
        return head[: len(head) & ~1].decode("utf-16-be", "replace").encode()
    return head


def _is_binary(head: bytes) -> bool:
    """Tell whether it is no UTF-8 and more than a tenth are control characters."""
    if head.isascii() or len(head.translate(None, _CONTROLS)) >= len(head) * 0.9:
        return False
    return "\ufffd" in head[:-3].decode("utf-8", "replace")


def _extension(url: str) -> str:
    """Return the lower-case extension of the path, that of packing left out."""
    try:
        name = urlsplit(url).path.rpartition("/")[2].lower()
    except ValueError:
        return ""
    stem, _, extension = name.rpartition(".")
    return stem.rpartition(".")[2] if extension in _PACKED else extension
