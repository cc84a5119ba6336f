"""The record of one crawl of one document, for the provenance."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from rdfcrawl.core.content import ArchiveMember
from rdfcrawl.core.errors import TRAPS, Fault
from rdfcrawl.core.records import Document, FetchedResponse, Kind, Record
from rdfcrawl.core.source_tasks import ConsentTask, RobotsTask, SitemapTask, SourceTask
from rdfcrawl.core.tasks import ListedPage, RefreshedPage, Task
from rdfcrawl.stores.provenance.records import (
    Activity,
    LoggedFault,
    ReadMember,
    Status,
    WorkerAgent,
    digest_of,
)
from rdfcrawl.uri.hosts import has_lookalike

_IMMUTABLE: Final = re.compile(r"(?:\A|[\s,])immutable(?=[\s,]|\Z)", re.IGNORECASE)
_MAX_AGE: Final = re.compile(
    r"(?:\A|[\s,])max-age\s*=\s*\"?([0-9]{1,18})", re.IGNORECASE
)
_MOST_SECS: Final = 10 * 366 * 86_400


def immutable_until_ms(cache_control: str, at_ms: int) -> int | None:
    """Return the time until which a response is immutable, Unix time in ms.

    None: `Cache-Control` has no `immutable`, or no lifetime (RFC 8246 section 2).
    Lifetimes are limited to ten years.

    >>> immutable_until_ms("public, max-age=60, immutable", 1_000_000)
    1060000
    >>> immutable_until_ms("max-age=60", 0)
    """
    age = _MAX_AGE.search(cache_control) if cache_control else None
    if age is None or _IMMUTABLE.search(cache_control) is None:
        return None
    return at_ms + min(int(age[1]), _MOST_SECS) * 1000


MAX_FAULTS: Final = 100  # described singly for each document; the rest is counted
_NO_ANSWER: Final = FetchedResponse()


def activity_of(document: Document, worker: WorkerAgent) -> Activity:
    """Return the record of one crawl of one document.

    Equal arguments give equal records; another crawl of the same URI, by another worker
    or at another time, gives another activity. Faults beyond `MAX_FAULTS` are only
    counted.
    """
    record, response, reading = document.record, document.response, document.reading
    form, reservations = reading.format, document.reservations
    answer = response if response.status else _NO_ANSWER
    is_same = document.has_same_statements
    task, rank, listed_secs = _of_task(record.task)
    return Activity(
        record.url,
        response.started_ms,
        response.ended_ms,
        -1 if worker.run is None else worker.run,
        status_of(document),
        0 if is_same else document.n_quads,
        record.depth,
        document.n_links,
        record.parent,
        task,
        rank,
        listed_secs,
        *document.facts,
        spider=worker.spiders.get(record.profile, "") if record.profile else "",
        found_by=_found_by(record) if record.kind is Kind.SITEMAP else "",
        format="" if form is None else form.name,
        decided_by="" if form is None else reading.decided_by,
        compared_to_last=(
            "same" if is_same else "other" if document.has_new_statements else ""
        ),
        packing=" ".join(reading.packings),
        document=document.url if document.url != record.url else "",
        replaced=document.replaced,
        http_status=response.status,
        media_type=answer.media_type,
        etag=answer.etag,
        last_modified=answer.last_modified,
        immutable_until_ms=_immutable_until(document) if answer.cache_control else 0,
        location=answer.redirects_to if 300 <= answer.status < 400 else "",
        n_bytes=answer.n_bytes if answer.requested else -1,
        requested=_requested(record.chain, response.requested),
        extracted=tuple(reading.extracted.items()),
        members=_members(reading.members) if reading.members else (),
        n_members=reading.n_members,
        rows=document.row_counts,
        is_lookalike=has_lookalike(document.url),
        robots_directives=reservations.directives,
        tdm=-1 if reservations.tdm is None else int(reservations.tdm),
        tdm_policy=reservations.tdm_policy,
        content_signals=reservations.signals,
        faults=_faults(document.faults) if document.faults else (),
        n_faults=len(document.faults),
        key="" if record.kind.is_of_url else _key(document, worker),
    )


def _of_task(task: Task | None) -> tuple[str, int, int]:
    """Return the text of a task, or rank and time of an entry of a sitemap."""
    if task is None:
        return "", -1, 0
    if isinstance(task, ListedPage):
        return "", task.rank, task.listed_secs
    if isinstance(task, RefreshedPage):
        return f"{task.TAG}(is_left=True)" if task.is_left else task.TAG, -1, 0
    from rdfcrawl.core.tasks import describe_task  # noqa: PLC0415

    return describe_task(task), -1, 0


def _key(document: Document, worker: WorkerAgent) -> str:
    """Return the key of an activity about a page of a source.

    It may be processed several times at once, and have several documents.
    """
    record = document.record
    started = str(document.response.started_ms)
    task = record.task_text()
    return digest_of(worker.iri, record.url, started, task, document.url)


def _immutable_until(document: Document) -> int:
    response = document.response
    if document.faults and not document.n_quads:  # the content was lost
        return 0
    return immutable_until_ms(response.cache_control, response.started_ms) or 0


def _requested(chain: tuple[str, ...], requested: tuple[str, ...]) -> tuple[str, ...]:
    """Return all requested URLs, if there were redirects."""
    return (*chain, *requested) if chain or len(requested) > 1 else ()


def _members(members: Iterable[ArchiveMember]) -> tuple[ReadMember, ...]:
    return tuple(ReadMember(x.name, x.format, x.n_quads) for x in members)


def _faults(faults: Sequence[Fault]) -> tuple[LoggedFault, ...]:
    some = faults[:MAX_FAULTS]
    return tuple(LoggedFault(str(x.reason), x.count, x.detail) for x in some)


def status_of(document: Document) -> Status:
    """Return the status of a document, as in `docs/reference/provenance.md`."""
    if document.is_deleted:
        return "DELETED"
    if document.has_same_statements:
        return "UNCHANGED"
    if document.n_quads or document.n_documents or _has_listed(document):
        return "PARTIAL" if document.has_losses else "SUCCESSFUL"
    if document.is_partial or any(x.reason not in TRAPS for x in document.faults):
        return "FAILED"
    if document.reading.format is None and 300 <= document.status < 400:
        return "UNCHANGED" if document.status == 304 else "REDIRECTED"
    return "SUCCESSFUL" if document.status or document.reading.format else "UNKNOWN"


def _has_listed(document: Document) -> bool:
    """Return whether a list without statements has led to its entries."""
    is_list = document.record.kind in (Kind.SITEMAP, Kind.RESOURCESYNC)
    has_answer = 200 <= document.status < 300
    return is_list and has_answer and bool(document.n_follow_ups or document.n_links)


def _found_by(record: Record) -> str:
    """Return how a sitemap was found; empty for a robots.txt."""
    task = record.task
    if not isinstance(task, SourceTask):
        return ""
    if isinstance(task.payload, RobotsTask | ConsentTask):
        return ""
    if task.is_named:
        return "operator"
    way = task.payload if isinstance(task.payload, SitemapTask) else SitemapTask()
    ways = {"index": way.depth, "ping": way.ping, "guess": way.is_guess}
    other = "robots" if record.parent.endswith("/robots.txt") else "discovery"
    return next((name for name, holds in ways.items() if holds), other)
