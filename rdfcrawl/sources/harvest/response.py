"""Responses during harvesting: findings, rules of robots.txt, unpacked bodies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.content import ByteSource, body_of, head_of
from rdfcrawl.core.errors import Fault, FaultLog, Reason
from rdfcrawl.core.records import FollowUp, Record, Urgency
from rdfcrawl.core.source_tasks import RobotsTask
from rdfcrawl.downloader.robots.cache import ROBOTS_PATH
from rdfcrawl.downloader.robots.parser import MAX_ROBOTS_BYTES, MAX_SITEMAPS
from rdfcrawl.downloader.robots.policy import RobotsRules, parse_robots
from rdfcrawl.rdf import sniffing
from rdfcrawl.rdf.unpack.documents import iter_documents
from rdfcrawl.rdf.unpack.limits import UnpackLimits
from rdfcrawl.sources.harvest.protocol import read_task
from rdfcrawl.uri import host_of
from rdfcrawl.uri.origin import site_of

if TYPE_CHECKING:
    from rdfcrawl.core.records import Document
    from rdfcrawl.frontier.session import CrawlSession


ABSENT: Final = (404, 410)  # statuses of a file that does not exist
_LIMITS = UnpackLimits(n_bytes=2**30, n_members=1000)


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
    if not is_ftp or document.status not in ABSENT or is_named_site:
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
