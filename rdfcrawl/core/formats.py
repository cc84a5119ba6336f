"""The formats of documents, and the relations of the links to them.

Source of the relations: RFC 8288 (relation types), RFC 6596 (canonical), RFC 6892
(describedby), RFC 9264 (linkset); HTML Standard 4.6.7 "Link types"; FAIR Signposting.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final, Literal, NamedTuple
from urllib.parse import urlsplit

from pyoxigraph import RdfFormat

HEAD_BYTES = 4096  # read to detect the format

Family = Literal["text", "xml", "json", "html", "binary"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Format:
    """One way to publish RDF."""

    name: str  # as in its specification
    media_types: tuple[str, ...]  # accepted ones, the registered one first; or none
    extensions: tuple[str, ...]  # of file names, without the dot, the usual one first
    family: Family = "text"  # which sniffing always detects
    parser: RdfFormat | None = None  # of pyoxigraph; None for other readers
    # Dotted name of our reader, imported on first use. It takes a file in UTF-8,
    # `limits` and `log`, and yields statements.
    reader: str = ""
    # Dotted name of a reader of text that is not well-formed, in place of the above
    mender: str = ""
    has_base: bool = False  # the reader also takes `base`, the URL of the document
    is_line_based: bool = False  # one statement per line: any line can be dropped
    # Reading can continue after an invalid statement without inventing statements.
    is_resumable: bool = False
    has_graphs: bool = False  # statements may name a graph


N_TRIPLES = Format(
    name="N-Triples",
    media_types=(
        "application/n-triples",
        "text/x-ntriples",
        "text/ntriples",
        "text/n-triples",
    ),
    extensions=("nt", "ntriples"),
    parser=RdfFormat.N_TRIPLES,
    is_line_based=True,
    is_resumable=True,
)
N_QUADS = Format(
    name="N-Quads",
    media_types=("application/n-quads", "text/x-nquads", "text/nquads", "text/n-quads"),
    extensions=("nq", "nquads"),
    parser=RdfFormat.N_QUADS,
    is_line_based=True,
    is_resumable=True,
    has_graphs=True,
)
TURTLE = Format(
    name="Turtle",
    media_types=("text/turtle", "application/x-turtle", "application/turtle"),
    extensions=("ttl", "turtle"),
    parser=RdfFormat.TURTLE,
    is_resumable=True,
)
# Not resumable: after an error inside of `<g> { … }` the parser reads the following
# statements into the default graph.
TRIG = Format(
    name="TriG",
    media_types=("application/trig", "application/x-trig", "text/trig"),
    extensions=("trig",),
    parser=RdfFormat.TRIG,
    has_graphs=True,
)
N3 = Format(
    name="N3",
    media_types=("text/n3", "text/rdf+n3", "application/n3", "application/rdf+n3"),
    extensions=("n3",),
    parser=RdfFormat.N3,
    has_graphs=True,
)
RDF_XML = Format(
    name="RDF/XML",
    media_types=(
        "application/rdf+xml",
        "text/rdf+xml",
        "application/owl+xml",
        "text/rdf",
    ),
    extensions=("rdf", "owl", "rdfs"),
    parser=RdfFormat.RDF_XML,
    mender="rdfcrawl.rdf.rdf_xml.RdfXmlReader",
    family="xml",
)
JSON_LD = Format(
    name="JSON-LD",
    media_types=(
        *("application/ld+json", "application/activity+json"),
        *("application/x-ld+ndjson", "application/ld+ndjson", "application/json-seq"),
    ),
    extensions=("jsonld", "ndjsonld", "jsonldl"),
    parser=RdfFormat.JSON_LD,
    family="json",
    has_graphs=True,
)

TRIX = Format(
    name="TriX",
    media_types=("application/trix", "application/trix+xml", "text/trix"),
    extensions=("trix",),
    reader="rdfcrawl.rdf.trix.read_trix",
    mender="rdfcrawl.rdf.mended_trix.MendedTrixReader",
    has_base=True,
    family="xml",
    has_graphs=True,
)
RDF_JSON = Format(
    name="RDF/JSON",
    media_types=("application/rdf+json", "text/rdf+json"),
    extensions=("rj",),
    reader="rdfcrawl.rdf.json_formats.read_rdf_json",
    family="json",
)
HEXTUPLES = Format(
    name="HexTuples",
    media_types=("application/hex+x-ndjson", "application/x-ndjson+hextuples"),
    extensions=("hext",),
    reader="rdfcrawl.rdf.json_formats.read_hextuples",
    family="json",
    has_graphs=True,
)
DCAT_US = Format(  # known by its content only
    name="DCAT-US",
    media_types=(),
    extensions=(),
    reader="rdfcrawl.rdf.data_json.read_data_json",
    has_base=True,
    family="json",
)
OAI_PMH = Format(  # known by its content only
    name="OAI-PMH",
    media_types=(),
    extensions=(),
    reader="rdfcrawl.rdf.oai_pmh.read_oai_pmh",
    has_base=True,
    family="xml",
)
HDT = Format(
    name="HDT",
    media_types=("application/vnd.hdt", "application/x-hdt"),
    extensions=("hdt",),
    family="binary",
)
# Markup; its content decides which extractors read it.
HTML = Format(
    name="HTML",
    media_types=("text/html", "application/xhtml+xml"),
    extensions=("html", "htm", "xhtml"),
    family="html",
)

FORMATS = (
    *(N_TRIPLES, N_QUADS, TURTLE, TRIG, N3, RDF_XML, JSON_LD),
    *(TRIX, RDF_JSON, HEXTUPLES, DCAT_US, OAI_PMH, HDT, HTML),
)


class PackingKind(StrEnum):
    """A kind of compression or of archive."""

    GZIP = "gzip"
    BZIP2 = "bzip2"
    XZ = "xz"
    ZSTD = "zstd"
    BROTLI = "brotli"
    LZ4 = "lz4"
    LZMA = "lzma"
    LZIP = "lzip"
    COMPRESS = "compress"
    ZIP = "zip"
    TAR = "tar"
    SEVEN_ZIP = "7z"


_SHORT_FOR_TAR = {
    "tgz": PackingKind.GZIP,
    "tbz2": PackingKind.BZIP2,
    "tbz": PackingKind.BZIP2,
    "tb2": PackingKind.BZIP2,
    "tlz": PackingKind.LZIP,
    "tlz4": PackingKind.LZ4,
    "taz": PackingKind.COMPRESS,
    "txz": PackingKind.XZ,
    "tzst": PackingKind.ZSTD,
}
_PACKING_BY_EXTENSION = {
    "gz": PackingKind.GZIP,
    "bz2": PackingKind.BZIP2,
    "xz": PackingKind.XZ,
    "zst": PackingKind.ZSTD,
    "br": PackingKind.BROTLI,
    "lz4": PackingKind.LZ4,
    "lzma": PackingKind.LZMA,
    "lz": PackingKind.LZIP,
    "z": PackingKind.COMPRESS,
    "zip": PackingKind.ZIP,
    "tar": PackingKind.TAR,
    "7z": PackingKind.SEVEN_ZIP,
    **_SHORT_FOR_TAR,
}
PACKING_EXTENSIONS = frozenset(_PACKING_BY_EXTENSION)
"""Extensions of file names, without the dot."""
_BY_MEDIA_TYPE = {name: each for each in FORMATS for name in each.media_types}
_BY_EXTENSION = {name: each for each in FORMATS for name in each.extensions}


DecidedBy = Literal["content-type", "extension", "content"]


class FormatDecision(NamedTuple):
    """The decision on the format of a response."""

    format: Format | None  # None if the content is not readable RDF
    decided_by: DecidedBy
    # name of the other content (`PDF`, `gzip`, `JSON`, …); empty if unknown
    found: str = ""
    # unpack the content, and decide again for its members
    packing: PackingKind | None = None
    # name of the format in `Content-Type`, which the content contradicts
    refuted: str = ""


def format_of_name(url: str) -> Format | None:
    """Return the format by the extension of a name, after removing packings."""
    return _BY_EXTENSION.get(_extension(url))


def format_of_media_type(media_type: str) -> Format | None:
    """Return the format of a media type, with or without parameters."""
    return _BY_MEDIA_TYPE.get(media_type.partition(";")[0].strip().lower())


def name_inside(url: str) -> str:
    """Return a file name without its last extension of a packing.

    >>> name_inside("http://example.org/dump.ttl.zip"), name_inside("a.nt.tgz")
    ('dump.ttl', 'a.nt.tar')
    """
    name = file_name(url)
    stem, _, extension = name.rpartition(".")
    if extension in _SHORT_FOR_TAR:
        return f"{stem}.tar"
    return stem if stem and extension in _PACKING_BY_EXTENSION else name


def _extension(url: str) -> str:
    """Return the lower-case extension of the path, after removing packings."""
    name = file_name(url)
    stem, _, extension = name.rpartition(".")
    while extension in _PACKING_BY_EXTENSION:
        stem, _, extension = stem.rpartition(".")
    return extension


@lru_cache(maxsize=16)  # called several times per document
def file_name(url: str) -> str:
    """Return the file name in a URL or path, in lower case; empty if there is none."""
    scheme, slashes, rest = url.partition("://")
    if slashes and scheme.isalpha():
        path = rest.partition("#")[0].partition("?")[0]
        return path.rpartition("/")[2].lower() if "/" in path else ""
    try:
        return urlsplit(url).path.rpartition("/")[2].lower()
    except ValueError:
        return ""


class Relation(StrEnum):
    """The relation of a link outside of statements."""

    ALTERNATE = "alternate"  # another form that we read
    DESCRIBEDBY = "describedby"  # RFC 6892, signposting
    LINKSET = "linkset"  # RFC 9264
    CANONICAL = "canonical"
    NEXT = "next"  # the next page of a list
    DATASET = "dataset"  # in statements about datasets and pages of collections
    HYPERLINK = "hyperlink"
    NOFOLLOW = "nofollow"  # a hyperlink that its page does not vouch for


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a page or of a `Link` header."""

    url: str  # absolute; not checked
    relation: Relation  # strongest of those that the link states
    media_type: str = ""  # declared for the target; lower case, or empty


# An alternate HTML page is a translation, or a page for people.
_READ_TYPES: Final = frozenset(
    name for each in FORMATS if each is not HTML for name in each.media_types
)
_STRONGEST_FIRST: Final = (
    Relation.ALTERNATE,
    Relation.DESCRIBEDBY,
    Relation.LINKSET,
    Relation.CANONICAL,
    Relation.NEXT,
)


def strongest_relation(relations: Container[str], media_type: str) -> Relation | None:
    """Return the strongest known relation, or None.

    Args:
        relations: stated by the link, in lower case.
        media_type: declared for the target, lower case, without parameters; an
            alternate counts only if this is a data format that we read.
    """
    for relation in _STRONGEST_FIRST:
        if relation in relations and (
            relation is not Relation.ALTERNATE or media_type in _READ_TYPES
        ):
            return relation
    return None
