"""Sitemaps as a source: robots.txt -> sitemaps and their indexes -> pages, datasets.

The entries of a large sitemap are queued in batches while the sitemap is read. If it
describes datasets, which may cover pages, they are queued at the end. Later runs fetch
only changes: see `sitemap_reading` for sitemaps, `listed_pages` for pages.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from typing import Final

from rdfcrawl.core.content import body_of
from rdfcrawl.core.errors import Decision, Fault, FaultLog, Reason
from rdfcrawl.core.records import GONE, Document, FollowUp, HarvestedPart, Kind, Record
from rdfcrawl.core.source_tasks import ConsentTask, RobotsTask, SitemapTask
from rdfcrawl.downloader.client import HttpRequest, conditional_request
from rdfcrawl.frontier.queue.inbox import SitemapHosts
from rdfcrawl.sources.harvest.budgeted_pages import BudgetedPages
from rdfcrawl.sources.harvest.consent import (
    ForeignEntries,
    SitemapConsents,
)
from rdfcrawl.sources.harvest.cross_host_checks import CrossHostChecks
from rdfcrawl.sources.harvest.found_sources import FoundSources
from rdfcrawl.sources.harvest.listed_pages import KnownPage, ListedPages, is_complete
from rdfcrawl.sources.harvest.protocol import (
    HarvestContext,
    Harvester,
    read_task,
)
from rdfcrawl.sources.harvest.resourcesync import listed_at
from rdfcrawl.sources.harvest.response import (
    HarvestedResponse,
    QuadBuffer,
    iter_unpacked,
    note_refused,
    unread_part,
)
from rdfcrawl.sources.harvest.site_offers import SiteOffers
from rdfcrawl.sources.harvest.sitemap_reading import (
    SitemapParts,
    SitemapReading,
    SitemapState,
    key_of,
)
from rdfcrawl.sources.harvest.sitemap_robots import (
    SitemapRobots,
    root_of,
    sitemap_of,
)
from rdfcrawl.sources.sitemaps.description import describe_dataset, describe_entry
from rdfcrawl.sources.sitemaps.entry import SitemapEntry, SitemapLimits
from rdfcrawl.sources.sitemaps.protocol import Item, Sitemap
from rdfcrawl.sources.sitemaps.semantic import SitemapDataset
from rdfcrawl.uri.hosts import site_of

_LIMITS: Final = SitemapLimits()
_BATCH_SIZE: Final = 200  # entries, in a thread
_NO_SITEMAP: Final = frozenset({Reason.EMPTY, Reason.UNKNOWN_FORMAT})
_MAX_REREADS: Final = 100  # sitemaps of a pinged index, already read in the run


class SitemapHarvester(Harvester):
    """See `protocol.Harvester`."""

    def __init__(self, context: HarvestContext) -> None:
        self._context = context
        self._run, self._store = context.run, context.state_store
        self._consents = SitemapConsents(context)
        self._checks = CrossHostChecks(context, self._consents)
        self._parts = SitemapParts(context)
        self._pages = ListedPages(
            context.state_store,
            context.run,
            context.options,
            are_sliced=context.arguments.slice,
        )
        self._named = SitemapHosts(context.state_store)
        self._budgeted = BudgetedPages(context)
        self._robots = SitemapRobots(
            context, self._consents, self._checks, self._parts, self._budgeted
        )
        self._offers = SiteOffers(context, FoundSources(context))
        self._wants_resourcesync = Kind.RESOURCESYNC in context.arguments.harvest

    def root(self, url: str, *, is_named: bool = True) -> Record:
        """Return the first record of the harvest of a site or a sitemap."""
        return root_of(url, self._run, is_named=is_named)

    async def request_for(self, record: Record) -> HttpRequest | None:
        """Return a conditional request for a known sitemap; None for others."""
        step = _step_of(record)
        if not isinstance(step, SitemapTask):
            return None
        if not (read_task(record).run or step.ping):
            return None
        before = await self._latest(key_of(record.url, step), step)
        if await self._context.datasets.is_doubted(before.url or record.url):
            return None
        return conditional_request(
            record.url, before.etag, before.last_modified, read_at=before.url
        )

    async def _latest(self, key: str, task: SitemapTask) -> SitemapState:
        """Return the state of a sitemap; for a ping, also of this run."""
        current = await self._parts.of_this_run(key, task.ping) if task.ping else None
        return current or await self._parts.before(key)

    async def harvest(self, document: Document) -> AsyncIterator[Document | FollowUp]:
        """Yield the response and its entries."""
        response = HarvestedResponse(document.harvested())
        step = _step_of(document.record)
        if isinstance(step, RobotsTask):
            await self._robots.take(response, step)
        elif isinstance(step, ConsentTask):
            await self._robots.consent(response)
        elif body_of(document.response) is not None:
            own = HarvestedResponse(document.harvested(is_followed=False))
            reading = SitemapReading(
                own, step, ForeignEntries(self._consents, self._context, own)
            )
            own.document.parts = self._read(reading)
            yield own.document
            for url in reading.gone:
                yield document.part(url, is_deleted=True)
            return
        else:
            await self._without_body(response, step)
        for follow_up in response.take_follow_ups():
            yield follow_up
        note_refused(response, self._context.session)
        response.document.faults += response.log.all()
        yield response.document

    # -- sitemaps --------------------------------------------------------------------

    async def _read(self, reading: SitemapReading) -> AsyncIterator[HarvestedPart]:
        """Yield the statements and entries of a sitemap.

        Entries are held back if there are datasets, which may cover the entries, and if
        the crawl has a budget for those of high priority.
        """
        response = reading.response
        reading.before = await self._parts.before(reading.key)
        describes_all = await self._describes_all(reading)
        buffer = QuadBuffer(response.document.url, response.log)
        items = self._items(reading)
        at_once = self._context.options.sitemap_entries
        while batch := await asyncio.to_thread(
            lambda: list(islice(items, _BATCH_SIZE))
        ):
            await self._take_batch(reading, batch)
            for item in batch:
                if isinstance(item, SitemapDataset) or describes_all:
                    buffer.add(_describe(item, response.document.url))
            for chunk in buffer.take():
                yield chunk
            is_held = reading.datasets or self._budgeted.has_budget
            if len(response.follow_ups) >= at_once and not is_held:
                for follow_up in response.take_follow_ups():
                    yield follow_up
        for follow_up in await self._end(reading):
            yield follow_up
        note_refused(response, self._context.session)
        for fault in response.log.all():
            yield fault

    async def _describes_all(self, reading: SitemapReading) -> bool:
        """Return whether the entries of a sitemap are stored, too.

        A reading for its datasets leaves those that the crawl has stored before.
        """
        task = replace(reading.task, only_datasets=False)
        if task == reading.task:
            return True
        return await self._parts.has_read(key_of(reading.response.record.url, task))

    async def _end(self, reading: SitemapReading) -> list[FollowUp]:
        """Queue the datasets of a sitemap, and return the follow-ups.

        Datasets come first, so that a listed file of a dataset is fetched as a dump.
        """
        response, hosts = reading.response, reading.task.robots_hosts
        if reading.task.only_datasets and reading.sitemaps:
            known = await self._parts.named_by(reading.key)
            reading.choose_sitemaps(known)
            await self._list_sitemaps(reading)
        await reading.foreign.settle()
        if reading.datasets:
            await reading.foreign.names()
        listed = response.take_follow_ups()
        await self._budgeted.expect(reading.parts, reading.task)
        await self._checks.take(
            reading.datasets, response, hosts, only_confirms=reading.task.is_confirming
        )
        await self._context.datasets.note_listed(reading.copies)
        if reading.before.read_ms and is_complete(reading.document, reading.log.all()):
            url = response.final_url
            await self._checks.withdraw(
                reading.datasets, url, response, has_others=reading.has_entries
            )
        n_taken = len(response.follow_ups)
        await self._compare(reading)
        await self._checks.prune_after_read(hosts, response.document)
        await self._checks.mark_read(response.record.url, hosts, response)
        found = response.take_follow_ups()
        found = found[:n_taken] + listed + found[n_taken:]
        if not reading.is_index:
            await self._try_usual_place(response.record, reading.task)
        return await self._budgeted.after(response.record, reading.task, found)

    async def _take_batch(self, reading: SitemapReading, batch: list[Item]) -> None:
        """Queue some entries and datasets; the claims about pages are stored first."""
        listing, wants_entries = reading.listing(), reading.task.wants_entries
        entries = [x for x in batch if isinstance(x, SitemapEntry)]
        reading.has_entries = reading.has_entries or bool(entries)
        pages = [entry.url for entry in entries]
        reading.known = await self._pages.known(listing, pages) if wants_entries else {}
        reading.claims.clear()
        trust = self._context.arguments.trust
        own = {x.url for x in entries if reading.is_own(x.url, trust)}
        others = (x.url for x in entries if x.url not in own)
        await reading.foreign.look_up(filter(reading.may_consent, others))
        for item in batch:
            if isinstance(item, SitemapEntry):
                await self._list(reading, item, is_own=item.url in own)
            elif (
                not reading.document.is_nofollow
            ):  # otherwise its URIs are not requested
                reading.datasets.append(item)
        if reading.sitemaps and not reading.task.only_datasets:
            await self._list_sitemaps(reading)
        await self._pages.keep(listing, reading.claims)

    async def _without_body(
        self, response: HarvestedResponse, task: SitemapTask
    ) -> None:
        """Handle a sitemap that has not changed, or could not be fetched."""
        if response.document.response.requested:  # otherwise not requested
            await self._revisit_unchanged(response, task)
            if task.depth and response.document.status not in GONE:
                _note_unread(response.log, response.document.faults)
        url = response.document.record.url
        await self._checks.mark_read(url, task.robots_hosts, response)
        found = response.take_follow_ups()
        found = await self._budgeted.after(response.record, task, list(found))
        response.follow_ups.extend(found)
        await self._try_usual_place(response.record, task)

    async def _try_usual_place(self, record: Record, task: SitemapTask) -> None:
        """Queue the record for a usual place of a site without known datasets.

        The site is one that the operator named, or its sitemap was a guess. The record
        is no entry of the sitemap.
        """
        is_of_named = task.wants_entries and task.robots_hosts and not record.depth
        if is_of_named or task.is_guess:
            for place in (await self._offers.after(record)).follow_ups:
                await self._context.session.links.add_now(record, place)

    async def _revisit_unchanged(
        self, response: HarvestedResponse, task: SitemapTask
    ) -> None:
        """Queue the due pages of a sitemap that is unchanged or gone."""
        document, sites = response.document, task.robots_hosts
        reading = SitemapReading(
            response, task, ForeignEntries(self._consents, self._context, response)
        )
        reading.before = before = await self._parts.before(reading.key)
        was_read = task.ping and await self._parts.of_this_run(reading.key, task.ping)
        if was_read and document.status in (304, *GONE):
            return  # the next run finds missing pages
        if document.status == 304:
            await self._checks.mark_unchanged(sites, response.final_url, response)
            async for page in self._pages.revisits(reading.listing()):
                response.follow_ups.append(page)
            read_ms = document.response.started_ms
            state = replace(before, read_ms=read_ms, ping=task.ping)
            await self._parts.put(reading.key, state)
        elif document.status in GONE and before.read_ms:
            document.is_deleted = True
            await self._checks.withdraw([], before.url or document.url, response)
            async for page in self._pages.absent(reading.listing()):
                response.follow_ups.append(page)
            await self._parts.put(reading.key, SitemapState())

    def _items(self, reading: SitemapReading) -> Iterator[Item]:
        """Yield entries and datasets, of all files in an archive."""
        document = reading.document
        for source in iter_unpacked(document, reading.log):
            sitemap = Sitemap(
                source,
                url=document.response.requested[-1],
                log=reading.log,
                media_type=document.media_type,
                charset=document.response.charset,
                limits=_LIMITS,
            )
            for item in sitemap:
                if sitemap.capability and self._wants_resourcesync:
                    # Read as ResourceSync, the list has more information.
                    url, run = document.record.url, self._run
                    follow_ups = reading.response.follow_ups
                    follow_ups.append(listed_at(document, url, run))
                    break
                yield item
            kind = sitemap.format.submission if sitemap.format else "unknown"
            document.facts = document.facts._replace(sitemap_format=kind)

    async def _list(
        self, reading: SitemapReading, entry: SitemapEntry, *, is_own: bool
    ) -> None:
        """Add a follow-up for an entry that the sitemap may list."""
        if entry.is_sitemap and not self._is_chosen(entry):
            reading.log.refuse(Decision.NOT_CHOSEN, entry.url)
            return
        if reading.task.only_datasets:
            if entry.is_sitemap and is_own and reading.task.n_below:
                reading.sitemaps.append((entry, is_own))
            return
        if not is_own and not reading.may_consent(entry.url):
            reading.log.note(Reason.CROSS_SITE, f"{entry.url}: not of this site")
            reading.log.refuse(Decision.CROSS_SITE, entry.url)
        elif entry.is_sitemap:
            reading.sitemaps.append((entry, is_own))
        elif reading.task.wants_entries or not is_own:
            page = self._page(reading, entry)
            if page is not None and is_own:
                self._consents.take([page], reading.response)
            elif page is not None:
                await reading.foreign.add(page)

    def _is_chosen(self, entry: SitemapEntry) -> bool:
        """Return whether the arguments choose a sitemap in an index."""
        arguments = self._context.arguments
        patterns, since_ms = arguments.sitemaps, arguments.sitemaps_since
        if patterns.expressions and not patterns.match(entry.url):
            return False
        if not since_ms or entry.lastmod is None:
            return True
        return entry.lastmod.may_be_after(datetime.fromtimestamp(since_ms / 1000, UTC))

    def _page(self, reading: SitemapReading, entry: SitemapEntry) -> FollowUp | None:
        known, listing = reading.known.get(entry.url, KnownPage()), reading.listing()
        if entry.url in reading.claims:  # listed more than once
            known = known._replace(claim=reading.claims[entry.url])
        claim = self._pages.claim_of(listing, entry, known)
        reading.claims[entry.url] = claim
        fetch = known.fetch
        if fetch is not None and fetch.has_copy and not claim.lastmod:
            reading.copies[entry.url] = fetch.read_at or entry.url
        return self._pages.follow_up(listing, entry.url, claim, known)

    async def _list_sitemaps(self, reading: SitemapReading) -> None:
        """Add follow-ups for sitemaps in an index, in shared round trips."""
        entries, reading.sitemaps = reading.sitemaps, []
        below = reading.task.below()
        if below.depth > _LIMITS.depth:
            for entry, _ in entries:
                detail = f"{entry.url}: over {_LIMITS.depth} indexes deep"
                reading.log.note(Reason.TOO_DEEP, detail)
                reading.log.refuse(Decision.TOO_DEEP, entry.url)
            return
        reading.is_index = True
        await reading.foreign.names()
        children = await self._store.gather(
            self._child(reading, entry, below, is_own=is_own)
            for entry, is_own in entries
        )
        own: list[str] = []
        for child in filter(None, children):
            if child.is_part_of_source:
                own.append(child.record.url)
                reading.response.follow_ups.append(child)
            else:
                await reading.foreign.add(child)
        await self._checks.expect(own, below.robots_hosts)
        reading.parts += own

    async def _child(
        self,
        reading: SitemapReading,
        entry: SitemapEntry,
        below: SitemapTask,
        *,
        is_own: bool,
    ) -> FollowUp | None:
        """Return the follow-up for a sitemap; None if it is skipped.

        A sitemap of another site is not part of the source.
        """
        if not is_own:
            below = SitemapTask(depth=below.depth, robots_hosts=(site_of(entry.url),))
        key, since_run = key_of(entry.url, below), reading.before.since_run
        await self._parts.note(reading.key, since_run, entry.url, key)
        now_ms = reading.document.response.started_ms
        state = await self._parts.may_skip(key, entry.lastmod, now_ms)
        if state is not None:
            await self._skip(reading, entry.url, key, state)
            return None
        await self._consents.add_names(entry.url, await reading.foreign.names())
        below = await self._task_after_ping(reading, entry, key, below)
        child = sitemap_of(reading.document, entry.url, below)
        return child if is_own else replace(child, is_part_of_source=False)

    async def _task_after_ping(
        self, reading: SitemapReading, entry: SitemapEntry, key: str, below: SitemapTask
    ) -> SitemapTask:
        """Return the task of a sitemap in a pinged index.

        A sitemap already read in this run is read once more, unless its date is older.
        """
        ping = 0 if reading.task.depth else reading.task.ping
        state = await self._parts.of_this_run(key, ping) if ping else None
        is_wanted = state and (not entry.lastmod or state.is_before(entry.lastmod))
        if not is_wanted or reading.n_rereads >= _MAX_REREADS:
            return below
        reading.n_rereads += 1
        return replace(below, ping=ping)

    async def _skip(
        self, reading: SitemapReading, url: str, key: str, state: SitemapState
    ) -> None:
        """Handle an unchanged sitemap of an index, from its stored state."""
        hosts, response = reading.task.robots_hosts, reading.response
        await self._checks.mark_unchanged(hosts, state.url or url, response)
        async for page in self._pages.revisits(reading.listing(key, url, state)):
            response.follow_ups.append(page)

    async def _compare(self, reading: SitemapReading) -> None:
        """Find missing entries of a sitemap, and keep its state for the next run.

        A broken response or an index is requested unconditionally in the next run: the
        sitemaps in an index may change, or have failed, while the index stays
        unchanged. After a broken response, the time of the last reading stays.
        """
        document, before = reading.document, reading.before
        response = document.response
        is_read = is_complete(document, reading.log.all())
        if is_read and before.read_ms:
            await self._find_absent(reading)
        state = SitemapState(
            response.etag,
            response.last_modified,
            response.started_ms,
            self._run,
            document.url if document.url != document.record.url else "",
            reading.task.ping,
        )
        if not is_read:
            faults = [*document.faults, *reading.log.all()]
            is_none = any(each.reason in _NO_SITEMAP for each in faults)
            if reading.task.depth and is_none:
                _note_unread(reading.log, faults)
            read_ms, since_run = before.read_ms or state.read_ms, before.since_run
            state = replace(state, read_ms=read_ms, since_run=since_run)
        if not is_read or reading.is_index or reading.foreign.has_some:
            state = replace(state, etag="", last_modified="")
        await self._parts.put(reading.key, state)
        if reading.task.wants_entries:
            await self._named.note(document.record.url, reading.task.robots_hosts)

    async def _find_absent(self, reading: SitemapReading) -> None:
        response, since_run = reading.response, reading.before.since_run
        async for page in self._pages.absent(reading.listing()):
            response.follow_ups.append(page)
        waiting = [part async for part in self._parts.gone(reading.key, since_run)]
        while waiting:
            key, url, state = waiting.pop()
            reading.gone.append(state.url or url)
            await self._checks.withdraw([], state.url or url, response)
            async for page in self._pages.absent(reading.listing(key, url, state)):
                response.follow_ups.append(page)
            waiting += [x async for x in self._parts.gone(key, state.since_run)]


def _note_unread(log: FaultLog, faults: list[Fault]) -> None:
    """Note that a sitemap of an index was not read, if it has faults."""
    if faults:
        fault = unread_part(faults)
        log.note(fault.reason, fault.detail)


def _describe(item: Item, sitemap: str) -> Iterable[str]:
    if isinstance(item, SitemapDataset):
        return describe_dataset(item, sitemap=sitemap)
    return describe_entry(item, sitemap=sitemap)


def _step_of(record: Record) -> SitemapTask | RobotsTask | ConsentTask:
    step = read_task(record).payload
    if isinstance(step, SitemapTask | RobotsTask | ConsentTask):
        return step
    return SitemapTask()
