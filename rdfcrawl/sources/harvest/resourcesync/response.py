"""A response of a ResourceSync source while it is harvested."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from rdfcrawl.core.content import ByteSource, body_of
from rdfcrawl.core.errors import FaultLog, Reason, SourceFault, passing_fault
from rdfcrawl.core.records import Document, FollowUp, Kind, Record, Urgency
from rdfcrawl.core.source_tasks import SyncSearch, SyncTask
from rdfcrawl.core.tasks import RevisitedPage
from rdfcrawl.rdf import sniffing
from rdfcrawl.sources.harvest.protocol import HarvestContext, next_step, read_task
from rdfcrawl.sources.harvest.resourcesync.mirror_index import MirrorIndex
from rdfcrawl.sources.harvest.response import HarvestedResponse, iter_quads
from rdfcrawl.sources.resourcesync.policy import SyncPolicy
from rdfcrawl.sources.resourcesync.resources import fitted
from rdfcrawl.uri import host_of, registered_domain


@dataclass(frozen=True, slots=True)
class SyncResponse(HarvestedResponse):
    """A response of a ResourceSync source, with the context of the harvester."""

    context: HarvestContext = field(kw_only=True)

    @property
    def run(self) -> int:
        """Run of the crawl in the task of the record."""
        return read_task(self.record).run

    @property
    def source(self) -> ByteSource | None:
        """The body; None if there is none."""
        body = body_of(self.document.response)
        return None if body is None else ByteSource.of(body)

    def memory(self, source: str) -> MirrorIndex:
        """Return the index of a set of resources."""
        name = f"{self.record.url} {self.record.task_text()}".encode()
        own = blake2b(name, digest_size=6).hexdigest()
        return MirrorIndex(self.context.state_store, source, own, self.run)

    def policy(self) -> SyncPolicy:
        """Return the policy for reading the source."""
        options = self.context.options
        # The sources named by the operator do not apply to discovered ones.
        is_named = read_task(self.record).is_named
        named = self.context.arguments.sources if is_named else ()
        hosts = map(host_of, named if isinstance(named, tuple) else ())
        return SyncPolicy(
            sites=frozenset(map(registered_domain, hosts)),
            trusted=self.context.arguments.trust,
            wants_patches=options.files is not None,
            only_rdf=options.files is None,
            now_us=self.document.response.ended_ms * 1000,
        )

    def note(self, error: OSError | SourceFault) -> None:
        """Note a failure.

        Raises:
            StoreFault: our disk has failed for now; the page is repeated later.
        """
        if fault := passing_fault(error):
            raise fault from error
        if isinstance(error, SourceFault):
            self.log.note(error.fault.reason, error.fault.detail)
        else:
            self.log.note(Reason.INTERNAL, f"files: {error.strerror}")

    def queue(
        self,
        url: str,
        payload: SyncTask | SyncSearch,
        urgency: Urgency = Urgency.ORDINARY,
    ) -> None:
        """Add a follow-up of the same source."""
        if isinstance(payload, SyncTask):
            try:
                payload = fitted(payload)
            except SourceFault as error:
                self.note(error)
                return
        child = next_step(self.record, payload, url=url, urgency=urgency)
        self.follow_ups.append(child)

    def queue_pages(self, urls: Iterable[str]) -> None:
        """Add pages about the source, for each run."""
        record, task = self.record, RevisitedPage(self.run)
        change = f"run {self.run}" if self.run else ""
        for url in urls:
            page = Record(url, Kind.PAGE, record.depth + 1, record.url, task=task)
            self.follow_ups.append(FollowUp(page, change=change))

    def derived(self, url: str, *, is_deleted: bool = False) -> Document:
        """Return a separate document from the response."""
        document = self.document.part(url, is_deleted=is_deleted)
        document.record = replace(self.record, chain=())
        document.is_read = is_deleted
        return document

    def describe(self, document: Document, lines: Iterable[str]) -> None:
        """Replace the content of a document by statements without following them."""
        document.is_read = True
        document.is_followed = False
        document.parts = iter_quads(lines, document.url, FaultLog())


def is_rdf(document: Document, head: bytes) -> bool:
    """Return whether a resource has an RDF format, or may contain RDF when unpacked."""
    decision = sniffing.decide(document.media_type, document.url, head)
    return decision.format is not None or decision.packing is not None
