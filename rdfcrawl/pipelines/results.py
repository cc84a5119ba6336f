"""Write the log of results: of seeds, and of the requests to hosts."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.content import head_of
from rdfcrawl.core.errors import Reason
from rdfcrawl.core.formats import HTML
from rdfcrawl.core.records import Document, Kind, Record
from rdfcrawl.core.source_tasks import SourceTask
from rdfcrawl.core.tasks import RefreshedPage
from rdfcrawl.core.times import now_ms
from rdfcrawl.stores.log.results import (
    HOSTS,
    INCOMPLETE,
    MAX_CHARS,
    SEEDS,
    SeedResult,
    host_line,
    incomplete_line,
    seed_line,
)
from rdfcrawl.stores.nquads import recover
from rdfcrawl.stores.segments import QuadSegments, SegmentLimits
from rdfcrawl.uri import PolitenessKey
from rdfcrawl.uri.hosts import origin_of

if TYPE_CHECKING:
    from pathlib import Path

    from rdfcrawl.stores.provenance.records import Status

_name_of: Final = PolitenessKey().of


class ResultLog:
    """The results of one worker; a document costs one addition until the next flush.

    Args:
        root: folder of the results of a crawl.
        worker: name of the worker.
        limits: of each segment.
        run: of the crawl.
    """

    def __init__(
        self, root: Path, worker: str, limits: SegmentLimits, run: int
    ) -> None:
        for kind in (SEEDS, HOSTS, INCOMPLETE):
            (root / kind).mkdir(parents=True, exist_ok=True)
            recover(root / kind)
        self._seeds = QuadSegments(root / SEEDS, worker, limits, form="txt")
        self._hosts = QuadSegments(root / HOSTS, worker, limits, form="txt")
        self._incomplete = QuadSegments(root / INCOMPLETE, worker, limits, form="txt")
        self._run = run
        self._lacks: dict[str, str] = {}  # source -> detail
        self._seed_results: dict[tuple[str, int], SeedResult] = {}
        self._captured: Counter[str] = Counter()  # statements by URL of an archive
        # documents and statements by origin and result
        self._sums: defaultdict[tuple[str, str], list[int]] = defaultdict(
            lambda: [0, 0]
        )

    def note(self, document: Document, status: Status) -> None:
        """Add the result of a document.

        Several documents of one response of a seed are one result.
        """
        record = document.record
        is_capture = record.kind is Kind.WARC and not document.response.requested
        url = document.url if is_capture else record.url
        if "://" in url:  # else it is a line of a file of seeds
            reason = document.faults[0].reason if document.faults else ""
            result = str(document.status or reason or status.lower())
            origin = origin_of(url)
            sums = self._sums[origin, result]
            # Several documents in one response are one request.
            is_request = document.response.requested or not document.status
            sums[0] += bool(is_request or is_capture)
            sums[1] += 0 if document.has_same_statements else document.n_quads
        if document.faults and record.kind.is_source:
            self._note_source(document)
        if record.depth or record.parent or not is_seed(record):
            return
        if is_capture:  # its file comes later
            self._captured[record.url] += document.n_quads
        else:
            self._note_seed(document, status)

    def note_refused(self, record: Record) -> None:
        """Note a seed that waits for another try; a later result replaces this one."""
        if record.depth or record.parent or not is_seed(record):
            return
        reason, _, detail = record.refusal.partition(": ")
        url, version_ms = (record.chain or (record.url,))[0][:MAX_CHARS], now_ms()
        self._seed_results[url, version_ms] = SeedResult(
            url=url,
            version_ms=version_ms,
            status="FAILED",
            http_status=0,
            n_statements=0,
            n_links=0,
            reason=reason,
            detail=detail,
        )

    def _note_source(self, document: Document) -> None:
        for fault in document.faults:
            if fault.reason is Reason.INCOMPLETE:
                url = document.record.url[:MAX_CHARS]
                self._lacks.setdefault(url, fault.detail[:MAX_CHARS])

    def _note_seed(self, document: Document, status: Status) -> None:
        record, fault = document.record, next(iter(document.faults), None)
        url = record.first_url[:MAX_CHARS]
        version_ms = document.response.started_ms
        result = SeedResult(
            url=url,
            version_ms=version_ms,
            status=status,
            http_status=document.status,
            n_statements=document.n_quads + self._captured.pop(url, 0),
            n_links=document.n_links + document.n_follow_ups,
            reason=str(fault.reason) if fault else _why_empty(document),
            detail=fault.detail[:MAX_CHARS] if fault else "",
        )
        if known := self._seed_results.get((url, version_ms)):
            base = result if document.response.requested else known
            result = replace(
                base,
                n_statements=known.n_statements + result.n_statements,
                n_links=known.n_links + result.n_links,
            )
        self._seed_results[url, version_ms] = result

    async def flush(self) -> None:
        """Write the results since the last flush; those of hosts are not durable."""
        self._write()
        await asyncio.gather(
            self._seeds.flush(), self._incomplete.flush(), self._hosts.flush(sync=False)
        )

    async def close(self) -> None:
        """Flush and close the log."""
        self._write()
        logs = self._seeds, self._incomplete, self._hosts
        await asyncio.gather(*(log.close() for log in logs))

    def _write(self) -> None:
        seeds, self._seed_results = self._seed_results, {}
        if seeds:
            self._seeds.write_document(b"".join(map(seed_line, seeds.values())))
        lacks, self._lacks = self._lacks, {}
        if lacks:
            found = (incomplete_line(x, self._run, lacks[x]) for x in lacks)
            self._incomplete.write_document(b"".join(found))
        if self._sums:
            by_host: defaultdict[tuple[str, str], list[int]]
            by_host = defaultdict(lambda: [0, 0])
            for (origin, result), (n_documents, n_statements) in self._sums.items():
                sums = by_host[_name_of(origin), result]
                sums[0] += n_documents
                sums[1] += n_statements
            lines = [host_line(*key, *sums) for key, sums in by_host.items()]
            self._sums.clear()
            self._hosts.write_document(b"".join(lines))


def _why_empty(document: Document) -> str:
    """Return why a page without statements and faults has none; empty for others."""
    is_empty = not document.n_quads and not document.has_same_statements
    if not is_empty or document.reading.format is not HTML:
        return ""
    from rdfcrawl.rdf.html.empty_pages import (  # noqa: PLC0415 (few documents)
        SEEN_BYTES,
        classify_empty,
    )

    head = head_of(document.response, SEEN_BYTES)
    # Each shingle begins with another word.
    return str(classify_empty(head, n_words=document.facts.n_shingles))


def is_seed(record: Record) -> bool:
    """Return whether a record without a parent is a seed: named by the operator."""
    if isinstance(record.task, SourceTask):
        return record.task.is_named
    is_page = record.task is None or isinstance(record.task, RefreshedPage)
    return is_page and record.kind is not Kind.REQUEST
