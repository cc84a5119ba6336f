"""Which extractors a page needs: one cheap look at its bytes.

A plain search for a word is thirty times as fast as a regular expression without one,
so that each kind has words to look for, and an expression for what is around them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rdfcrawl.html.extractors import Extractor

if TYPE_CHECKING:
    from collections.abc import Iterable

    Hint = tuple[bytes, re.Pattern[bytes]]

_VALUE: Final = rb"\s*=\s*[\"']?\s*"


def _attribute(name: bytes, value: bytes = rb"") -> Hint:
    return name, re.compile(rb"(?<=[\s\"'/])" + name + _VALUE + value)


# What `<meta property="og:…">` has: the extractor of Open Graph reads it.
_OWN_OPEN_GRAPH: Final = rb"(?:og|article|book|music|product|profile|video):"
# Without one of these attributes RDFa states nothing. Relations state something if
# they are CURIEs, IRIs, or terms of the initial context of HTML; see RDFa Core 1.1
# section 7.5 and HTML+RDFa 1.1 section 3.3.
_RELATION: Final = (
    rb"(?:[^\"'>]{0,250}\s)?(?:license|describedby|role|(?:[a-z][\w.-]*)?:)"
)
_PROLOG_BYTES: Final = 1024  # document type and `version`: "XHTML+RDFa 1.0"
_RDFA: Final = (
    _attribute(b"typeof"),
    _attribute(b"vocab"),
    _attribute(
        b"property",
        rb"(?!" + _OWN_OPEN_GRAPH + rb"|(?:fb|twitter|al|place|business):)[^\s\"'>]",
    ),
    _attribute(b"rel", _RELATION),
    _attribute(b"rev", _RELATION),
)
_OPEN_GRAPH: Final = (_attribute(b"property", rb"[a-z][\w-]*+:"),)
_DUBLIN_CORE: Final = ((b"dc", re.compile(rb"(?<=[\s\"'=])dc(?:t|terms)?\.[a-z]")),)
# Roots of microformats2 and of those before it. Not any `h-…`: that is the height of
# a box in the classes of some style sheets.
_MICROFORMATS = re.compile(
    rb"class=(?:[\"'](?:[^\"'>]*?\s)??)??(?:h-(?:adr|app|card|cite|entry|event|feed|geo"
    rb"|item|listing|product|recipe|resume|review(?:-aggregate)?|x-app)|vcard|vevent"
    rb"|hentry|hfeed|hproduct|hreview(?:-aggregate)?|hrecipe|hresume|adr|geo)"
    rb"(?=[\s\"'>])"
)


def scan(data: bytes) -> frozenset[Extractor]:
    """Return the extractors that may find something; the others find nothing.

    `RULES` is never among them: rules are chosen by URL.

    Args:
        data: the page, or its first bytes; in any charset that has ASCII in it.

    >>> sorted(scan(b"<p itemscope itemtype='http://schema.org/Person'>"))
    [<Extractor.MICRODATA: 'microdata'>]
    """
    if b"\0" in data:  # UTF-16: what is looked for is ASCII all the same
        data = data.replace(b"\0", b"")
    lower = data.lower()
    found = set()
    if b"ld+json" in lower:
        found.add(Extractor.JSON_LD)
    if b"itemscope" in lower:
        found.add(Extractor.MICRODATA)
    if _is_hinted(lower, _OPEN_GRAPH):
        found.add(Extractor.OPEN_GRAPH)
    if _is_hinted(lower, _DUBLIN_CORE):
        found.add(Extractor.DUBLIN_CORE)
    if b"rdfa" in lower[:_PROLOG_BYTES] or _is_hinted(lower, _RDFA):
        found.add(Extractor.RDFA)
    if _MICROFORMATS.search(lower):
        found.add(Extractor.MICROFORMATS)
    return frozenset(found)


def _is_hinted(lower: bytes, hints: Iterable[Hint]) -> bool:
    for word, around in hints:
        at = lower.find(word)
        while at >= 0:
            if around.match(lower, at):
                return True
            at = lower.find(word, at + 1)
    return False
