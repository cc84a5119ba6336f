"""The statements of the provenance, as N-Quads.

Each activity is a `prov:Activity` with a status, times, the response of the server, how
it was read, and its faults; `docs/reference/provenance.md` defines the terms. All
statements are in the graph `GRAPH`, never in the document's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from rdfcrawl.core.namespaces import HTTP, PROV, RC, RDF, RDF_TYPE, RDFS, SQUIRREL, XSD
from rdfcrawl.core.records import RowCounts
from rdfcrawl.core.times import moment_text
from rdfcrawl.rdf.graphs import graph_iri
from rdfcrawl.rdf.terms import iri_of_url, literal
from rdfcrawl.stores.provenance.records import (
    Activity,
    LoggedFault,
    ReadMember,
    SameContent,
    WorkerAgent,
    activity_iri,
)

if TYPE_CHECKING:
    from rdfcrawl.stores.provenance.blocks import ActivityBlock

T = TypeVar("T")

GRAPH = "urn:rdfcrawl:provenance"

_END = f" <{GRAPH}> .\n"
_INTEGER_END = f'"^^<{XSD}integer>{_END}'
_PIECE_ACTIVITIES = 100  # of about 3 KB each


def iter_statements(blocks: Iterable[ActivityBlock]) -> Iterator[bytes]:
    """Yield the statements of blocks as N-Quads, some hundred KB at a time."""
    for block in blocks:
        worker = block.worker
        lines = [describe_worker(worker)] if block.is_first else []
        for each in block.activities:
            lines.append(describe_activity(each, worker))
            if len(lines) == _PIECE_ACTIVITIES:
                yield "".join(lines).encode()
                lines = []
        lines += [_same_content(each, worker) for each in block.same]
        if lines:
            yield "".join(lines).encode()


def describe_worker(worker: WorkerAgent) -> str:
    """Return N-Quads that describe a worker; the log of each worker has them once."""
    subject = f"<{worker.iri}>"
    return (
        f"{subject} <{RDF_TYPE}> <{PROV}Agent>{_END}"
        f"{subject} <{RDF_TYPE}> <{PROV}SoftwareAgent>{_END}"
        f"{subject} <{RDFS}label> {literal(worker.name)}{_END}"
        f"{subject} <{RC}crawl> {literal(worker.crawl)}{_END}"
        f"{subject} <{RC}software> {literal('rdfcrawl ' + worker.version)}{_END}"
    )


def describe_activity(activity: Activity, worker: WorkerAgent) -> str:
    """Return N-Quads that describe one activity, which is the first subject."""
    name = activity.iri(worker)
    parts = [_activity(activity, name, worker)]
    if activity.has_document or activity.status == "DELETED":
        parts.append(_entity(activity, name))
    if activity.http_status:
        parts.append(_response(activity, name))
    if activity.requested:
        parts.append(_redirects(activity.requested, name))
    if activity.extracted:
        parts.append(_extracted(activity, name))
    if activity.rows:
        parts.append(_parts(name, "rows", activity.rows, _rows))
    elif activity.n_members:
        parts.append(_parts(name, "member", activity.members, _member))
        parts.append(f'<{name}> <{RC}members> "{activity.n_members}{_INTEGER_END}')
    if activity.is_lookalike:
        parts.append(f'<{name}> <{RC}hostMark> "lookalike"{_END}')
    parts += (_reservations(activity, name), _facts(activity, name))
    if activity.n_faults:
        parts.append(_parts(name, "fault", activity.faults, _fault))
        parts.append(f'<{name}> <{RC}faults> "{activity.n_faults}{_INTEGER_END}')
    return "".join(parts)


def _activity(activity: Activity, name: str, worker: WorkerAgent) -> str:
    crawled = iri_or_literal(activity.url)
    times = parent = read = run = ""
    if activity.run >= 0:
        run = f'<{name}> <{RC}run> "{activity.run}{_INTEGER_END}'
    if activity.started_ms:
        times = (
            f"<{name}> <{PROV}startedAtTime> {_time(activity.started_ms)}{_END}"
            f"<{name}> <{PROV}endedAtTime> {_time(activity.ended_ms)}{_END}"
        )
    if activity.parent:
        parent = f"<{name}> <{RC}parent> {iri_or_literal(activity.parent)}{_END}"
    parent += _task(activity, name)
    if activity.spider:
        parent += f"<{name}> <{RC}spider> {literal(activity.spider)}{_END}"
    if activity.found_by:
        parent += f'<{name}> <{RC}foundBy> "{activity.found_by}"{_END}'
    if activity.format:
        read = (
            f"<{name}> <{RC}format> {literal(activity.format)}{_END}"
            f"<{name}> <{RC}decidedBy> {literal(activity.decided_by)}{_END}"
        )
    if activity.compared_to_last:
        read += f'<{name}> <{RC}comparedToLast> "{activity.compared_to_last}"{_END}'
    if activity.packing:
        read += f"<{name}> <{RC}packing> {literal(activity.packing)}{_END}"
    return (
        f"<{name}> <{RDF_TYPE}> <{PROV}Activity>{_END}"
        f"<{name}> <{PROV}wasAssociatedWith> <{worker.iri}>{_END}"
        f"<{name}> <{SQUIRREL}crawled> {crawled}{_END}"
        f'<{name}> <{SQUIRREL}status> "{activity.status}"{_END}'
        f"<{name}> <{SQUIRREL}approxNumberOfTriples>"
        f' "{activity.n_statements}{_INTEGER_END}'
        f'<{name}> <{SQUIRREL}depth> "{activity.depth}{_INTEGER_END}'
        f'<{name}> <{RC}links> "{activity.n_links}{_INTEGER_END}'
        f"{run}{times}{parent}{read}"
    )


def _task(activity: Activity, name: str) -> str:
    """Return the terms of a task: entry of a sitemap, or part of a source.

    A URI found in a link was first seen when its parent was crawled.
    """
    if activity.task:
        return f"<{name}> <{RC}task> {literal(activity.task)}{_END}"
    if activity.rank < 0:
        return ""
    return (
        f'<{name}> <{RC}source> "sitemap"{_END}'
        f'<{name}> <{RC}priority> "{activity.rank / 10_000}"^^<{XSD}decimal>{_END}'
        f"<{name}> <{RC}listedAt> {_time(activity.listed_secs * 1000)}{_END}"
    )


def _entity(activity: Activity, name: str) -> str:
    if activity.status == "DELETED":
        return _invalidated(activity.replaced or activity.document_url, name)
    graph = graph_iri(activity.document_url)
    crawled = iri_or_literal(activity.url)
    return (
        f"<{graph}> <{RDF_TYPE}> <{PROV}Entity>{_END}"
        f"<{graph}> <{RDF_TYPE}> <{SQUIRREL}ResultGraph>{_END}"
        f"<{graph}> <{PROV}wasGeneratedBy> <{name}>{_END}"
        f"<{graph}> <{SQUIRREL}containsDataOf> {crawled}{_END}"
    )


def _invalidated(url: str, activity: str) -> str:
    return f"<{graph_iri(url)}> <{PROV}wasInvalidatedBy> <{activity}>{_END}"


def _response(activity: Activity, activity_name: str) -> str:
    name = f"{activity_name}:response"
    declared = "".join(
        f"<{name}> <{RC}{term}> {literal(value)}{_END}"
        for term, value in (
            ("mediaType", activity.media_type),
            ("etag", activity.etag),
            ("lastModified", activity.last_modified),
        )
        if value
    )
    if activity.immutable_until_ms:
        until = _time(activity.immutable_until_ms)
        declared += f"<{name}> <{RC}immutableUntil> {until}{_END}"
    if activity.replaced and activity.status != "DELETED":
        declared += _invalidated(activity.replaced, activity_name)
    if activity.location:
        target = iri_or_literal(activity.location)
        declared += f"<{name}> <{RC}location> {target}{_END}"
    n_bytes = ""
    if activity.n_bytes >= 0:  # else it is one of several in the response
        n_bytes = f'<{name}> <{RC}bytes> "{activity.n_bytes}{_INTEGER_END}'
    return (
        f"<{activity_name}> <{PROV}used> <{name}>{_END}"
        f"<{name}> <{RDF_TYPE}> <{HTTP}Response>{_END}"
        f'<{name}> <{HTTP}statusCodeValue> "{activity.http_status}{_INTEGER_END}'
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


def _extracted(activity: Activity, name: str) -> str:
    return "".join(
        f"<{name}> <{RC}extraction> <{name}:extraction:{extractor}>{_END}"
        f"<{name}:extraction:{extractor}> <{RDF_TYPE}> <{RC}Extraction>{_END}"
        f'<{name}:extraction:{extractor}> <{RC}extractor> "{extractor}"{_END}'
        f"<{name}:extraction:{extractor}> <{SQUIRREL}approxNumberOfTriples>"
        f' "{n_quads}{_INTEGER_END}'
        for extractor, n_quads in activity.extracted
    )


def _parts(
    activity: str, kind: str, parts: Sequence[T], describe: Callable[[T, str], str]
) -> str:
    """Return the description of members or faults."""
    names = [f"{activity}:{kind}:{position}" for position in range(len(parts))]
    return "".join(
        f"<{activity}> <{RC}{kind}> <{name}>{_END}{describe(part, name)}"
        for part, name in zip(parts, names, strict=True)
    )


def _member(member: ReadMember, name: str) -> str:
    read_as = f"<{name}> <{RC}format> {literal(member.format)}{_END}"
    return (
        f"<{name}> <{RDF_TYPE}> <{RC}Member>{_END}"
        f"<{name}> <{RDFS}label> {literal(member.name)}{_END}"
        f"<{name}> <{SQUIRREL}approxNumberOfTriples>"
        f' "{member.n_statements}{_INTEGER_END}'
        f"{read_as if member.format else ''}"
    )


def _facts(activity: Activity, name: str) -> str:
    begin = f"<{name}> <{RC}"
    stated = ""
    if activity.content_hash:
        stated = f'{begin}contentHash> "{activity.content_hash}"{_END}'
    if activity.text_hash:
        stated += f'{begin}textHash> "{activity.text_hash}"{_END}'
    if activity.sketch:
        stated += (
            f'{begin}sketch> "{activity.sketch}"{_END}'
            f'{begin}shingles> "{activity.n_shingles}{_INTEGER_END}'
        )
    if activity.canonical:
        stated += f"{begin}canonical> {iri_or_literal(activity.canonical)}{_END}"
    if activity.sitemap_format:
        stated += f'{begin}sitemapFormat> "{activity.sitemap_format}"{_END}'
    for term, number in (
        ("images", activity.n_images),
        ("words", activity.n_words),
        ("linkedWords", activity.n_linked_words),
    ):
        if number:
            stated += f'{begin}{term}> "{number}{_INTEGER_END}'
    if activity.is_error_page:
        stated += f'{begin}errorPage> "true"^^<{XSD}boolean>{_END}'
    if activity.statements_hash:
        stated += f'{begin}statementsHash> "{activity.statements_hash}"{_END}'
    return stated


def _reservations(activity: Activity, name: str) -> str:
    stated = "".join(
        f'<{name}> <{RC}robotsDirective> "{directive}"{_END}'
        for directive in activity.robots_directives
    )
    if activity.tdm >= 0:
        stated += f'<{name}> <{RC}tdmReservation> "{activity.tdm}{_INTEGER_END}'
    if activity.tdm_policy:
        stated += f"<{name}> <{RC}tdmPolicy> {literal(activity.tdm_policy)}{_END}"
    return stated + "".join(
        f'<{name}> <{RC}contentSignal> "{signal}"{_END}'
        for signal in activity.content_signals
    )


def _rows(rows: RowCounts, name: str) -> str:
    return (
        f'<{name}> <{RC}wanted> "{rows.wanted}{_INTEGER_END}'
        f'<{name}> <{RC}read> "{rows.read}{_INTEGER_END}'
    )


def _fault(fault: LoggedFault, name: str) -> str:
    detail = f"<{name}> <{RC}detail> {literal(fault.detail)}{_END}"
    return (
        f"<{name}> <{RDF_TYPE}> <{RC}Fault>{_END}"
        f'<{name}> <{RC}reason> "{fault.reason}"{_END}'
        f'<{name}> <{RC}count> "{fault.n_times}{_INTEGER_END}'
        f"{detail if fault.detail else ''}"
    )


def _same_content(same: SameContent, worker: WorkerAgent) -> str:
    """Return the statement that an activity found the content of another URL.

    It is preceded by the identification of the activity, which may be far from here.
    """
    name = activity_iri(worker, same.url, same.started_ms)
    crawled = f"<{name}> <{SQUIRREL}crawled> {iri_or_literal(same.url)}{_END}"
    started = ""
    if same.started_ms:
        time = _time(same.started_ms)
        started = f"<{name}> <{PROV}startedAtTime> {time}{_END}"
    first = iri_or_literal(same.first_url)
    return f"{crawled}{started}<{name}> <{RC}sameContentAs> {first}{_END}"


def iri_or_literal(url: str) -> str:
    """Return `url` as an N-Quads term: an IRI as `graph_iri`, else an `xsd:anyURI`."""
    iri = iri_of_url(url)
    return f"<{iri}>" if iri else literal(url, datatype=f"{XSD}anyURI")


def _time(unix_ms: int) -> str:
    return f'"{moment_text(unix_ms)}"^^<{XSD}dateTime>'
