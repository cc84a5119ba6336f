"""Facts that only the reader of a document can determine: fingerprints and links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.core.formats import Relation
from rdfcrawl.core.records import NO_FACTS, DocumentFacts
from rdfcrawl.rdf import fingerprints
from rdfcrawl.rdf.fingerprints import NO_FINGERPRINT
from rdfcrawl.rdf.html.visible_text import (
    count_images,
    count_linked_words,
    is_error_page,
    shown_markup,
    text_of,
)
from rdfcrawl.rdf.links.outlinks import Outlinks

if TYPE_CHECKING:
    from rdfcrawl.rdf.extraction.messages import ExtractOutcome, ReadingJob
    from rdfcrawl.rdf.fingerprints import Fingerprint
    from rdfcrawl.rdf.html.page import ParsedPage
    from rdfcrawl.rdf.links.outlinks import OutlinkOptions


class FactsReading:
    """Collects the facts of a document from its statements.

    Args:
        job: selects the facts.
        body: of the document, if it is in memory.
    """

    def __init__(self, job: ReadingJob, body: bytes | None = None) -> None:
        self._job, self._body = job, body
        self._chunks: list[bytes] = []  # empty if there were too many to hash
        self._bare: bytes | None = None  # the only one
        self._n_bytes = 0
        self._page: DocumentFacts | None = None
        self._outlinks = None
        if job.outlinks is not None:
            self._outlinks = Outlinks(job.outlinks, job.url)

    def add(self, chunk: bytes, bare: bytes | None = None) -> None:
        """Add statements, and the same as `bare_statements` if they are known so."""
        self._n_bytes += len(chunk)
        self._bare = None if self._chunks else bare
        self._chunks.append(chunk)
        if self._n_bytes <= fingerprints.MAX_STATEMENT_BYTES:
            return
        if self._outlinks is not None:
            for each in self._chunks:
                self._outlinks.add(each)
        self._chunks.clear()

    def add_page(self, page: ParsedPage) -> None:
        """Add a page in markup."""
        if not self._job.wants_fingerprint:
            return
        if self._job.extractors is not None:  # the first reading has added it
            self._page = DocumentFacts(canonical=page.canonical)
            return
        shown = shown_markup(page.lower)
        text = text_of(shown)
        words = fingerprints.words_of(text)
        n_linked_words = count_linked_words(shown)
        self._page = DocumentFacts(
            "",
            *fingerprints.fingerprint_words(words),
            canonical=page.canonical,
            n_images=count_images(page.lower, text),
            n_words=len(words) if n_linked_words else 0,
            n_linked_words=n_linked_words,
            is_error_page=is_error_page(page.lower, text),
        )

    def end(self, outcome: ExtractOutcome) -> None:
        """Set the facts of an outcome."""
        job, page, outlinks = self._job, self._page, self._outlinks
        statements = b"".join(self._chunks)
        shown = canonical = ""
        if job.wants_fingerprint:
            shown = fingerprints.content_hash(self._body) if self._body else ""
            canonical = (page.canonical if page else "") or canonical_in(outcome)
        if page is not None:
            outcome.facts = page._replace(content_hash=shown, canonical=canonical)
            if outlinks is not None:
                outlinks.add(statements)
        else:
            found = _read(
                *(statements, self._bare, job.graph or job.url, outlinks),
                wants_fingerprint=job.wants_fingerprint,
            )
            if shown or canonical or found is not NO_FINGERPRINT:
                outcome.facts = DocumentFacts(shown, *found, canonical)
        if outlinks is not None:
            outcome.outlinks, outcome.targets = outlinks.end()


def facts_of_chunk(
    chunk: bytes,
    bare: bytes | None,
    body: bytes,
    *,
    url: str,
    graph: str,
    wants_fingerprint: bool,
    outlinks: OutlinkOptions | None,
) -> tuple[DocumentFacts, bytes, set[bytes] | None]:
    """Return the facts of a document whose statements are in memory (the usual case).

    Args:
        chunk: all of its statements, all in its own graph.
        bare: the same as `bare_statements`, if they are known so.
        body: of the document.
        url: of the document.
        graph: of its statements.
        wants_fingerprint: otherwise, there are no facts.
        outlinks: options of the log of links, if it is wanted.

    Returns:
        The facts, and the links as `Outlinks.end` returns them.
    """
    links = None if outlinks is None else Outlinks(outlinks, url)
    found = _read(chunk, bare, graph, links, wants_fingerprint=wants_fingerprint)
    facts = NO_FACTS
    if wants_fingerprint:
        facts = DocumentFacts(fingerprints.content_hash(body), *found)
    return (facts, b"", None) if links is None else (facts, *links.end())


def _read(
    chunk: bytes,
    bare: bytes | None,
    graph: str,
    outlinks: Outlinks | None,
    *,
    wants_fingerprint: bool,
) -> Fingerprint:
    """Return the fingerprint of statements, if it is wanted; add their links."""
    found, normal = NO_FINGERPRINT, None
    if wants_fingerprint and chunk:
        if bare is None:
            bare = fingerprints.bare_statements(chunk, graph)
        normal = fingerprints.normal_statements(bare, graph)
        found = fingerprints.fingerprint_normal(normal)
    if outlinks is None or (
        normal is not None
        and outlinks.add_normal(
            normal.text, normal.lines, n_own=normal.n_own, graph=graph
        )
    ):
        return found
    outlinks.add(chunk)
    return found


def canonical_in(outcome: ExtractOutcome) -> str:
    """Return the canonical URL declared by a header `Link` or a page."""
    if not outcome.links:  # the usual case
        return ""
    stated = [x.url for x in outcome.links if x.relation is Relation.CANONICAL]
    return min(stated, default="")
