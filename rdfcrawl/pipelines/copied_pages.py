"""Judge the links of copies of many other documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.duplicates.copies import (
    FOLLOWED,
    NO_LIMITS,
    ComparedDocument,
    CopyJudge,
    CopyLimits,
    CopyVerdict,
)
from rdfcrawl.core.counting import counted
from rdfcrawl.core.errors import Decision, Fault
from rdfcrawl.core.formats import HTML
from rdfcrawl.rdf.fingerprints import Fingerprint
from rdfcrawl.rdf.graphs import graph_iri
from rdfcrawl.uri import host_of, registered_domain
from rdfcrawl.uri.traps import form_of

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from rdfcrawl.core.records import Document
    from rdfcrawl.frontier.session import CrawlSession

_NO_LINKS: Final[frozenset[bytes]] = frozenset()


class CopiedPages:
    """The judge of one worker, with logging and counting."""

    def __init__(self, session: CrawlSession, limits: CopyLimits) -> None:
        self._session = session
        self.judge = CopyJudge(limits, self._place_of)
        self.has_limits = limits != NO_LIMITS

    def _place_of(self, host: str) -> tuple[str, str]:
        return registered_domain(host), self._session.addresses.address_of(host)

    def note(self, document: Document) -> None:
        """Count a document whose facts are known."""
        facts = document.facts
        if not facts.text_hash:
            return
        is_first = self.judge.is_first(facts.text_hash)
        may_be_near = not _n_stored(document) and document.reading.format is HTML
        if not is_first or may_be_near or facts.is_error_page:
            self.judge.note(_compared(document))

    def followed(
        self, document: Document, links: AbstractSet[bytes], whole: bytes | None
    ) -> CopyVerdict:
        """Return the verdict on links; log and count dropped ones.

        Args:
            document: document that may be a copy.
            links: of the document.
            whole: all of its statements; None if too many.
        """
        if not document.facts.text_hash or document.record.depth == 0:
            return FOLLOWED

        def digest() -> object:
            own = graph_iri(document.url).encode()
            return hash(whole.replace(own, b"")) if whole else document.n_quads

        def leads_on(some: AbstractSet[bytes]) -> bool:
            form = form_of(document.url)
            return any(form_of(x.decode(errors="replace")) != form for x in some)

        compared = _compared(document)
        verdict = self.judge.judge(compared, links, digest=digest, leads_on=leads_on)
        rejected = self._session.links.rejected
        if verdict.reason is not None:
            rejected.of_copy += len(links)
            detail = f"{counted(len(links), 'link')} of one of very many copies"
            document.faults.append(Fault(verdict.reason, detail))
            urls = [link.decode(errors="replace") for link in links]
            self._session.links.note_decision(Decision.OF_COPY, urls, document.url)
        elif verdict.is_last:
            rejected.of_copy_later += len(links)
        return verdict


def _compared(document: Document) -> ComparedDocument:
    facts = document.facts
    return ComparedDocument(
        host_of(document.url),
        Fingerprint(facts.text_hash, facts.sketch, facts.n_shingles),
        document.reading.format is HTML,
        _n_stored(document),
        facts.n_images,
        facts.is_error_page,
    )


def _n_stored(document: Document) -> int:
    return 0 if document.withheld else document.n_quads
