"""The facts of a document that only who reads it can know: fingerprints and links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.duplicates.fingerprints import (
    MAX_STATEMENT_BYTES,
    Fingerprint,
    fingerprint_statements,
    fingerprint_text,
)
from rdfcrawl.html.error_pages import is_error_page
from rdfcrawl.html.visible_text import (
    count_images,
    count_linked_words,
    visible_text,
)
from rdfcrawl.links.outlinks import Outlinks
from rdfcrawl.links.relations import Relation

if TYPE_CHECKING:
    from rdfcrawl.extraction.messages import ExtractOutcome, ReadingJob
    from rdfcrawl.html.page import ParsedPage

_UNREAD = Fingerprint("", "")


class FactsReading:
    """Gathers the facts of a document while its statements pass.

    Args:
        job: says which facts are wanted.
    """

    def __init__(self, job: ReadingJob) -> None:
        self._job = job
        self._chunks: list[bytes] = []  # none, if there are too many
        self._n_bytes = 0
        self._has_graphs = True
        self._page: Fingerprint | None = None
        self._canonical = ""
        self._n_images = self._n_words = self._n_linked_words = 0
        self._is_error_page = False
        self._outlinks = None
        if job.outlinks is not None:
            self._outlinks = Outlinks(job.outlinks, job.url)

    def add_all(self, lines: bytes) -> None:
        """Take all statements of a document as N-Triples, all in its own graph."""
        self._has_graphs = False
        self.add(lines)

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
        self._canonical = page.canonical
        self._page = _UNREAD
        if self._job.extractors is None:  # else its first reader has done so
            text = visible_text(page.lower)
            self._page = fingerprint_text(text)
            self._n_images = count_images(page.lower, text)
            self._is_error_page = is_error_page(page.lower, text)
            self._n_linked_words = count_linked_words(page.lower)
            if self._n_linked_words:
                self._n_words = len(text.split())

    def end(self, outcome: ExtractOutcome) -> None:
        """Set the facts of an outcome."""
        if self._outlinks is not None:
            outcome.outlinks = self._outlinks.lines()
        if not self._job.wants_fingerprint:
            return
        outcome.canonical = self._canonical
        outcome.n_images = self._n_images
        outcome.n_words, outcome.n_linked_words = self._n_words, self._n_linked_words
        outcome.is_error_page = self._is_error_page
        if outcome.links and not self._canonical:
            stated = [x.url for x in outcome.links if x.relation is Relation.CANONICAL]
            outcome.canonical = min(stated, default="")
        found = self._page
        if found is None and self._chunks:
            graph = self._job.graph or self._job.url
            found = fingerprint_statements(
                b"".join(self._chunks), graph, has_graphs=self._has_graphs
            )
        if found is not None:
            outcome.text_hash, outcome.sketch, outcome.n_shingles = found
