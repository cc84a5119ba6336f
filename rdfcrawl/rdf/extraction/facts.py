"""Facts that only the reader of a document can determine: fingerprints and links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.core.formats import Relation
from rdfcrawl.core.records import NO_FACTS, DocumentFacts
from rdfcrawl.rdf import fingerprints
from rdfcrawl.rdf.html.visible_text import (
    count_images,
    count_linked_words,
    is_error_page,
    shown_markup,
    text_of,
)
from rdfcrawl.rdf.links.outlinks import Outlinks, links_about_itself

if TYPE_CHECKING:
    from rdfcrawl.rdf.extraction.messages import ExtractOutcome, ReadingJob
    from rdfcrawl.rdf.fingerprints import NormalStatements
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
        self._n_bytes = 0
        self._page: DocumentFacts | None = None
        self._outlinks = None
        if job.outlinks is not None:
            self._outlinks = Outlinks(job.outlinks, job.url)

    def add(self, chunk: bytes) -> None:
        """Add statements."""
        self._n_bytes += len(chunk)
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
        job, page, normal = self._job, self._page, None
        statements = b"".join(self._chunks)
        if job.wants_fingerprint:
            shown = fingerprints.content_hash(self._body) if self._body else ""
            canonical = (page.canonical if page else "") or canonical_in(outcome)
            if page is not None:
                outcome.facts = page._replace(content_hash=shown, canonical=canonical)
            elif statements:
                graph = job.graph or job.url
                lines, rest = fingerprints.split_statements(statements, graph)
                normal = fingerprints.normal_statements(lines, graph, rest)
                found = fingerprints.fingerprint_normal(normal)
                outcome.facts = DocumentFacts(shown, *found, canonical)
            elif shown or canonical:
                outcome.facts = DocumentFacts(shown, canonical=canonical)
        if self._outlinks is not None and job.outlinks is not None:
            links = _of_itself(job.outlinks, job.url, normal)
            if links is None:
                self._outlinks.add(statements)
                links = self._outlinks.end()
            outcome.outlinks, outcome.targets = links


def facts_of_lines(
    lines: list[bytes],
    body: bytes,
    *,
    url: str,
    graph: str,
    wants_fingerprint: bool,
    outlinks: OutlinkOptions | None,
) -> tuple[DocumentFacts, bytes, set[bytes] | None]:
    """Return the facts of a document whose statements are in memory (the usual case).

    Args:
        lines: all of its statements as N-Triples, without line feeds, all in its own
            graph.
        body: of the document.
        url: of the document.
        graph: of its statements.
        wants_fingerprint: otherwise, there are no facts.
        outlinks: options of the log of links, if it is wanted.

    Returns:
        The facts, and the links as `Outlinks.end` returns them.
    """
    facts, normal = NO_FACTS, None
    if wants_fingerprint:
        normal = fingerprints.normal_statements(lines, graph)
        facts = DocumentFacts(
            fingerprints.content_hash(body), *fingerprints.fingerprint_normal(normal)
        )
    if outlinks is None:
        return facts, b"", None
    if (found := _of_itself(outlinks, url, normal)) is not None:
        return facts, *found
    of_lines = Outlinks(outlinks, url)
    of_lines.add(b"\n".join(lines) + b"\n")
    return facts, *of_lines.end()


def _of_itself(
    options: OutlinkOptions, url: str, normal: NormalStatements | None
) -> tuple[bytes, set[bytes] | None] | None:
    """Return the links of a document about itself; None if it needs `Outlinks`."""
    if normal is None or not normal.is_about_itself:
        return None
    return links_about_itself(options, url, normal)


def canonical_in(outcome: ExtractOutcome) -> str:
    """Return the canonical URL declared by a header `Link` or a page."""
    if not outcome.links:  # the usual case
        return ""
    stated = [x.url for x in outcome.links if x.relation is Relation.CANONICAL]
    return min(stated, default="")
