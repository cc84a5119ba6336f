"""Names of the extractors of pages, and the selection of those that a page needs.

The selection is a cheap scan of the bytes. Searching for a literal is thirty times as
fast as searching for other expressions. So each expression begins with an attribute
name, and checks the preceding character by looking back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from pkgutil import resolve_name
from typing import Any, Final, NamedTuple

from pyoxigraph import Quad, Triple

from rdfcrawl.core.errors import Reason, SourceFault

MAX_EXTRUCT_BYTES: Final = 256 * 1024  # of pages that `extruct_reading` reads
EXTRUCT_REASONS: Final = frozenset(
    {Reason.TOO_DEEP, Reason.TOO_LARGE, Reason.PARSE_CRASH}
)
"""Faults of our extractors after which extruct may read a page."""


class Extractor(StrEnum):
    """Name of an extractor; also in statistics and provenance."""

    JSON_LD = "json-ld"
    MICRODATA = "microdata"
    OPEN_GRAPH = "opengraph"
    DUBLIN_CORE = "dublincore"
    RDFA = "rdfa"
    MICROFORMATS = "microformats"
    SCRIPTS = "scripts"
    # Last: a slow XPath expression kills the process.
    RULES = "rules"


# Recursive or slow: only in a bounded process.
SLOW = frozenset({Extractor.RULES})


class CustomExtractor(NamedTuple):
    """An extractor of the setting `EXTRACTORS`; its class is imported on first use."""

    # a media type, an extension with its dot, or another name if it reads pages
    name: str
    path: str  # of the class
    marker: str = ""  # text required in a page, in lower case
    # first bytes of the documents, as Latin-1; empty: any
    magic: tuple[str, ...] = ()

    @property
    def reads_pages(self) -> bool:
        """Whether pages are read, not documents of a media type or an extension."""
        return "/" not in self.name and self.name[0] != "."

    def begins(self, head: bytes) -> bool:
        """Return whether a document begins with its `magic`."""
        return head.startswith(tuple(each.encode("latin-1") for each in self.magic))

    def lines(self, document: object) -> Iterator[str]:
        """Yield the statements of a document as lines with line ends.

        Raises:
            Exception: from the class or its import.
        """
        try:
            found = _instance(self.path).extract(document)
            if isinstance(found, str | bytes):
                raise TypeError("extract() returns text, not an iterable of lines")
            yield from map(_line_of, found)
        except SystemExit as error:
            raise SourceFault(Reason.PARSE_CRASH, repr(error)) from error

    def load(self) -> None:
        """Import the class and make its instance, once in each process."""
        _instance(self.path)


def _line_of(statement: object) -> str:
    if isinstance(statement, Triple | Quad):
        return f"{statement} .\n"
    if isinstance(statement, bytes):
        statement = statement.decode()
    if not isinstance(statement, str):
        kind = type(statement).__name__
        raise TypeError(f"extract() yields {kind}, not lines of N-Triples")
    return statement if statement[-1:] == "\n" else f"{statement}\n"


@lru_cache(maxsize=64)
def _instance(path: str) -> Any:
    return resolve_name(path)()


_VALUE: Final = rb"\s*+=\s*+[\"']?+\s*+"


def _attribute(name: bytes, value: bytes = rb"") -> re.Pattern[bytes]:
    return re.compile(name + rb"(?<=[\s\"'/]" + name + rb")" + _VALUE + value)


# Literals that begin with a rare letter are found faster than with `in`.
_find_itemscope = re.compile(rb"pe(?<=itemscope)").search
_find_typeof = re.compile(rb"ypeof(?<=typeof)").search
# Prefixes that the Open Graph extractor reads.
_OWN_OPEN_GRAPH: Final = rb"(?:og|article|book|music|product|profile|video):"
# RDFa states nothing without one of these attributes. Relations only count as CURIEs,
# IRIs, or terms of the initial context of HTML; see RDFa Core 1.1 section 7.5 and
# HTML+RDFa 1.1 section 3.3.
_find_rdfa_relation = re.compile(
    rb"(?:\A|(?<=\s))(?:license|describedby|role|(?:[a-z][\w.-]*)?:)"
).search
# Words of XFN 1.1 in `rel`.
RELATIONSHIPS: Final = frozenset(
    (
        *("me", "friend", "acquaintance", "contact", "met", "co-worker", "colleague"),
        *("co-resident", "neighbor", "child", "parent", "sibling", "spouse", "kin"),
        *("muse", "crush", "date", "sweetheart"),
    )
)
_PROLOG_BYTES: Final = 1024  # document type and `version`: "XHTML+RDFa 1.0"
_find_vocabulary = _attribute(b"vocab").search
# In a look-ahead: a value may contain what looks like another attribute.
_find_relations = _attribute(b"re[lv]", rb"(?=([^\"'>]{0,300}))").findall
_RDFA_TYPE = _attribute(b"typeof")
_RDFA_PROPERTY = _attribute(
    b"property",
    rb"(?!" + _OWN_OPEN_GRAPH + rb"|(?:fb|twitter|al|place|business):)[^\s\"'>]",
)
_OPEN_GRAPH = _attribute(b"property", rb"[a-z][\w-]*+:")
_DUBLIN_CORE = re.compile(rb"dc(?<=[\s\"'=]dc)(?:t|terms)?\.[a-z]")
# Roots of microformats 2 and 1. Not any `h-…`: some style sheets use that for heights.
_ROOT: Final = (
    rb"(?:h-(?:adr|app|card|cite|entry|event|feed|geo"
    rb"|item|listing|news|org|product|recipe|resume|review(?:-aggregate)?|x-app)|vcard|vevent"
    rb"|hentry|hfeed|hlisting|hproduct|hreview(?:-aggregate)?|hrecipe|hresume|adr|geo)"
    rb"(?=[\s\"'>])"
)
_MICROFORMATS = re.compile(
    rb"class=(?:[\"']\s*+(?:(?!%b)[^\s\"'>]++\s++)*+)?+(?=[ahgv])%b" % (_ROOT, _ROOT)
)


# Scripts of RDF formats, except JSON-LD.
_SCRIPT = re.compile(
    rb"<script(?=[\s/])(?:[^<>\"']|\"[^\"<]{0,300}+\"|'[^'<]{0,300}+'){1,300}?type"
    rb"\s*+=\s*+[\"']?\s*+(?:application|text)/"
    rb"(?:x-)?(?:turtle|rdf|tri[gx]|n-?[tq3])"
)


# Media types that are meant to be that of JSON-LD
_find_json = re.compile(rb"json").search
_NEARLY_JSON_LD = re.compile(
    rb"<script(?=[\s/])[^<>]{0,1000}?/(?:json\+ld|json-?ld|ld-json)"
)


def names_json_ld(lower: bytes, start: int = 0) -> bool:
    """Return whether a page may have a script of JSON-LD, from a position on."""
    if _find_json(lower, start) is None:
        return False
    if lower.find(b"ld+json", start) >= 0:
        return True
    return _NEARLY_JSON_LD.search(lower, start) is not None


def names_open_graph(lower: bytes, start: int = 0) -> bool:
    """Return whether a page may have a tag of Open Graph, from a position on."""
    at = lower.find(b"property", start)
    return at >= 0 and _OPEN_GRAPH.search(lower, at) is not None


def _relations(lower: bytes) -> bytes:
    """Return the different values of `rel` and `rev` in a page, cut; one in each line.

    Values without quotes are followed by the rest of their tags.
    """
    return b"\n".join({*_find_relations(lower)})


def names_relationships(lower: bytes) -> bool:
    """Return whether a link of a page may state a relationship of XFN."""
    return _has_relationship(_relations(lower))


def _has_relationship(relations: bytes) -> bool:
    words = relations.decode("ascii", "replace").split()
    return not RELATIONSHIPS.isdisjoint(words)


def scan(lower: bytes) -> frozenset[Extractor]:
    """Return the extractors that may find something; never `RULES`, selected by URL.

    `lower` is the page, or its first bytes, in UTF-8 and in lower case.

    >>> sorted(scan(b"<p itemscope itemtype='http://schema.org/person'>"))
    [<Extractor.MICRODATA: 'microdata'>]
    """
    has_property, has_script = b"property" in lower, b"<script" in lower
    relations = _relations(lower)
    found = {
        Extractor.JSON_LD: has_script and names_json_ld(lower),
        Extractor.MICRODATA: _find_itemscope(lower),
        Extractor.OPEN_GRAPH: has_property and _OPEN_GRAPH.search(lower),
        Extractor.DUBLIN_CORE: _DUBLIN_CORE.search(lower),
        Extractor.RDFA: b"rdfa" in lower[:_PROLOG_BYTES]
        or (has_property and _RDFA_PROPERTY.search(lower))
        or (_find_typeof(lower) and _RDFA_TYPE.search(lower))
        or _find_vocabulary(lower)
        or _find_rdfa_relation(relations),
        Extractor.MICROFORMATS: _has_relationship(relations)
        or _MICROFORMATS.search(lower),
        Extractor.SCRIPTS: has_script and _SCRIPT.search(lower),
    }
    return frozenset(filter(found.get, found))
