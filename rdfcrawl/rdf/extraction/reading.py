"""Read one document of any format and packing to statements and links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rdfcrawl.core import formats
from rdfcrawl.core.content import ArchiveMember, ByteSource
from rdfcrawl.core.errors import (
    Fault,
    FaultLog,
    RdfcrawlError,
    Reason,
    SourceFault,
    fault_of_exception,
)
from rdfcrawl.core.reservations import NOTHING
from rdfcrawl.rdf import sniffing
from rdfcrawl.rdf.checking import iter_checked
from rdfcrawl.rdf.environment import INLINE, ReaderContext
from rdfcrawl.rdf.extraction.facts import (
    FactsReading,
    canonical_in,
    facts_of_chunk,
)
from rdfcrawl.rdf.extraction.messages import MAX_MEMBERS, ExtractOutcome, ReadingJob
from rdfcrawl.rdf.extraction.plain import plain_lines
from rdfcrawl.rdf.graphs import GraphRule
from rdfcrawl.rdf.html.extractors import SLOW, scan
from rdfcrawl.rdf.output import QuadLines, QuadOutput, joined_chunks, quad_chunks
from rdfcrawl.rdf.parse import DocumentParser, is_blank

if TYPE_CHECKING:
    from rdfcrawl.core.formats import Link
    from rdfcrawl.rdf.extraction.custom_extractors import ExtractorClaim
    from rdfcrawl.rdf.extraction.plain import PlainLines
    from rdfcrawl.rdf.html.page import ParsedPage
    from rdfcrawl.rdf.html.page_links import PageReservations
    from rdfcrawl.rdf.html.reading import PageReading
    from rdfcrawl.rdf.html.rules import PageRule
    from rdfcrawl.rdf.unpack.documents import PackedDocument

MAX_PAGE_BYTES: Final = 16 * 2**20  # a longer page is cut


class DocumentReading:
    """A document being read; iterate once, over chunks of N-Quads.

    `outcome` is complete after iteration.

    Raises:
        OSError: the file cannot be read.
    """

    def __init__(
        self,
        source: bytes | Path | ByteSource,
        job: ReadingJob,
        *,
        environment: ReaderContext = INLINE,
    ) -> None:
        self._source = ByteSource.of(source)
        self._job, self._environment, self._log = job, environment, FaultLog()
        self._noted_before: list[Fault] = []
        self._writing: QuadOutput | None = None  # of the document or member being read
        head = sniffing.head_of(self._source)
        decision = sniffing.decide(job.media_type, job.url, head)
        self._claim = self._claim_of(self._source, decision, job.media_type, job.url)
        if self._claim is not None:
            decision = formats.FormatDecision(None, self._claim.decided_by)
        self._context_url = ""
        links: set[Link] = set()
        if job.http_links:
            from rdfcrawl.rdf.links.headers import context_for, links_of

            links = links_of(job.http_links, base=job.url)
            self._context_url = context_for(
                *(job.http_links, decision, job.media_type), base=job.url, log=self._log
            )
            if self._context_url and decision.format is None:
                decision = formats.FormatDecision(formats.JSON_LD, "content-type")
        self._decision = decision
        self._wants_facts = job.wants_fingerprint or job.outlinks is not None
        self._is_member = False  # in an archive
        self._is_users = False  # read by a custom extractor
        self._n_unearned: list[int] = []  # bytes that it has read
        self._facts: FactsReading | None = None
        self._plain: PlainLines | None = None  # all statements, if available
        self.outcome = ExtractOutcome(
            format=decision.format,
            decided_by=decision.decided_by,
            reservations=job.reservations,
            links=links,
        )

    def _claim_of(
        self,
        source: ByteSource,
        decision: formats.FormatDecision,
        media_type: str,
        name: str,
    ) -> ExtractorClaim | None:
        """Return the custom extractor for a document or member, if any."""
        if not self._job.custom:
            return None
        from rdfcrawl.rdf.extraction.custom_extractors import claim

        return claim(
            self._job.custom, source, decision, media_type=media_type, name=name
        )

    def __iter__(self) -> Iterator[QuadLines]:
        """Read the document; faults of the document are logged, not raised.

        Raises:
            NeedsSandbox: the document may not be read here; nothing was read.
        """
        outcome = self.outcome
        try:
            if is_blank(self._source):
                self._log.note(Reason.EMPTY)
            elif self._is_closed():
                pass
            elif (lines := self._plain_lines()) is not None:
                yield from quad_chunks(lines)
            else:
                yield from self._observed_chunks()
        except SourceFault as error:
            self._note_partial(error.fault.reason, error.fault.detail)
        except (RdfcrawlError, OSError):
            raise
        except Exception as error:  # the boundary: any library may fail
            self._note_exception(error, str(self._decision.packing or "reading"))
        job, body = self._job, self._source.data
        if self._wants_facts and body and self._plain is not None:
            self._set_facts(self._plain, body)
        elif self._wants_facts:
            (self._facts or FactsReading(job, body)).end(outcome)
        noted, before = self._log.all(), self._noted_before
        outcome.faults = [x for x in noted if x not in before] if before else noted

    def _set_facts(self, plain: PlainLines, body: bytes) -> None:
        """Set the facts of a document whose statements are in memory."""
        job, outcome = self._job, self.outcome
        facts, outcome.outlinks, outcome.targets = facts_of_chunk(
            plain.placed,
            plain.bare,
            body,
            url=job.url,
            graph=job.graph or job.url,
            wants_fingerprint=job.wants_fingerprint,
            outlinks=job.outlinks,
        )
        if job.wants_fingerprint and (canonical := canonical_in(outcome)):
            facts = facts._replace(canonical=canonical)
        outcome.facts = facts

    def _observed_chunks(self) -> Iterator[QuadLines]:
        job, output = self._job, self._output(self._job.graph, self._job.key)
        if self._decision.packing is not None:
            chunks = self._unpack(self._decision.packing)
        else:
            chunks = self._document(self._source, self._decision, self._claim, output)
            if not self._environment.is_bounded:
                chunks = joined_chunks(chunks)
        if not self._wants_facts:
            yield from chunks
            return
        self._facts = facts = FactsReading(job, self._source.data)
        for chunk in chunks:
            facts.add(chunk, output.bare(chunk))
            yield chunk

    @property
    def n_quads(self) -> int:
        """Statements written so far; counting lines again takes as long as a copy."""
        writing = self._writing
        return self.outcome.n_quads + (writing.n_quads if writing else 0)

    def _is_closed(self) -> bool:
        """Return whether all of a document is reserved; a page may override this."""
        reserved, policy = self._job.reservations, self._job.reservation_policy
        if reserved is NOTHING or not reserved.closes(policy):
            return False
        return not self._is_page(self._source, self._decision)

    def _plain_lines(self) -> bytes | None:
        """Return the statements of a small document of canonical lines, else None."""
        job, decision = self._job, self._decision
        is_refuted = decision.refuted  # which is noted
        if decision.format is None or is_refuted:
            return None
        output = self._output(job.graph, job.key)
        found = plain_lines(
            self._source.data, decision.format, output, charset=job.charset
        )
        if found is None:
            return None
        self._plain, self.outcome.n_quads = found, found.n_quads
        return found.placed

    def _output(self, graph: str | None, key: str) -> QuadOutput:
        limits, job, n_quads = self._job.limits, self._job, self.outcome.n_quads
        if n_quads:  # of other members
            limits = replace(limits, n_quads=limits.n_quads - n_quads)
        return QuadOutput(
            url=job.url,
            graph=graph,
            key=key,
            trust=job.trust,
            limits=limits,
            log=self._log,
        )

    def _document(
        self,
        source: ByteSource,
        decision: formats.FormatDecision,
        chosen: ExtractorClaim | None,
        output: QuadOutput,
    ) -> Iterator[QuadLines]:
        self._writing = output
        try:
            is_link_set = self._reads_links(source, decision)
            if chosen is not None:
                yield from self._extract(chosen, source, output)
            elif self._is_page(source, decision):
                yield from self._page(source, output)
            elif decision.format is not None or not is_link_set:
                yield from self._parse(source, decision, output)
        except (RdfcrawlError, OSError):
            raise
        except Exception as error:  # the boundary: read the others of the archive
            name = decision.format.name if decision.format else decision.found
            self._note_exception(error, chosen.extractor.name if chosen else name)
        finally:
            self.outcome.n_quads += output.n_quads
            self._writing, self._is_users = None, False
            self.outcome.is_partial |= output.has_unreadable

    def _reads_links(
        self, source: ByteSource, decision: formats.FormatDecision
    ) -> bool:
        """Return whether the document is a set of links, and read them."""
        job = self._job
        if self._is_member or (
            decision.found != "JSON" and "linkset" not in job.media_type.lower()
        ):
            return False
        from rdfcrawl.rdf.links.link_sets import is_link_set, read_link_set

        if not is_link_set(job.media_type, decision, source.head()):
            return False
        self.outcome.links |= read_link_set(
            self._page_bytes(source),
            base=job.url if job.base is None else job.base,
            wants_hyperlinks=job.wants_hyperlinks,
            log=self._log,
        )
        self.outcome.is_partial |= self._log.count(Reason.SYNTAX) > 0
        return True

    def _parse(
        self, source: ByteSource, decision: formats.FormatDecision, output: QuadOutput
    ) -> Iterator[QuadLines]:
        job = self._job
        parse = DocumentParser(
            source,
            decision,
            charset=job.charset,
            base=job.url if job.base is None else job.base,
            context_url=self._context_url,
            limits=job.limits,
            environment=self._environment,
            log=self._log,
            output=output,
        )
        yield from parse
        self.outcome.is_partial |= parse.is_partial

    def _extract(
        self, chosen: ExtractorClaim, source: ByteSource, output: QuadOutput
    ) -> Iterator[QuadLines]:
        """Read with a custom extractor; its failure is a fault of the document.

        Statements before the failure are kept.
        """
        from rdfcrawl.rdf.extraction.custom_extractors import (
            MAX_CONTENT_BYTES,
            DocumentContent,
        )

        name = chosen.extractor.name
        self._environment.demand_bounds(f"the extractor for {name}")
        job = self._job
        media_type = "" if self._is_member else job.media_type.partition(";")[0]
        content = DocumentContent(
            *(source, self._n_unearned.append),
            url=job.url,
            media_type=media_type,
            charset=job.charset,
        )
        self._is_users = True
        lines = iter_checked(chosen.extractor.lines(content), self._log)
        try:
            yield from output.chunks(lines, has_graphs=True)
        except SourceFault as error:
            fault = error.fault
            part = name if fault.is_own else ""
            self._note_partial(fault.reason, f"{name}: {fault.detail}", part)
        except (RdfcrawlError, OSError):
            raise
        except Exception as error:
            self._note_exception(error, name)
        if content.is_cut:
            cut = f"{name}: cut at {MAX_CONTENT_BYTES} bytes"
            self._note_partial(Reason.TOO_LARGE, cut)
        self.outcome.extracted[name] += output.n_quads

    def earned_bytes(self, chunk: QuadLines) -> int:
        """Return the number of bytes by which a chunk extends the time for reading.

        Unpacked statements extend the time like the bytes of a file. A custom
        extractor, which may yield forever, earns time by the bytes it reads.
        """
        if not self._is_users:
            return len(chunk)
        n_unearned = sum(self._n_unearned)
        self._n_unearned.clear()
        return n_unearned

    def _note_partial(self, reason: Reason, detail: str, part: str = "") -> None:
        self._log.note(reason, detail, part=part)
        self.outcome.is_partial = True

    def _note_exception(self, error: Exception, part: str) -> None:
        found = fault_of_exception(error, part, self._job.url)
        self._note_partial(found.reason, found.detail, found.part)

    # -- pages ---------------------------------------------------------------------

    def _is_page(self, source: ByteSource, decision: formats.FormatDecision) -> bool:
        """Return whether extractors read the document as markup or JSON."""
        if decision.format is not None:
            return decision.format is formats.HTML
        if decision.found == "XML":  # RDFa is allowed in any XML
            return bool(scan(source.head()))
        return decision.found == "JSON" and bool(self._rules())

    def _page(self, source: ByteSource, output: QuadOutput) -> Iterator[QuadLines]:
        from rdfcrawl.rdf.html.page import ParsedPage, note_faults, note_label
        from rdfcrawl.rdf.html.page_links import PageReservations

        job = self._job
        data = self._page_bytes(source)
        page = ParsedPage(
            data, url=job.page_url, media_type=job.media_type, charset=job.charset
        )
        if job.extractors is not None and not page.is_json:
            self._noted_before = note_faults(page, self._log)
        elif not self._is_member:
            note_label(page, job.media_type, self._log)
        reservations = PageReservations(
            *(job.reservations, job.reservation_policy),
            at_secs=job.at_secs,
            is_member=self._is_member,
        )
        if any(each.reads_pages for each in job.custom):
            self._is_users = True
            self._n_unearned.append(len(data))
        reading = self._page_reading(page, output, reservations)
        outcome = self.outcome
        for chunk in reading:
            if not self._is_member:  # known before the first statement
                outcome.reservations = reservations.found
            yield chunk
        outcome.is_partial |= reading.is_partial
        outcome.links |= page.links
        if not self._is_member:
            outcome.reservations = reservations.found
        outcome.left = reading.left
        outcome.uniform = reading.uniform or outcome.uniform
        for name, n_quads in reading.extracted.items():
            outcome.extracted[name] += n_quads
        if self._facts is not None and not self._is_member and not page.is_json:
            self._facts.add_page(page)

    def _page_reading(
        self, page: ParsedPage, output: QuadOutput, reservations: PageReservations
    ) -> PageReading:
        from rdfcrawl.rdf.html.reading import PageReading

        job = self._job
        custom = tuple(each for each in job.custom if each.reads_pages)
        excluded: frozenset[str] = frozenset()
        if not self._environment.is_bounded:
            excluded = SLOW.union(each.name for each in custom) if custom else SLOW
        return PageReading(
            page,
            extractors=job.extractors,
            excluded=excluded,
            rules=self._rules(),
            custom=custom,
            wants_hyperlinks=job.wants_hyperlinks,
            environment=self._environment,
            limits=job.limits,
            log=self._log,
            output=output,
            reservations=reservations,
            wants_uniform=job.wants_uniform and not self._is_member,
        )

    def _page_bytes(self, source: ByteSource) -> bytes:
        data = source.first(MAX_PAGE_BYTES + 1)
        if len(data) > MAX_PAGE_BYTES:
            detail = f"page cut at {MAX_PAGE_BYTES} bytes"
            self._note_partial(Reason.TOO_LARGE, detail)
        return data[:MAX_PAGE_BYTES]

    def _rules(self) -> tuple[PageRule, ...]:
        if not self._job.rules:
            return ()
        from rdfcrawl.rdf.html.rules import rules_in

        return rules_in(self._job.rules).matching(self._job.page_url)

    # -- archives ------------------------------------------------------------------

    def _unpack(self, packing: formats.PackingKind) -> Iterator[QuadLines]:
        self._environment.demand_bounds(f"unpacking {packing}")
        from rdfcrawl.rdf.unpack.documents import INCOMPLETE, iter_documents

        job, outcome = self._job, self.outcome
        outcome.format = None
        for packed in iter_documents(
            self._source,
            packing,
            url=job.url,
            media_type=job.media_type,
            limits=job.unpack,
            scratch=self._environment.scratch,
            log=self._log,
            is_read=self._is_read,
        ):
            if not outcome.packings:
                outcome.packings = packed.packings
            if outcome.format is None:
                outcome.format = packed.decision.format
                outcome.decided_by = packed.decision.decided_by
            self._is_member = any(packed.names)
            yield from self._member(packed)
        outcome.is_partial |= any(self._log.count(each) for each in INCOMPLETE)

    def _is_read(
        self, name: str, source: ByteSource, decision: formats.FormatDecision
    ) -> bool:
        """Return whether an extractor reads a member that is not RDF."""
        found = self._claim_of(source, decision, "", name)
        return found is not None or self._is_page(source, decision)

    def _member(self, packed: PackedDocument) -> Iterator[QuadLines]:
        from rdfcrawl.rdf.unpack.members import graph_of_member

        job, outcome = self._job, self.outcome
        n_before = outcome.n_quads
        key = f"{job.key or job.url}#{packed.name}"
        name = packed.names[-1] if packed.names else ""
        graph = graph_of_member(name, packed.source.head()) if name else None
        if graph is not None and not GraphRule(job.url, job.trust).admits(graph):
            self._log.note(Reason.FOREIGN_GRAPH, f"a member named {graph}")
            graph = None
        output = self._output(job.graph if graph is None else graph, key)
        media_type = "" if self._is_member else job.media_type
        source, decision = packed.source, packed.decision
        found = self._claim_of(source, decision, media_type, packed.file_name)
        if found is not None:
            outcome.decided_by = found.decided_by
        yield from self._document(source, decision, found, output)
        if any(packed.names):
            outcome.n_members += 1
            if len(outcome.members) < MAX_MEMBERS:
                read_as = None if found else decision.format
                member = ArchiveMember(
                    name=packed.name,
                    format=read_as.name if read_as else "",
                    n_quads=outcome.n_quads - n_before,
                )
                outcome.members.append(member)
