"""CKAN portals as a source: each dataset a document, each page of a search a record.

What a portal had in the last run is kept on the store: only what changed since then is
asked for, and what is not there any more becomes a tombstone.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote_plus

from rdfcrawl.bodies import body_of, head_of
from rdfcrawl.catalogs.ckan.api import WHOLE, Portal, Scope, portal_url
from rdfcrawl.catalogs.ckan.catalogue import catalogue_url, iter_catalogue
from rdfcrawl.catalogs.ckan.deletions import (
    check_listing,
    check_missing,
    iter_confirmations,
)
from rdfcrawl.catalogs.ckan.envelope import MAX_ANSWER_BYTES, Answer
from rdfcrawl.catalogs.ckan.mapping import document_url, iter_statements
from rdfcrawl.catalogs.ckan.outcome import Listing
from rdfcrawl.catalogs.ckan.plan import advance, first_task, request_of
from rdfcrawl.catalogs.ckan.targets import FETCHED, TargetKind, iter_targets
from rdfcrawl.catalogs.ckan.times import since_for_next
from rdfcrawl.codec import decode, encode
from rdfcrawl.errors import SourceFault
from rdfcrawl.faultlog import FaultLog
from rdfcrawl.fetch.answer import Question
from rdfcrawl.harvest.lines import Lines
from rdfcrawl.harvest.memory import Memory
from rdfcrawl.harvest.native import catalogue
from rdfcrawl.harvest.options import ObeyRobots
from rdfcrawl.harvest.tasks import has_moved, is_named, read_task
from rdfcrawl.records import Document, FollowUp, Kind, Record, Urgency
from rdfcrawl.seeds import iter_seeds
from rdfcrawl.tasks.ckan import CkanStep, CkanTask
from rdfcrawl.tasks.source import SourceTask

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from rdfcrawl.catalogs.ckan.envelope import Package
    from rdfcrawl.catalogs.ckan.outcome import Outcome
    from rdfcrawl.harvest.context import HarvestContext

# Tables of a portal, or of the part of it that is wanted (`_key_of`).
_STATE: Final = "ckan"  # in a run: `first` task, `began`, `newest`, `count`
_SUCCESS: Final = "success"  # `FinishedHarvest`
_KNOWN: Final = "known"  # id -> name
_MET: Final = "met"  # in a run: id, and "name " + name
_AT_ONCE: Final = 1000
_KINDS: Final = {TargetKind.DUMP: Kind.DUMP, TargetKind.SITEMAP: Kind.SITEMAP}


def _keys(context: HarvestContext) -> Iterator[tuple[str, str]]:
    """Yield portals and their keys.

    A key for all is one for those that are named, wherever they redirect to.
    """
    for url, key in context.options.harvest.ckan_keys:
        if url:
            yield url, key
            continue
        for portal in iter_seeds(context.arguments.portals):
            if isinstance(portal, str):
                yield portal_url(portal), key


@dataclass(frozen=True, slots=True)
class FinishedHarvest:
    """A harvest of a portal that has succeeded.

    Attributes:
        began_ms: when it began, Unix time in milliseconds.
        newest: latest change that it has seen.
    """

    began_ms: int
    newest: str = ""


class CkanHarvester:
    """See `protocol.Harvester`."""

    def __init__(self, context: HarvestContext) -> None:
        self._context = context
        self._store = context.state_store
        self._memory = Memory(context.state_store, context.run)
        self._keys = tuple(_keys(context))

    def root(self, url: str, *, is_named: bool = True) -> Record:
        """Return the record that the harvest of a portal begins with."""
        task = SourceTask(self._context.run, is_named)
        return Record(portal_url(url), Kind.CKAN, task=task)

    def ignores_robots(self, record: Record) -> bool:
        """Return whether robots.txt does not count for the API of a portal.

        CKAN's own robots.txt forbids the API that it has for programs: `CKAN_ROBOTS`
        decides whether that is obeyed.
        """
        match self._context.options.harvest.ckan_robots:
            case ObeyRobots.ALWAYS:
                return False
            case ObeyRobots.NEVER:
                return True
            case _:
                return is_named(record)

    async def question(self, record: Record) -> Question | None:
        """Return the request of a page."""
        portal = self._portal(record)
        request = request_of(await self._task(record), portal)
        return Question(url=request.url, headers=request.headers, data=request.body)

    async def harvest(self, document: Document) -> AsyncIterator[Document]:
        """Yield the datasets of a page, and tombstones for those that are gone."""
        document.is_read = True
        if has_moved(document):
            yield document
            return
        log = FaultLog()
        portal = self._portal(document.record)
        try:
            task = await self._task(document.record)
            outcome = await self._advance(task, document, portal, log)
        except SourceFault as error:
            log.note(error.fault.reason, error.fault.detail)
            outcome = None
        if outcome is None and not await self._store.size(_key_of(portal), _KNOWN):
            found = await catalogue(portal, document, self._context)
            document.children += found.follow_ups
            document.faults += found.faults
        if outcome is not None:
            if document.status:
                document.faults.clear()  # what the status meant is known by now
            if outcome.catalogue is not None:
                _be_catalogue(document, outcome.catalogue, portal)
            async for each in self._documents(outcome, document, portal):
                document.n_documents += 1
                yield each
            try:
                await self._take(outcome, document, portal)
            except SourceFault as error:
                log.note(error.fault.reason, error.fault.detail)
        if document.status or not document.faults:
            document.faults += log.all()  # else it is known why there is no answer
        yield document

    async def _task(self, record: Record) -> CkanTask:
        """Return what a record is to do; the first one follows from the last run.

        It is decided once: if the record is done again, as its statements were lost,
        what was remembered meanwhile must not make it leave them out.
        """
        task = read_task(record)
        if isinstance(task.payload, CkanTask):
            return task.payload
        portal = self._portal(record)
        source = _key_of(portal)
        success = await self._memory.before(source, _SUCCESS)
        since = ""
        if success:
            last = decode(success, FinishedHarvest)
            since = since_for_next(last.began_ms, last.newest)
        first = first_task(
            portal,
            since=since,
            has_known=await self._store.size(source, _KNOWN) > 0,
            rows=self._context.options.harvest.ckan_rows,
        )
        await self._memory.begin(source, (_STATE, _MET))
        state = self._memory.table(_STATE)
        text = await self._store.claim(source, state, "first", encode(first))
        return decode(text, CkanTask)

    def _portal(self, record: Record) -> Portal:
        arguments = self._context.arguments
        front = portal_url(record.url)  # it may have moved to another host
        if not read_task(record).is_named:
            return Portal(url=front)
        key = next((key for url, key in self._keys if _is_within(front, url)), "")
        scope = WHOLE
        if arguments.organization or arguments.group or arguments.q or arguments.fq:
            scope = Scope(
                organization=arguments.organization,
                group=arguments.group,
                q=arguments.q,
                fq=arguments.fq,
            )
        return Portal(url=front, scope=scope, key=key)

    async def _advance(
        self, task: CkanTask, document: Document, portal: Portal, log: FaultLog
    ) -> Outcome:
        response = document.response
        body = response.error_body
        if body_of(response) is not None:  # as far as it is read, and a byte more
            body = await asyncio.to_thread(head_of, response, MAX_ANSWER_BYTES + 1)
        answer = Answer(status=document.status, body=body, url=document.url)
        n_known = await self._store.size(_key_of(portal), _KNOWN)
        return await asyncio.to_thread(
            advance, task, answer, portal, log, n_known=n_known
        )

    # -- documents -------------------------------------------------------------------

    async def _documents(
        self, outcome: Outcome, page: Document, portal: Portal
    ) -> AsyncIterator[Document]:
        for package in outcome.packages:
            if document := self._document(package, page, portal):
                yield document
        for dataset_id in outcome.deleted:
            url = document_url({"id": dataset_id}, portal)
            yield page.part(url, is_deleted=True)

    def _document(
        self, package: Package, page: Document, portal: Portal
    ) -> Document | None:
        content = package.load()
        url = document_url(content, portal)
        if not url:
            return None
        document = page.part(url)
        # Its data are what it distributes; all else that it names are facts.
        document.is_followed = False
        log = FaultLog()
        lines = iter_statements(content, portal, log)
        document.chunks = _chunks(lines, document, log)
        document.children = _targets(content, document, portal)
        return document

    # -- what comes next, and what is to be remembered -------------------------------

    async def _take(self, outcome: Outcome, document: Document, portal: Portal) -> None:
        store, source = self._store, _key_of(portal)
        state, met = self._memory.table(_STATE), self._memory.table(_MET)
        names = {package.id: package.name for package in outcome.packages}
        await store.put(source, _KNOWN, names)
        ids = [*outcome.present, *names, *(f"name {name}" for name in outcome.names)]
        await store.put(source, met, dict.fromkeys(ids, ""))
        await store.drop(source, _KNOWN, outcome.deleted)
        newest = await store.get(source, state, "newest") or ""
        entries = {"newest": max(newest, outcome.newest)}
        if outcome.count is not None:
            entries["count"] = str(outcome.count)
        await store.put(source, state, entries)
        began_ms = await store.claim(
            source, state, "began", str(document.response.started_ms)
        )
        self._queue(outcome.tasks, document)
        if read_task(document.record).payload is None:  # as the harvest begins
            self._queue([CkanTask(step=CkanStep.ABOUT)], document)
        if outcome.listing is not None:
            await self._compare(outcome.listing, document, portal)
        if outcome.is_swept:
            success = FinishedHarvest(int(began_ms), entries["newest"])
            await self._memory.put(source, _SUCCESS, encode(success))

    def _queue(self, tasks: Sequence[CkanTask], document: Document) -> None:
        record = document.record
        for each in tasks:
            task = replace(read_task(record), payload=each)
            child = Record(record.url, Kind.CKAN, record.depth, record.url, task=task)
            document.children.append(
                FollowUp(child, is_part_of_source=True, urgency=Urgency.SOON)
            )

    async def _compare(
        self, listing: Listing, document: Document, portal: Portal
    ) -> None:
        """Ask once more for each dataset that a complete listing does not have."""
        source = _key_of(portal)
        is_sweep = listing is Listing.SWEEP
        ids = set[str]()  # as a table's entries may come twice
        async for key, _ in self._store.entries(source, self._memory.table(_MET)):
            if key.startswith("name ") is not is_sweep:
                ids.add(key)
        n_known = await self._store.size(source, _KNOWN)
        count = await self._store.get(source, self._memory.table(_STATE), "count")
        check_listing(
            n_listed=len(ids), n_known=n_known, count=int(count) if count else None
        )
        del ids
        missing = await self._missing(source, n_known, is_sweep=is_sweep)
        confirmations = iter_confirmations(missing, by_search=not is_sweep)
        self._queue(list(confirmations), document)

    async def _missing(self, source: str, n_known: int, *, is_sweep: bool) -> list[str]:
        """Return the ids of remembered datasets that this run did not meet.

        Raises:
            SourceFault: there are too many.
        """
        met = self._memory.table(_MET)
        missing: list[str] = []
        batch: list[tuple[str, str]] = []

        async def look_up() -> None:
            keys = [each if is_sweep else f"name {name}" for each, name in batch]
            marks = await self._store.get_many(source, met, keys)
            missing.extend(
                each
                for (each, _), mark in zip(batch, marks, strict=True)
                if mark is None
            )
            check_missing(n_missing=len(missing), n_known=n_known)
            batch.clear()

        async for entry in self._store.entries(source, _KNOWN):
            batch.append(entry)
            if len(batch) == _AT_ONCE:
                await look_up()
        await look_up()
        return list(dict.fromkeys(missing))  # a table's entries may come twice


def _key_of(portal: Portal) -> str:
    """Return what names a portal on the store: with what is wanted of it.

    What another part of it had, or all of it, says nothing of what this part has.
    """
    scope = portal.scope
    if scope.is_whole:
        return portal.url
    words = (scope.organization, scope.group, scope.q, scope.fq)
    return " ".join((portal.url, *map(quote_plus, words)))


def _be_catalogue(document: Document, status: dict[str, Any], portal: Portal) -> None:
    """Let what tells of a portal be its catalogue."""
    document.url = catalogue_url(portal)
    document.is_followed = False
    log = FaultLog()
    document.chunks = _chunks(iter_catalogue(status, portal, log), document, log)


async def _chunks(
    statements: Iterator[str], document: Document, log: FaultLog
) -> AsyncIterator[bytes]:
    lines = Lines(document, log)
    for line in statements:
        if lines.add((line,)) and (chunk := lines.take()):
            yield chunk
            await asyncio.sleep(0)
    if chunk := lines.take():
        yield chunk
    document.faults += log.all()


def _targets(
    package: dict[str, object], document: Document, portal: Portal
) -> list[FollowUp]:
    """Return what a dataset distributes, as far as it may be RDF."""
    return [
        FollowUp(_record(target.url, target.kind, document))
        for target in iter_targets(package, portal)
        if target.kind in FETCHED
    ]


def _record(url: str, kind: TargetKind, document: Document) -> Record:
    depth, parent = document.record.depth + 1, document.url
    run = read_task(document.record).run
    if kind is TargetKind.SPARQL:
        return Record(url, Kind.SPARQL, depth, parent, task=SourceTask(run))
    if kind is TargetKind.SITEMAP:
        return Record(url, Kind.SITEMAP, depth, parent, task=SourceTask(run))
    return Record(url, _KINDS.get(kind, Kind.PAGE), depth, parent)


def _is_within(portal: str, url: str) -> bool:
    """Tell whether a key for a URL is one for a portal; one without URL is for all."""
    url = url.rstrip("/")
    return not url or portal == url or portal.startswith(f"{url}/")
