"""The provenance of one crawl of one document, as N-Quads.

Each crawl of a document is a `prov:Activity` with a status, times, the response of the
server, how it was read, and its faults; `docs/reference/provenance.md` defines the
terms. All statements are in the graph `GRAPH`, never in the document's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b
from typing import Final, Literal, TypeVar

from rdfcrawl.core import __version__
from rdfcrawl.core.errors import TRAPS, Fault
from rdfcrawl.core.namespaces import HTTP, PROV, RC, RDF, RDF_TYPE, RDFS, SQUIRREL, XSD
from rdfcrawl.core.records import (
    NO_FACTS,
    Document,
    DocumentFacts,
    Kind,
    Member,
    Record,
    RowCounts,
)
from rdfcrawl.core.reservations import NOTHING, Reservations
from rdfcrawl.core.source_tasks import ConsentTask, RobotsTask, SitemapTask, SourceTask
from rdfcrawl.core.tasks import ListedPage, RefreshedPage, Task
from rdfcrawl.rdf.graphs import graph_iri
from rdfcrawl.rdf.terms import iri_of_url, literal
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


T = TypeVar("T")

GRAPH = "urn:rdfcrawl:provenance"
MAX_FAULTS = 100  # described singly for each document; the rest is counted


_END = f" <{GRAPH}> .\n"
_INTEGER_END = f'"^^<{XSD}integer>{_END}'

Status = Literal[
    "SUCCESSFUL", "PARTIAL", "FAILED", "UNCHANGED", "REDIRECTED", "DELETED", "UNKNOWN"
]


@dataclass(frozen=True, slots=True)
class WorkerAgent:
    """One process of one crawl, as the agent of its activities."""

    name: str  # unique within its crawl
    crawl: str  # `CRAWL_ID`
    version: str = __version__
    run: int | None = None  # number of earlier runs of the crawl
    # by the number of their arguments, as far as known
    spiders: Mapping[int, str] = field(default_factory=dict, compare=False)
    iri: str = field(init=False)

    def __post_init__(self) -> None:
        digest = _digest(self.crawl, self.name, self.version)
        object.__setattr__(self, "iri", f"urn:rdfcrawl:worker:{digest}")


def describe_worker(worker: WorkerAgent) -> bytes:
    """Return N-Quads that describe a worker; each worker writes them once."""
    subject = f"<{worker.iri}>"
    return (
        f"{subject} <{RDF_TYPE}> <{PROV}Agent>{_END}"
        f"{subject} <{RDF_TYPE}> <{PROV}SoftwareAgent>{_END}"
        f"{subject} <{RDFS}label> {literal(worker.name)}{_END}"
        f"{subject} <{RC}crawl> {literal(worker.crawl)}{_END}"
        f"{subject} <{RC}software> {literal('rdfcrawl ' + worker.version)}{_END}"
    ).encode()


def describe(document: Document, worker: WorkerAgent) -> bytes:
    """Return N-Quads that describe one crawl of one document.

    The activity is the first subject. Equal arguments give equal bytes; another crawl
    of the same URI, by another worker or at another time, gives another activity.

    Faults beyond `MAX_FAULTS` are only counted.
    """
    record = document.record
    name = activity_iri(document, worker)
    crawled = iri_or_literal(record.url)
    status = status_of(document)
    parts = [_activity(document, name, crawled, status, worker)]
    if status in ("SUCCESSFUL", "PARTIAL", "DELETED"):
        parts.append(_entity(document, name, crawled))
    if document.status:
        parts.append(_response(document, name))
    if record.chain or len(document.response.requested) > 1:
        parts.append(_redirects((*record.chain, *document.response.requested), name))
    if document.reading.extracted:
        parts.append(_extracted(document.reading.extracted, name))
    if document.reading.n_members or document.row_counts:
        parts.append(_members(document, name))
    if has_lookalike(document.url):
        parts.append(f'<{name}> <{RC}hostMark> "lookalike"{_END}')
    if document.reservations is not NOTHING:
        parts.append(_reservations(document.reservations, name))
    if document.facts is not NO_FACTS:
        parts.append(_facts(document.facts, name))
    if document.faults:
        parts.append(_parts(name, "fault", document.faults[:MAX_FAULTS], _fault))
        parts.append(f'<{name}> <{RC}faults> "{len(document.faults)}{_INTEGER_END}')
    return "".join(parts).encode()


def activity_iri(document: Document, worker: WorkerAgent) -> str:
    """Return the IRI of one activity, derived from worker, URL and start.

    A page of a source may be processed several times at once, and have several
    documents.
    """
    record = document.record
    names = [worker.iri, record.url, str(document.response.started_ms)]
    if not record.kind.is_of_url:
        names += [record.task_text(), document.url]
    key = _digest(*names)
    return f"urn:rdfcrawl:activity:{key}"


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


def _activity(
    document: Document, name: str, crawled: str, status: Status, worker: WorkerAgent
) -> str:
    record = document.record
    n_stored = 0 if document.has_same_statements else document.n_quads
    times = parent = read = run = ""
    if worker.run is not None:
        run = f'<{name}> <{RC}run> "{worker.run}{_INTEGER_END}'
    response = document.response
    if response.started_ms:
        times = (
            f"<{name}> <{PROV}startedAtTime> {_time(response.started_ms)}{_END}"
            f"<{name}> <{PROV}endedAtTime> {_time(response.ended_ms)}{_END}"
        )
    if record.parent:
        parent = f"<{name}> <{RC}parent> {iri_or_literal(record.parent)}{_END}"
    if record.task is not None:
        parent += _task(record.task, name)
    if record.profile and (spider := worker.spiders.get(record.profile)):
        parent += f"<{name}> <{RC}spider> {literal(spider)}{_END}"
    if record.kind is Kind.SITEMAP and (found_by := _found_by(record)):
        parent += f'<{name}> <{RC}foundBy> "{found_by}"{_END}'
    if document.reading.format is not None:
        read = (
            f"<{name}> <{RC}format> {literal(document.reading.format.name)}{_END}"
            f"<{name}> <{RC}decidedBy> {literal(document.reading.decided_by)}{_END}"
        )
    if document.has_new_statements or document.has_same_statements:
        change = "same" if document.has_same_statements else "other"
        read += f'<{name}> <{RC}comparedToLast> "{change}"{_END}'
    if document.reading.packings:
        packings = literal(" ".join(document.reading.packings))
        read += f"<{name}> <{RC}packing> {packings}{_END}"
    return (
        f"<{name}> <{RDF_TYPE}> <{PROV}Activity>{_END}"
        f"<{name}> <{PROV}wasAssociatedWith> <{worker.iri}>{_END}"
        f"<{name}> <{SQUIRREL}crawled> {crawled}{_END}"
        f'<{name}> <{SQUIRREL}status> "{status}"{_END}'
        f'<{name}> <{SQUIRREL}approxNumberOfTriples> "{n_stored}{_INTEGER_END}'
        f'<{name}> <{SQUIRREL}depth> "{record.depth}{_INTEGER_END}'
        f'<{name}> <{RC}links> "{document.n_links}{_INTEGER_END}'
        f"{run}{times}{parent}{read}"
    )


def _task(task: Task, activity: str) -> str:
    """Return the terms of a record's task: entry of a sitemap, or part of a source.

    A URI found in a link was first seen when its parent was crawled.
    """
    if isinstance(task, RefreshedPage):
        text = f"{task.TAG}(is_left=True)" if task.is_left else task.TAG
        return f'<{activity}> <{RC}task> "{text}"{_END}'
    if not isinstance(task, ListedPage):
        from rdfcrawl.core.tasks import describe_task  # noqa: PLC0415

        return f"<{activity}> <{RC}task> {literal(describe_task(task))}{_END}"
    return (
        f'<{activity}> <{RC}source> "sitemap"{_END}'
        f'<{activity}> <{RC}priority> "{task.rank / 10_000}"^^<{XSD}decimal>{_END}'
        f"<{activity}> <{RC}listedAt> {_time(task.listed_secs * 1000)}{_END}"
    )


def _entity(document: Document, activity: str, crawled: str) -> str:
    graph = graph_iri(document.url)
    if document.is_deleted:
        return _invalidated(document.replaced or document.url, activity)
    return (
        f"<{graph}> <{RDF_TYPE}> <{PROV}Entity>{_END}"
        f"<{graph}> <{RDF_TYPE}> <{SQUIRREL}ResultGraph>{_END}"
        f"<{graph}> <{PROV}wasGeneratedBy> <{activity}>{_END}"
        f"<{graph}> <{SQUIRREL}containsDataOf> {crawled}{_END}"
    )


def _invalidated(url: str, activity: str) -> str:
    return f"<{graph_iri(url)}> <{PROV}wasInvalidatedBy> <{activity}>{_END}"


def _response(document: Document, activity: str) -> str:
    name = f"{activity}:response"
    response = document.response
    declared = "".join(
        f"<{name}> <{RC}{term}> {literal(value)}{_END}"
        for term, value in (
            ("mediaType", response.media_type),
            ("etag", response.etag),
            ("lastModified", response.last_modified),
        )
        if value
    )
    until_ms = immutable_until_ms(response.cache_control, response.started_ms)
    is_lost = bool(document.faults) and not document.n_quads
    if until_ms is not None and not is_lost:
        declared += f"<{name}> <{RC}immutableUntil> {_time(until_ms)}{_END}"
    if document.replaced and not document.is_deleted:
        declared += _invalidated(document.replaced, activity)
    if response.redirects_to and 300 <= document.status < 400:
        target = iri_or_literal(response.redirects_to)
        declared += f"<{name}> <{RC}location> {target}{_END}"
    n_bytes = ""
    if response.requested:  # else it is one of several in the response
        n_bytes = f'<{name}> <{RC}bytes> "{response.n_bytes}{_INTEGER_END}'
    return (
        f"<{activity}> <{PROV}used> <{name}>{_END}"
        f"<{name}> <{RDF_TYPE}> <{HTTP}Response>{_END}"
        f'<{name}> <{HTTP}statusCodeValue> "{document.status}{_INTEGER_END}'
        f"{n_bytes}{declared}"
    )


def _redirects(urls: Sequence[str], activity: str) -> str:
    """Return an `rdf:List` of all requested URLs, including the last."""
    names = [f"{activity}:hop:{position:02}" for position in range(len(urls))]
    rests = [*names[1:], f"{RDF}nil"]
    cells = "".join(
        f"<{name}> <{RDF}first> {iri_or_literal(url)}{_END}"
        f"<{name}> <{RDF}rest> <{rest}>{_END}"
        for name, rest, url in zip(names, rests, urls, strict=True)
    )
    return f"<{activity}> <{RC}redirects> <{names[0]}>{_END}{cells}"


def _extracted(extracted: Mapping[str, int], activity: str) -> str:
    return "".join(
        f"<{activity}> <{RC}extraction> <{activity}:extraction:{extractor}>{_END}"
        f"<{activity}:extraction:{extractor}> <{RDF_TYPE}> <{RC}Extraction>{_END}"
        f'<{activity}:extraction:{extractor}> <{RC}extractor> "{extractor}"{_END}'
        f"<{activity}:extraction:{extractor}> <{SQUIRREL}approxNumberOfTriples>"
        f' "{n_quads}{_INTEGER_END}'
        for extractor, n_quads in extracted.items()
    )


def _parts(
    activity: str, kind: str, parts: Sequence[T], describe: Callable[[T, str], str]
) -> str:
    """Return the description of members or faults, up to a limit."""
    names = [f"{activity}:{kind}:{position}" for position in range(len(parts))]
    return "".join(
        f"<{activity}> <{RC}{kind}> <{name}>{_END}{describe(part, name)}"
        for part, name in zip(parts, names, strict=True)
    )


def _members(document: Document, activity: str) -> str:
    """Return the members of an archive, or the partitions of an endpoint."""
    reading = document.reading
    if document.row_counts:
        return _parts(activity, "rows", document.row_counts, _rows)
    count = f'<{activity}> <{RC}members> "{reading.n_members}{_INTEGER_END}'
    return _parts(activity, "member", reading.members, _member) + count


def _member(member: Member, name: str) -> str:
    read_as = f"<{name}> <{RC}format> {literal(member.format)}{_END}"
    return (
        f"<{name}> <{RDF_TYPE}> <{RC}Member>{_END}"
        f"<{name}> <{RDFS}label> {literal(member.name)}{_END}"
        f'<{name}> <{SQUIRREL}approxNumberOfTriples> "{member.n_quads}{_INTEGER_END}'
        f"{read_as if member.format else ''}"
    )


def _facts(facts: DocumentFacts, activity: str) -> str:
    content_hash, text_hash, sketch, n_shingles, *others = facts
    begin = f"<{activity}> <{RC}"
    stated = ""
    if content_hash:
        stated = f'{begin}contentHash> "{content_hash}"{_END}'
    if text_hash:
        stated += f'{begin}textHash> "{text_hash}"{_END}'
    if sketch:
        stated += (
            f'{begin}sketch> "{sketch}"{_END}'
            f'{begin}shingles> "{n_shingles}{_INTEGER_END}'
        )
    return stated + _rare_facts(facts, activity) if any(others) else stated


def _rare_facts(facts: DocumentFacts, activity: str) -> str:
    """Return the known facts of pages, sitemaps and large documents."""
    stated = ""
    if facts.canonical:
        canonical = iri_or_literal(facts.canonical)
        stated += f"<{activity}> <{RC}canonical> {canonical}{_END}"
    if facts.sitemap_format:
        term = f"<{activity}> <{RC}sitemapFormat>"
        stated += f'{term} "{facts.sitemap_format}"{_END}'
    for term, number in (
        ("images", facts.n_images),
        ("words", facts.n_words),
        ("linkedWords", facts.n_linked_words),
    ):
        if number:
            stated += f'<{activity}> <{RC}{term}> "{number}{_INTEGER_END}'
    if facts.is_error_page:
        stated += f'<{activity}> <{RC}errorPage> "true"^^<{XSD}boolean>{_END}'
    if facts.statements_hash:
        stated += f'<{activity}> <{RC}statementsHash> "{facts.statements_hash}"{_END}'
    return stated


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


def _reservations(reservations: Reservations, activity: str) -> str:
    parts = [
        f'<{activity}> <{RC}robotsDirective> "{directive}"{_END}'
        for directive in reservations.directives
    ]
    if reservations.tdm is not None:
        term = f"<{activity}> <{RC}tdmReservation>"
        parts.append(f'{term} "{int(reservations.tdm)}{_INTEGER_END}')
    if reservations.tdm_policy:
        policy = literal(reservations.tdm_policy)
        parts.append(f"<{activity}> <{RC}tdmPolicy> {policy}{_END}")
    parts += [
        f'<{activity}> <{RC}contentSignal> "{signal}"{_END}'
        for signal in reservations.signals
    ]
    return "".join(parts)


def _rows(rows: RowCounts, name: str) -> str:
    return (
        f'<{name}> <{RC}wanted> "{rows.wanted}{_INTEGER_END}'
        f'<{name}> <{RC}read> "{rows.read}{_INTEGER_END}'
    )


def _fault(fault: Fault, name: str) -> str:
    detail = f"<{name}> <{RC}detail> {literal(fault.detail)}{_END}"
    return (
        f"<{name}> <{RDF_TYPE}> <{RC}Fault>{_END}"
        f'<{name}> <{RC}reason> "{fault.reason}"{_END}'
        f'<{name}> <{RC}count> "{fault.count}{_INTEGER_END}'
        f"{detail if fault.detail else ''}"
    )


def identity(activity: str, url: str, started_ms: int) -> str:
    """Return the statements that identify an activity: its URL and start."""
    crawled = f"<{activity}> <{SQUIRREL}crawled> {iri_or_literal(url)}{_END}"
    if not started_ms:
        return crawled
    return f"{crawled}<{activity}> <{PROV}startedAtTime> {_time(started_ms)}{_END}"


def same_content(activity: str, url: str) -> str:
    """Return the statement that an activity found the content of another URL.

    Args:
        activity: its IRI.
        url: of the document with the same content.
    """
    return f"<{activity}> <{RC}sameContentAs> {iri_or_literal(url)}{_END}"


def iri_or_literal(url: str) -> str:
    """Return `url` as an N-Quads term: an IRI as `graph_iri`, else an `xsd:anyURI`."""
    iri = iri_of_url(url)
    return f"<{iri}>" if iri else literal(url, datatype=f"{XSD}anyURI")


def _digest(*parts: str) -> str:
    key = "\n".join(parts).encode(errors="surrogatepass")
    return blake2b(key, digest_size=16).hexdigest()


def _time(unix_ms: int) -> str:
    secs, ms = divmod(unix_ms, 1000)
    return f'"{_second(secs)}.{ms:03}Z"^^<{XSD}dateTime>'


@lru_cache(maxsize=256)
def _second(unix_secs: int) -> str:
    return datetime.fromtimestamp(unix_secs, UTC).strftime("%Y-%m-%dT%H:%M:%S")
