"""Select the extractors for a page by a cheap scan of its bytes.

Searching for a literal is thirty times as fast as searching for other expressions. So
each expression begins with an attribute name, and checks the preceding character by
looking back.
"""

from __future__ import annotations

import re
from typing import Final

from rdfcrawl.rdf.html.extractors import Extractor

_VALUE: Final = rb"\s*+=\s*+[\"']?+\s*+"


def _attribute(name: bytes, value: bytes = rb"") -> re.Pattern[bytes]:
    return re.compile(name + rb"(?<=[\s\"'/]" + name + rb")" + _VALUE + value)


# Prefixes that the Open Graph extractor reads.
_OWN_OPEN_GRAPH: Final = rb"(?:og|article|book|music|product|profile|video):"
# RDFa states nothing without one of these attributes. Relations only count as CURIEs,
# IRIs, or terms of the initial context of HTML; see RDFa Core 1.1 section 7.5 and
# HTML+RDFa 1.1 section 3.3.
_RELATION: Final = (
    rb"(?:[^\"'>]{0,250}\s)?(?:license|describedby|role|(?:[a-z][\w.-]*)?:)"
)
_PROLOG_BYTES: Final = 1024  # document type and `version`: "XHTML+RDFa 1.0"
_RDFA: Final = (
    _attribute(b"vocab"),
    _attribute(b"re[lv]", _RELATION),
)
_RDFA_TYPE = _attribute(b"typeof")
_RDFA_PROPERTY = _attribute(
    b"property",
    rb"(?!" + _OWN_OPEN_GRAPH + rb"|(?:fb|twitter|al|place|business):)[^\s\"'>]",
)
_OPEN_GRAPH = _attribute(b"property", rb"[a-z][\w-]*+:")
_DUBLIN_CORE = re.compile(rb"dc(?<=[\s\"'=]dc)(?:t|terms)?\.[a-z]")
# Roots of microformats 2 and 1. Not any `h-…`: some style sheets use that for heights.
_MICROFORMATS = re.compile(
    rb"class=(?:[\"']\s*+(?:[^\s\"'>]++\s++)*?)??(?=[ahgv])"
    rb"(?:h-(?:adr|app|card|cite|entry|event|feed|geo"
    rb"|item|listing|product|recipe|resume|review(?:-aggregate)?|x-app)|vcard|vevent"
    rb"|hentry|hfeed|hproduct|hreview(?:-aggregate)?|hrecipe|hresume|adr|geo)"
    rb"(?=[\s\"'>])"
)


def scan(lower: bytes) -> frozenset[Extractor]:
    """Return the extractors that may find something; never `RULES`, selected by URL.

    `lower` is the page, or its first bytes, in UTF-8 and in lower case.

    >>> sorted(scan(b"<p itemscope itemtype='http://schema.org/person'>"))
    [<Extractor.MICRODATA: 'microdata'>]
    """
    found = set()
    if b"ld+json" in lower:
        found.add(Extractor.JSON_LD)
    if b"itemscope" in lower:
        found.add(Extractor.MICRODATA)
    has_property = b"property" in lower
    if has_property and _OPEN_GRAPH.search(lower):
        found.add(Extractor.OPEN_GRAPH)
    if _DUBLIN_CORE.search(lower):
        found.add(Extractor.DUBLIN_CORE)
    if (
        b"rdfa" in lower[:_PROLOG_BYTES]
        or (has_property and _RDFA_PROPERTY.search(lower))
        or (b"typeof" in lower and _RDFA_TYPE.search(lower))
        or any(hint.search(lower) for hint in _RDFA)
    ):
        found.add(Extractor.RDFA)
    if _MICROFORMATS.search(lower):
        found.add(Extractor.MICROFORMATS)
    return frozenset(found)
