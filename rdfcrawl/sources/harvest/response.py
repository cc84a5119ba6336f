"""Responses of sources: findings, robots.txt, unpacked bodies, and statements."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.content import ByteSource, body_of, head_of
from rdfcrawl.core.errors import Fault, FaultLog, Reason, one_line
from rdfcrawl.core.records import (
    GONE,
    Document,
    FollowUp,
    HarvestedPart,
    Record,
    Urgency,
)
from rdfcrawl.core.source_tasks import RobotsTask
from rdfcrawl.downloader.robots.cache import ROBOTS_PATH
from rdfcrawl.downloader.robots.parser import MAX_ROBOTS_BYTES, MAX_SITEMAPS
from rdfcrawl.downloader.robots.policy import RobotsRules, parse_robots
from rdfcrawl.rdf import sniffing
from rdfcrawl.rdf.checking import iter_checked
from rdfcrawl.rdf.environment import DEFAULT_LIMITS
from rdfcrawl.rdf.graphs import graph_iri
from rdfcrawl.rdf.output import QuadLines, QuadOutput
from rdfcrawl.rdf.unpack.documents import iter_documents
from rdfcrawl.rdf.unpack.limits import UnpackLimits
from rdfcrawl.sources.harvest.protocol import read_task
from rdfcrawl.uri import host_of
from rdfcrawl.uri.hosts import site_of

if TYPE_CHECKING:
    from rdfcrawl.frontier.session import CrawlSession


_LIMITS = UnpackLimits(n_bytes=2**30, n_members=1000)


def unread_part(faults: Sequence[Fault], url: str = "") -> Fault:
    """Return the fault of a source of which one response could not be read.

    Args:
        faults: of the response.
        url: of its request, unless the record has it.
    """
    why = [f"{each.reason}: {each.detail}" for each in faults[:1]]
    return Fault(Reason.INCOMPLETE, one_line(" ".join(["not read:", *why, url])))


@dataclass(frozen=True, slots=True)
class HarvestedResponse:
    """Findings in a response, until the harvester yields them.

    Attributes:
        document: the harvester's copy, from `Document.harvested`.
        log: receives faults.
        follow_ups: not yielded yet.
    """

    document: Document
    log: FaultLog = field(default_factory=FaultLog)
    follow_ups: list[FollowUp] = field(default_factory=list)

    @property
    def record(self) -> Record:
        """The requested record."""
        return self.document.record

    @property
    def final_url(self) -> str:
        """The URL after redirects on its host."""
        return self.document.response.requested[-1]

    def take_follow_ups(self) -> list[FollowUp]:
        """Return the follow-ups since the last call."""
        found = self.follow_ups.copy()
        self.follow_ups.clear()
        return found


def note_refused(response: HarvestedResponse, session: CrawlSession) -> None:
    """Log the refused URLs of a response."""
    for why, url in response.log.take_refused():
        session.links.note_decision(why, [url], response.document.url)


def read_robots(document: Document) -> RobotsRules:
    """Return the rules of a robots.txt; add faults for an excessive one."""
    body = head_of(document.response, MAX_ROBOTS_BYTES + 1)
    rules = parse_robots(body)
    if len(body) > MAX_ROBOTS_BYTES:
        detail = f"robots.txt: over {MAX_ROBOTS_BYTES} bytes"
        document.faults.append(Fault(Reason.TOO_LARGE, detail))
    if rules.has_more_sitemaps:
        detail = f"robots.txt: over {MAX_SITEMAPS} sitemaps"
        document.faults.append(Fault(Reason.TOO_MANY_ENTRIES, detail))
    return rules


def robots_instead(document: Document) -> list[FollowUp]:
    """Return the robots.txt on the Web that replaces a missing one on FTP.

    Both servers are at their default ports.
    """
    record, site = document.record, site_of(document.record.url)
    is_ftp = record.url.startswith("ftp") and site == host_of(record.url)
    is_named_site = read_task(record).payload == RobotsTask()
    if not is_ftp or document.status not in GONE or is_named_site:
        return []
    url = f"http://{site}{ROBOTS_PATH}"
    other = Record(url, record.kind, record.depth, record.url, task=record.task)
    return [FollowUp(other, is_part_of_source=True, urgency=Urgency.SOON)]


def iter_unpacked(document: Document, log: FaultLog) -> Iterator[ByteSource]:
    """Yield the files in the body of a response, if any; read one before the next.

    `log` receives the faults of an archive.
    """
    body = body_of(document.response)
    if body is None:
        return
    source = ByteSource.of(body)
    decision = sniffing.decide(document.media_type, document.url, source.head())
    if decision.packing is None:
        yield source
        return
    for packed in iter_documents(
        source,
        decision.packing,
        url=document.url,
        media_type=document.media_type,
        limits=_LIMITS,
        scratch=None,
        log=log,
        is_read=lambda *_: True,
    ):
        yield packed.source


_MAX_CHARS: Final = 256 * 1024


class QuadBuffer:
    """Collects statements into checked chunks in the graph of a document.

    `log` receives faults of invalid statements.
    """

    def __init__(self, url: str, log: FaultLog) -> None:
        self._log = log
        self._output = QuadOutput(
            url=url, graph=graph_iri(url), limits=DEFAULT_LIMITS, log=log
        )
        self._lines: list[str] = []
        self._n_chars = 0

    def add(self, lines: Iterable[str]) -> bool:
        """Add lines of N-Quads; return whether a chunk is complete."""
        for line in lines:
            self._lines.append(line)
            self._n_chars += len(line)
        return self._n_chars >= _MAX_CHARS

    def take(self) -> list[QuadLines]:
        """Return the statements so far, and clear the buffer."""
        checked = iter_checked(self._lines, self._log)
        chunks = list(self._output.chunks(checked))
        self._lines.clear()
        self._n_chars = 0
        return chunks


async def iter_quads(
    lines: Iterable[str], url: str, log: FaultLog
) -> AsyncIterator[HarvestedPart]:
    """Yield unchecked lines of N-Quads as chunks of a document, and faults at the end.

    `log` is for this document only; the iterator of lines may add to it.
    """
    buffer = QuadBuffer(url, log)
    for line in lines:
        if buffer.add((line,)):
            for chunk in buffer.take():
                yield chunk
                await asyncio.sleep(0)
    for chunk in buffer.take():
        yield chunk
    for fault in log.all():
        yield fault
