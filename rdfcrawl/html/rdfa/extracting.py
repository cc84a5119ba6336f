"""Extract the RDFa of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rdfcrawl.errors import Reason
from rdfcrawl.html.host import HostMarkup, sniff_host
from rdfcrawl.html.rdfa import events
from rdfcrawl.html.rdfa.iris import escape_url, resolve
from rdfcrawl.html.rdfa.marked import walk_marked
from rdfcrawl.html.rdfa.patterns import copy_patterns
from rdfcrawl.html.rdfa.processor import RdfaProcessor
from rdfcrawl.html.rdfa.scope import OutputOverflow, RdfaBudget
from rdfcrawl.html.walking import walk
from rdfcrawl.rdf import terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdfcrawl.faultlog import FaultLog
    from rdfcrawl.html.page import ParsedPage
    from rdfcrawl.html.rdfa.patterns import Triple

# What a page may make of itself: 50 times its length, and at least this much.
_MIN_CHARS: Final = 16 * 2**20
_GROWTH: Final = 50
_MAX_BASE_CHARS: Final = 4096  # as `Page.base` has it


def extract_rdfa(
    page: ParsedPage, log: FaultLog, *, media_type: str = "", version: str = ""
) -> Iterator[str]:
    """Yield the statements of a page's RDFa as lines of N-Quads.

    A page that claims to be XML is read as XML if well-formed, else as HTML5. Nothing
    is fetched: no document type, no profile, no vocabulary. `log` takes `TOO_LARGE` if
    a page repeats itself so often that reading ends. `media_type` and `version` ("1.0"
    or "1.1" of RDFa) are instead of the page's.

    Raises:
        SourceFault: see `ParsedPage.tree`.

    Source: RDFa Core 1.1 section 7.5; HTML+RDFa 1.1 section 3; RDFa in XHTML (1.0)
    section 5.5. The vocabularies are not expanded (RDFa Core 1.1 section 10).
    """
    text = page.text
    host = sniff_host(text, media_type=media_type or page.media_type, version=version)
    read = events.read_xml(text) if host.is_xml else None
    document = page.url.partition("#")[0]
    budget = RdfaBudget(max(_MIN_CHARS, _GROWTH * len(text)))
    processor = RdfaProcessor(
        host,
        document=document,
        base=_base(page, host, read) or document,
        budget=budget,
        n_elements=text.count("<"),
        is_xml=read is not None,
    )
    try:
        if read is not None:
            events.replay(read, processor)
        elif host.rdfa_version == "1.0":
            walk(page.tree, processor)
        else:
            walk_marked(page.tree, processor)
        processor.close()
    except OutputOverflow:
        log.note(Reason.TOO_LARGE, "RDFa that repeats itself")
    found: Iterable[Triple] = processor.statements
    if processor.has_patterns:
        found = copy_patterns(found, budget)
    try:
        for triple in found:
            yield terms.statement(*triple)
    except OutputOverflow:
        log.note(Reason.TOO_LARGE, "RDFa with too many copies of patterns")


def _base(page: ParsedPage, host: HostMarkup, read: list[events.Event] | None) -> str:
    """Return the `href` of the `base` element: HTML+RDFa 1.1 section 3.1."""
    if not host.is_html:
        return ""
    if read is None:
        return page.base
    href = (events.first_base(read) or "").strip()
    if not href or len(href) > _MAX_BASE_CHARS:
        return ""
    return resolve(escape_url(href), page.url).partition("#")[0]
