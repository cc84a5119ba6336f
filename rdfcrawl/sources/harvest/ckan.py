"""CKAN portals: each dataset is a document, each page of a search a record.

The state store remembers the datasets of the last run: only changed datasets are
requested, and deleted datasets become tombstones.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final
from urllib.parse import quote_plus

from rdfcrawl.core.batches import in_batches
from rdfcrawl.core.codec import decode, encode
from rdfcrawl.core.content import body_of, head_of
from rdfcrawl.core.errors import FaultLog, SourceFault
from rdfcrawl.core.records import (
    Document,
    FollowUp,
    HarvestedPart,
    Kind,
    Record,
    Urgency,
)
from rdfcrawl.core.source_tasks import CkanStep, CkanTask, SourceTask
from rdfcrawl.downloader.client import HttpRequest
from rdfcrawl.frontier.arguments.seeds import iter_seeds
from rdfcrawl.sources.access import AccessMethod, DatasetAccess
from rdfcrawl.sources.ckan.api import PortalAddress, PortalScope
from rdfcrawl.sources.ckan.envelope import MAX_RESPONSE_BYTES, CkanResponse
from rdfcrawl.sources.ckan.mapping import (
    catalogue_url,
    document_url,
    iter_catalogue,
    iter_statements,
)
from rdfcrawl.sources.ckan.paging import CkanOutcome, DatasetListing
from rdfcrawl.sources.ckan.plan import (
    advance,
    check_listing,
    first_task,
    iter_confirmations,
    request_of,
)
from rdfcrawl.sources.ckan.portal import portal_url
from rdfcrawl.sources.ckan.targets import (
    FETCHED,
    DatasetTarget,
    TargetKind,
    iter_targets,
)
from rdfcrawl.sources.ckan.values import since_for_next
from rdfcrawl.sources.harvest.discovery import NOTHING_FOUND, Discovery
from rdfcrawl.sources.harvest.emptied_lists import EmptiedLists
from rdfcrawl.sources.harvest.found_sources import FoundSources
from rdfcrawl.sources.harvest.known_datasets import KnownDataset
from rdfcrawl.sources.harvest.options import ObeyRobots
from rdfcrawl.sources.harvest.portal_files import FileClaim, PortalFiles
from rdfcrawl.sources.harvest.protocol import (
    HarvestContext,
    Harvester,
    has_moved,
    next_step,
    read_task,
)
from rdfcrawl.sources.harvest.response import iter_quads, unread_part
from rdfcrawl.sources.harvest.run_state import RunState

# Tables of a portal, or of a part of a portal (`_key_of`).
_STATE: Final = "ckan"  # in a run: `first` task, `began`, `newest`, `count`
_SUCCESS: Final = "success"  # `FinishedHarvest`
_KNOWN: Final = "known"  # id -> name; empty if another dataset has it now
_OWNERS: Final = "owners"  # name -> id
_MET: Final = "met"  # in a run: id, and "name " + name
_DECODED: Final = 20  # datasets in memory
_NOT_FIRST: Final = frozenset({CkanStep.SHOW, CkanStep.CONFIRM})
_SOURCES: Final = {TargetKind.SPARQL: Kind.SPARQL, TargetKind.SITEMAP: Kind.SITEMAP}


def _keys(context: HarvestContext) -> Iterator[tuple[str, str]]:
    """Yield portals and their keys; a general key applies to each named portal."""
    for url, key in context.options.ckan_keys:
        if url:
            yield url, key
            continue
        for portal in iter_seeds(context.arguments.portals):
            if isinstance(portal, str):
                yield portal_url(portal), key


@dataclass(frozen=True, slots=True)
class FinishedHarvest:
    """A successful harvest of a portal: its start and its newest change."""

    began_ms: int
    newest: str = ""


@dataclass(frozen=True, slots=True)
class _PortalPage:
    """A response of a portal."""

    document: Document
    portal: PortalAddress
    files: PortalFiles
    log: FaultLog = field(default_factory=FaultLog)

    @property
    def source(self) -> str:
        """Key of the portal in the state store."""
        return _key_of(self.portal)


class CkanHarvester(Harvester):
    """See `protocol.Harvester`."""

    def __init__(self, context: HarvestContext) -> None:
        self._context = context
        self._store = context.state_store
        self._run_state = RunState(context.state_store, context.run)
        self._emptied = EmptiedLists(context.state_store, context.run)
        self._keys = tuple(_keys(context))

    def root(self, url: str, *, is_named: bool = True) -> Record:
        """Return the first record of the harvest of a portal."""
        task = SourceTask(self._context.run, is_named)
        return Record(portal_url(url), Kind.CKAN, task=task)

    def ignores_robots(self, record: Record) -> bool:
        """Return whether the API of a portal is requested despite robots.txt.

        CKAN's default robots.txt disallows the API, although it is made for programs.
        """
        obeyed = self._context.options.ckan_robots
        if obeyed is ObeyRobots.DISCOVERED:
            return read_task(record).is_named
        return obeyed is ObeyRobots.NEVER

    async def request_for(self, record: Record) -> HttpRequest | None:
        """Return the request of a page."""
        portal = self._portal(record)
        request = request_of(await self._task(record), portal)
        return HttpRequest(url=request.url, headers=request.headers, data=request.body)

    async def harvest(self, document: Document) -> AsyncIterator[Document | FollowUp]:
        """Yield the datasets of a page, and tombstones of deleted datasets."""
        if has_moved(document):
            yield document.harvested()
            return
        portal = self._portal(document.record)
        files = PortalFiles(self._context, _key_of(portal))
        page = _PortalPage(document, portal, files)
        outcome = await self._outcome(page)
        if outcome is not None:
            n_documents = 0
            sources = FoundSources(self._context)
            async for each in _documents(outcome, page, sources):
                n_documents += 1
                yield each
            async for follow_up in self._take(outcome, page):
                yield follow_up
            harvested = _harvested(outcome, page, n_documents)
            harvested.withdrawn = await files.dropped()
            yield harvested
            return
        found, faults = NOTHING_FOUND, list(document.faults)
        if document.status or not faults:
            faults += page.log.all()  # else the faults explain the missing response
        if await self._store.size(page.source, _KNOWN):
            faults.append(unread_part(faults, document.url))
        else:
            found = await self._native_catalogue(page)
        for follow_up in found.follow_ups:
            yield follow_up
        yield document.harvested(faults=[*faults, *found.faults])

    async def _native_catalogue(self, page: _PortalPage) -> Discovery:
        """Return the first page of the DCAT of a portal whose API refuses requests.

        Its formats are tried in turn; the format that works leads to further pages.

        Source: the documentation of ckanext-dcat, "RDF endpoints".
        """
        step = read_task(page.document.record).payload
        if isinstance(step, CkanTask) and step.step in _NOT_FIRST:
            return NOTHING_FOUND  # the API worked before
        formats = DatasetAccess(AccessMethod.DUMP, (page.portal.catalogue_urls,))
        known = KnownDataset(name=f"{page.portal.url}/catalog", ways=(formats,))
        return await self._context.datasets.register(known, page.document)

    async def _outcome(self, page: _PortalPage) -> CkanOutcome | None:
        """Return the outcome of a response; None if it is unusable."""
        with page.log.noting():
            return await self._advance(await self._task(page.document.record), page)
        return None

    async def _task(self, record: Record) -> CkanTask:
        """Return the task of a record; the first task depends on the last run.

        The first task is decided once: if its statements were lost and the record is
        repeated, newer state must not skip these statements.
        """
        task = read_task(record)
        if isinstance(task.payload, CkanTask):
            return task.payload
        portal = self._portal(record)
        source = _key_of(portal)
        since, has_known = "", await self._store.size(source, _KNOWN) > 0
        success = await self._run_state.before(source, _SUCCESS)
        # Datasets that come back after all were gone have old dates.
        if success and has_known:
            last = decode(success, FinishedHarvest)
            since = since_for_next(last.began_ms, last.newest)
        first = first_task(
            portal,
            since=since,
            has_known=has_known,
            rows=self._context.options.ckan_rows,
        )
        await self._run_state.begin(source, (_STATE, _MET))
        state = self._run_state.table(_STATE)
        text = await self._store.claim(source, state, "first", encode(first))
        return decode(text, CkanTask)

    def _portal(self, record: Record) -> PortalAddress:
        arguments = self._context.arguments
        front = portal_url(record.url)  # possibly after a redirect to another host
        if not read_task(record).is_named:
            return PortalAddress(url=front)
        key = next((key for url, key in self._keys if _is_within(front, url)), "")
        scope = PortalScope(
            organization=arguments.organization,
            group=arguments.group,
            q=arguments.q,
            fq=arguments.fq,
        )
        return PortalAddress(url=front, scope=scope, key=key)

    async def _advance(self, task: CkanTask, page: _PortalPage) -> CkanOutcome:
        document, response = page.document, page.document.response
        body = response.error_body
        if body_of(response) is not None:  # up to the limit, plus one byte
            body = await asyncio.to_thread(head_of, response, MAX_RESPONSE_BYTES + 1)
        ckan_response = CkanResponse(
            status=document.status, body=body, url=document.url
        )
        n_known = await self._store.size(page.source, _KNOWN)
        return await asyncio.to_thread(
            advance, task, ckan_response, page.portal, page.log, n_known=n_known
        )

    # -- next tasks and state ------------------------------------------------------

    async def _take(
        self, outcome: CkanOutcome, page: _PortalPage
    ) -> AsyncIterator[FollowUp]:
        """Remember the content of a page, and yield the tasks and files that follow."""
        record, log = page.document.record, page.log
        with log.noting():
            await self._remember(outcome, page)
            tasks = list(outcome.tasks)
            if read_task(record).payload is None:  # the first record
                tasks.append(CkanTask(step=CkanStep.ABOUT))
            for task in tasks:
                yield next_step(record, task, urgency=Urgency.SOON)
            if outcome.is_swept:
                await self._end(page)
        if outcome.listing is None:
            return
        missing = list[str]()
        with log.noting():
            missing = await self._not_listed(outcome.listing, page.source)
        by_search = outcome.listing is not DatasetListing.SWEEP
        for task in iter_confirmations(missing, by_search=by_search):
            yield next_step(record, task, urgency=Urgency.SOON)
        urls = {document_url({"id": each}, page.portal) for each in missing}
        async for due in page.files.revisits(urls, record):
            for follow_up in due:
                yield follow_up

    async def _remember(self, outcome: CkanOutcome, page: _PortalPage) -> None:
        store, source = self._store, page.source
        state, met = self._run_state.table(_STATE), self._run_state.table(_MET)
        names = {package.id: package.name for package in outcome.packages}
        former = await self._former_owners(source, names)
        await store.put(source, _KNOWN, names | dict.fromkeys(former, ""))
        ids = [*outcome.present, *names, *(f"name {name}" for name in outcome.names)]
        await store.put(source, met, dict.fromkeys(ids, ""))
        await store.drop(source, _KNOWN, outcome.deleted)
        newest = await store.get(source, state, "newest") or ""
        entries = {"newest": max(newest, outcome.newest)}
        if outcome.count is not None:
            entries["count"] = str(outcome.count)
        await store.put(source, state, entries)
        started_ms = str(page.document.response.started_ms)
        await store.claim(source, state, "began", started_ms)

    async def _former_owners(self, source: str, names: Mapping[str, str]) -> list[str]:
        """Return the ids of datasets whose names others have now; note these.

        A list of names does not show that the former ones are gone.
        """
        owners = await self._store.get_many(source, _OWNERS, names.values())
        await self._store.put(source, _OWNERS, {name: x for x, name in names.items()})
        former = [each for each in owners.values() if each and each not in names]
        return list(await self._store.get_many(source, _KNOWN, former))

    async def _end(self, page: _PortalPage) -> None:
        """Remember that the portal was harvested, with its newest change."""
        source, state = page.source, self._run_state.table(_STATE)
        started_ms = str(page.document.response.started_ms)
        began_ms = await self._store.claim(source, state, "began", started_ms)
        newest = await self._store.get(source, state, "newest") or ""
        success = FinishedHarvest(int(began_ms), newest)
        await self._run_state.put(source, _SUCCESS, encode(success))

    async def _not_listed(self, listing: DatasetListing, source: str) -> list[str]:
        """Return the ids of datasets that are missing from a complete listing.

        Raises:
            SourceFault: the listing is implausible.
        """
        is_sweep = listing is DatasetListing.SWEEP
        ids = set[str]()  # entries of a table may be repeated
        async for key, _ in self._store.entries(source, self._run_state.table(_MET)):
            if key.startswith("name ") is not is_sweep:
                ids.add(key)
        count = await self._store.get(source, self._run_state.table(_STATE), "count")
        check_listing(n_listed=len(ids), count=int(count) if count else None)
        del ids
        missing = await self._missing(source, is_sweep=is_sweep)
        n_known = await self._store.size(source, _KNOWN)
        n_left = n_known - len(missing)
        if fault := await self._emptied.doubt(source, n_left, n_known, "dataset"):
            raise SourceFault(fault.reason, fault.detail)
        return missing

    async def _missing(self, source: str, *, is_sweep: bool) -> list[str]:
        """Return the ids of remembered datasets that this run did not find."""
        met = self._run_state.table(_MET)
        missing: list[str] = []
        async for batch in self._store.batches(source, _KNOWN):
            keys = {x: x if is_sweep else f"name {name}" for x, name in batch.items()}
            marks = await self._store.get_many(source, met, keys.values())
            missing += (each for each, key in keys.items() if key not in marks)
        return list(dict.fromkeys(missing))  # entries of a table may be repeated


def _key_of(portal: PortalAddress) -> str:
    """Return the key of a portal in the state store; each scope has a separate key."""
    scope = portal.scope
    if scope.is_unrestricted:
        return portal.url
    words = (scope.organization, scope.group, scope.q, scope.fq)
    return " ".join((portal.url, *map(quote_plus, words)))


async def _documents(
    outcome: CkanOutcome, page: _PortalPage, sources: FoundSources
) -> AsyncIterator[Document]:
    """Yield the datasets of a page, and tombstones; take their files and sources."""
    document, portal, files = page.document, page.portal, page.files
    for group in in_batches(outcome.packages, _DECODED):
        contents = {
            url: content
            for content in (package.load() for package in group)
            if (url := document_url(content, portal))
        }
        claims = {url: _files_of(x, portal) for url, x in contents.items()}
        due = await files.listed(claims, document.record)
        for url, content in contents.items():
            others = [
                FollowUp(_record(each.url, each.kind, document.record, url))
                for each in iter_targets(content, portal)
                if each.kind in FETCHED and not _is_file(each)
            ]
            await sources.note(x for x in others if x.record.kind.is_source)
            parts = _dataset(content, url, portal, [*due[url], *others])
            # Only its distributions are data to follow; other URLs are facts.
            yield document.part(url, parts, is_followed=False)
    gone = [document_url({"id": each}, portal) for each in outcome.deleted]
    await files.listed(dict.fromkeys(gone, ()), document.record)
    for url in gone:
        yield document.part(url, is_deleted=True)


def _files_of(content: dict[str, Any], portal: PortalAddress) -> list[FileClaim]:
    """Return the files of a dataset, with the statements about their content."""
    return [
        FileClaim(
            target.url,
            _kind_of(target.kind),
            blake2b(repr(target.signals).encode(), digest_size=8).hexdigest(),
            target.modified,
            is_stated=bool(target.modified or target.has_hash),
            is_page=target.kind is TargetKind.PAGE,
        )
        for target in iter_targets(content, portal)
        if _is_file(target)
    ]


def _is_file(target: DatasetTarget) -> bool:
    is_fetched = target.kind in FETCHED and target.kind not in _SOURCES
    return is_fetched and bool(target.signals)


async def _dataset(
    content: dict[str, Any],
    url: str,
    portal: PortalAddress,
    follow_ups: Sequence[FollowUp],
) -> AsyncIterator[HarvestedPart]:
    """Yield the statements about a dataset, and records for its distributions."""
    log = FaultLog()
    statements = iter_statements(content, portal, log)
    async for part in iter_quads(statements, url, log):
        yield part
    for follow_up in follow_ups:
        yield follow_up


def _harvested(outcome: CkanOutcome, page: _PortalPage, n_documents: int) -> Document:
    """Return the document of a page; the response about the portal is a catalogue."""
    document, portal = page.document, page.portal
    # The plan has interpreted the status.
    faults = [] if document.status else list(document.faults)
    if document.status or not faults:
        faults += page.log.all()
    if outcome.catalogue is None:
        return document.harvested(faults=faults, n_documents=n_documents)
    own = FaultLog()
    url = catalogue_url(portal)
    return document.harvested(
        iter_quads(iter_catalogue(outcome.catalogue, portal, own), url, own),
        url=url,
        is_followed=False,
        faults=faults,
        n_documents=n_documents,
    )


def _record(url: str, kind: TargetKind, portal: Record, parent: str) -> Record:
    depth = portal.depth + 1
    if kind in _SOURCES:
        task = SourceTask(read_task(portal).run)
        return Record(url, _SOURCES[kind], depth, parent, task=task)
    return Record(url, _kind_of(kind), depth, parent)


def _kind_of(kind: TargetKind) -> Kind:
    return Kind.DUMP if kind is TargetKind.DUMP else Kind.PAGE


def _is_within(portal: str, url: str) -> bool:
    """Return whether a key for a URL (empty: any) applies to a portal."""
    url = url.rstrip("/")
    return not url or portal == url or portal.startswith(f"{url}/")
