"""The facts of a document that only who reads it can know: fingerprints and links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.duplicates.fingerprints import (
    MAX_STATEMENT_BYTES,
    content_hash,
    fingerprint_normal,
    fingerprint_text,
    normal_statements,
)
from rdfcrawl.html.error_pages import is_error_page
from rdfcrawl.html.visible_text import (
    count_images,
    count_linked_words,
    visible_text,
)
from rdfcrawl.links.outlinks import Outlinks
from rdfcrawl.links.relations import Relation
from rdfcrawl.records import DocumentFacts

if TYPE_CHECKING:
    from rdfcrawl.duplicates.fingerprints import NormalStatements
    from rdfcrawl.extraction.messages import ExtractOutcome, ReadingJob
    from rdfcrawl.html.page import ParsedPage


class FactsReading:
    """Gathers the facts of a document while its statements pass.

    Args:
        job: says which facts are wanted.
        body: of the document, if it is in memory.
    """

    def __init__(self, job: ReadingJob, body: bytes | None = None) -> None:
        self._job, self._body = job, body
        self._chunks: list[bytes] = []  # none, if there are too many
        self._n_bytes = 0
        self._ready: bytes | None = None
        self._page: DocumentFacts | None = None
        self._outlinks = None
        if job.outlinks is not None:
            self._outlinks = Outlinks(job.outlinks, job.url)

    def add_all(self, lines: bytes) -> None:
        """Take all statements of a document as N-Triples, all in its own graph."""
        self._ready = lines

    def add(self, chunk: bytes) -> None:
        """Take statements."""
        if self._outlinks is not None:
            self._outlinks.add(chunk)
        self._n_bytes += len(chunk)
        if self._n_bytes <= MAX_STATEMENT_BYTES:
            self._chunks.append(chunk)
        else:
            self._chunks.clear()

    def add_page(self, page: ParsedPage) -> None:
        """Take a page in markup."""
        if not self._job.wants_fingerprint:
            return
        if self._job.extractors is not None:  # its first reader has done so
            self._page = DocumentFacts(canonical=page.canonical)
            return
        text = visible_text(page.lower)
        n_linked_words = count_linked_words(page.lower)
        self._page = DocumentFacts(
            "",
            *fingerprint_text(text),
            canonical=page.canonical,
            n_images=count_images(page.lower, text),
            n_words=len(text.split()) if n_linked_words else 0,
            n_linked_words=n_linked_words,
            is_error_page=is_error_page(page.lower, text),
        )

    def end(self, outcome: ExtractOutcome) -> None:
        """Set the facts of an outcome."""
        outlinks, ready, normal = self._outlinks, self._ready, None
        if self._job.wants_fingerprint:
            normal = self._normal_statements()
            self._set_facts(outcome, normal)
        if outlinks is None:
            return
        if ready is not None:
            is_own = normal is not None and normal[2]
            if normal is None or not (is_own and outlinks.add_own(normal[0])):
                outlinks.add(ready)
        outcome.outlinks, outcome.targets = outlinks.end()

    def _normal_statements(self) -> NormalStatements | None:
        job = self._job
        graph = job.graph or job.url
        if self._ready is not None:
            return normal_statements(self._ready, graph, has_graphs=False)
        if not self._chunks:
            return None
        return normal_statements(b"".join(self._chunks), graph)

    def _set_facts(
        self, outcome: ExtractOutcome, normal: NormalStatements | None
    ) -> None:
        shown = content_hash(self._body) if self._body else ""
        page = self._page
        canonical = page.canonical if page else ""
        if outcome.links and not canonical:
            stated = [x.url for x in outcome.links if x.relation is Relation.CANONICAL]
            canonical = min(stated, default="")
        if page is not None:
            outcome.facts = page._replace(content_hash=shown, canonical=canonical)
        elif normal is not None:
            outcome.facts = DocumentFacts(shown, *fingerprint_normal(normal), canonical)
        elif shown or canonical:
            outcome.facts = DocumentFacts(shown, canonical=canonical)
