"""Sitemaps as a source: robots.txt -> sitemaps and their indexes -> pages, datasets.

The entries of a large sitemap are queued in pieces while the sitemap is read, or at the
end if there are datasets, which may cover pages. Later runs fetch only changes: a
sitemap has validators, a part of an index and a page have `lastmod`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Final

from rdfcrawl.bytesource import body_of
from rdfcrawl.codec import decode, encode
from rdfcrawl.errors import Reason
from rdfcrawl.fetch.answer import HttpRequest, conditional_headers
from rdfcrawl.harvest.consent import ForeignEntries, SitemapConsents, sites_of_robots
from rdfcrawl.harvest.cross_host_checks import ROBOTS, CrossHostChecks
from rdfcrawl.harvest.protocol import HarvestContext, Harvester
from rdfcrawl.harvest.quad_buffer import QuadBuffer
from rdfcrawl.harvest.resourcesync import listed_at
from rdfcrawl.harvest.response import HarvestedResponse, iter_unpacked, read_robots
from rdfcrawl.harvest.run_state import RunState
from rdfcrawl.harvest.tasks import has_moved, read_task
from rdfcrawl.records import Document, FollowUp, HarvestedPart, Kind, Record, Urgency
from rdfcrawl.sitemaps.addresses import may_list
from rdfcrawl.sitemaps.description import describe_dataset
from rdfcrawl.sitemaps.entry import SitemapEntry, SitemapLimits
from rdfcrawl.sitemaps.facts import describe_entry
from rdfcrawl.sitemaps.protocol import Item, Sitemap
from rdfcrawl.sitemaps.semantic import SitemapDataset
from rdfcrawl.tasks.pages import ListedPage
from rdfcrawl.tasks.sitemap import ConsentTask, RobotsTask, SitemapTask
from rdfcrawl.tasks.source import SourceTask
from rdfcrawl.uri import BadUri, host_of, is_of_web, requestable
from rdfcrawl.uri.origin import origin_of, site_of

if TYPE_CHECKING:
    from rdfcrawl.sitemaps.dates import PointInTime

# Tables of a sitemap.
_STATE: Final = "sitemap"  # `SitemapState` when it was read to its end
_ABSENT: Final = (404, 410)
_SOON: Final = 0.7  # from this priority on an entry is wanted before others
_LIMITS: Final = SitemapLimits()
_AT_ONCE: Final = 200  # entries, in a thread


@dataclass(frozen=True, slots=True)
class SitemapState:
    """State by which the next run finds changes of a sitemap and its entries.

    Attributes:
        etag, last_modified: of the response.
        read_ms: time of the request, by our clock.
        newest: greatest `lastmod` of the entries, by the clock of the site.
    """

    etag: str = ""
    last_modified: str = ""
    read_ms: int = 0
    newest: str = ""

    def is_before(self, lastmod: PointInTime) -> bool:
        """Return whether a change at `lastmod` may be later than the reading.

        Either by our clock, which may be ahead of the site's, or by comparison with the
        newest change before.
        """
        if not self.read_ms:
            return False
        read = datetime.fromtimestamp(self.read_ms / 1000, UTC)
        is_newer = bool(self.newest) and lastmod.earliest.isoformat() > self.newest
        return is_newer or lastmod.may_be_after(read)


def root_of(url: str, run: int, *, is_named: bool = True) -> Record:
    """Return the first record of the harvest of a site or a sitemap.

    A site has the URL of its front page or robots.txt.
    """
    origin = origin_of(url)
    is_site = url.removeprefix(origin) in ("", "/", ROBOTS)
    task = SourceTask(run, is_named, RobotsTask() if is_site else None)
    return Record(origin + ROBOTS if is_site else url, Kind.SITEMAP, task=task)


class SitemapHarvester(Harvester):
    """See `protocol.Harvester`."""

    def __init__(self, context: HarvestContext) -> None:
        self._context = context
        self._consents = SitemapConsents(context)
        self._checks = CrossHostChecks(context, self._consents)
        self._run_state = RunState(context.state_store, context.run)
        self._wants_resourcesync = Kind.RESOURCESYNC in context.arguments.harvest

    def root(self, url: str, *, is_named: bool = True) -> Record:
        """Return the first record of the harvest of a site or a sitemap."""
        return root_of(url, self._context.run, is_named=is_named)

    async def question(self, record: Record) -> HttpRequest | None:
        """Return a conditional request for a sitemap of an earlier run; else None."""
        step = _step_of(record)
        if not read_task(record).run or not isinstance(step, SitemapTask):
            return None
        before = await self._state_before(_key(record.url, step))
        headers = conditional_headers(before.etag, before.last_modified)
        return HttpRequest(url=record.url, headers=headers) if headers else None

    async def harvest(self, document: Document) -> AsyncIterator[Document | FollowUp]:
        """Yield the response and its entries."""
        response = HarvestedResponse(document.harvested())
        step = _step_of(document.record)
        if isinstance(step, RobotsTask):
            await self._robots(response, step)
        elif isinstance(step, ConsentTask):
            await self._consent(response)
        elif body_of(document.response) is not None:
            own = HarvestedResponse(document.harvested(is_followed=False))
            own.document.parts = self._read(own, step)
            yield own.document
            return
        else:
            await self._is_read(response, step)
        for follow_up in response.take_follow_ups():
            yield follow_up
        response.document.faults += response.log.all()
        yield response.document

    # -- robots.txt ------------------------------------------------------------------

    async def _robots(self, response: HarvestedResponse, task: RobotsTask) -> None:
        """Queue the sitemaps of a site, by default `/sitemap.xml`."""
        origin = origin_of(response.record.url)
        urls = await self._consent(response) or [f"{origin}/sitemap.xml"]
        instead = [x.record.url for x in _asked_instead(response.document)]
        site = site_of(origin)
        await self._checks.robots_read(site, [*urls, *instead])
        for url in urls:
            named = SitemapTask(robots_hosts=(site,), is_confirming=task.is_confirming)
            response.follow_ups.append(_sitemap(response.document, url, named))
        await self._checks.is_read(response.record.url, [site], response)

    async def _consent(self, response: HarvestedResponse) -> list[str]:
        """Note the consents in a robots.txt; return the sitemaps in it.

        A site without a response consents to nothing, unless another robots.txt is
        requested instead.
        """
        document = response.document
        sitemaps = read_robots(document).sitemaps
        if document.status in _ABSENT:  # that is no fault
            document.faults.clear()
        named = list(dict.fromkeys(_requestable(sitemaps, document)))
        if instead := _asked_instead(document):
            response.follow_ups.extend(instead)
        elif not has_moved(document):
            sites = sites_of_robots(document)
            await self._consents.robots_read(sites, named, response)
        return named

    # -- sitemaps --------------------------------------------------------------------

    async def _read(
        self, response: HarvestedResponse, task: SitemapTask
    ) -> AsyncIterator[HarvestedPart]:
        """Yield the statements and entries of a sitemap.

        Entries are held back if there are datasets, which may cover the entries.
        """
        foreign = ForeignEntries(self._consents, self._context, response)
        reading = SitemapReading(response, task, foreign)
        url = response.record.url
        before = await self._state_before(reading.key)
        buffer = QuadBuffer(response.document.url, response.log)
        items = self._items(reading)
        at_once = self._context.options.sitemap_entries
        while batch := await asyncio.to_thread(lambda: list(islice(items, _AT_ONCE))):
            for item in batch:
                await self._take(reading, item, before)
                buffer.add(_describe(item, url))
            if chunk := buffer.take():
                yield chunk
            if len(response.follow_ups) >= at_once and not reading.datasets:
                for follow_up in response.take_follow_ups():
                    yield follow_up
        for follow_up in await self._end(reading):
            yield follow_up
        for fault in response.log.all():
            yield fault

    async def _end(self, reading: SitemapReading) -> list[FollowUp]:
        """Take the datasets of a sitemap, and return the follow-ups.

        Datasets come first, so that a listed file of a dataset is fetched as such.
        """
        response, hosts = reading.response, reading.task.robots_hosts
        await reading.foreign.settle()
        if reading.datasets:
            await reading.foreign.names()
        listed = response.take_follow_ups()
        await self._checks.take(
            reading.datasets, response, hosts, is_asked=reading.task.is_confirming
        )
        n_taken = len(response.follow_ups)
        await self._remember(reading)
        await self._checks.has_said(hosts, response.document)
        await self._checks.is_read(response.record.url, hosts, response)
        found = response.take_follow_ups()
        return found[:n_taken] + listed + found[n_taken:]

    async def _take(
        self, reading: SitemapReading, item: Item, before: SitemapState
    ) -> None:
        if isinstance(item, SitemapDataset):
            if not reading.document.is_nofollow:  # or nobody would ask for its URIs
                reading.datasets.append(item)
            return
        if item.lastmod:
            earliest = item.lastmod.earliest.isoformat()
            reading.newest = max(reading.newest, earliest)
        await self._list(reading, item, before)

    async def _is_read(self, response: HarvestedResponse, task: SitemapTask) -> None:
        """Note a sitemap that has not changed, or could not be fetched."""
        document, sites = response.document, task.robots_hosts
        if document.status == 304:
            await self._checks.stays(sites, document)
        await self._checks.is_read(document.record.url, sites, response)

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
                    # A list of ResourceSync says more if it is read as such.
                    url, run = document.record.url, self._context.run
                    follow_ups = reading.response.follow_ups
                    follow_ups.append(listed_at(document, url, run))
                    break
                yield item

    async def _list(
        self, reading: SitemapReading, entry: SitemapEntry, before: SitemapState
    ) -> None:
        """Add a follow-up for an entry that the sitemap may list."""
        document, hosts = reading.document, reading.task.robots_hosts
        is_own = may_list(entry.url, document.response.requested[-1], hosts)
        is_own = is_own or self._context.arguments.trust.covers(entry.url)
        # No other scheme has a robots.txt, in which another site could consent.
        may_ask = not reading.task.is_confirming and is_of_web(entry.url)
        if not is_own and not may_ask:
            reading.log.note(Reason.CROSS_SITE, f"{entry.url}: not of this site")
        elif entry.is_sitemap:
            await self._list_sitemap(reading, entry, is_own=is_own)
        elif is_own and not reading.task.is_confirming:
            page = self._page(reading, entry, before)
            self._consents.take([page], reading.response)
        elif not is_own:
            await reading.foreign.add(self._page(reading, entry, before))

    def _page(
        self, reading: SitemapReading, entry: SitemapEntry, before: SitemapState
    ) -> FollowUp:
        document = reading.document
        priority = 0.5 if entry.priority is None else entry.priority
        rank = round(min(max(priority, 0), 1) * 10_000)
        change = ""
        if entry.lastmod and before.is_before(entry.lastmod):
            change = entry.lastmod.text
        record = Record(
            entry.url,
            Kind.PAGE,
            document.record.depth + 1,
            document.record.url,
            task=ListedPage(rank, document.response.started_ms // 1000),
        )
        urgency = Urgency.SOON if priority >= _SOON else Urgency.ORDINARY
        return FollowUp(record, urgency=urgency, change=change)

    async def _list_sitemap(
        self, reading: SitemapReading, entry: SitemapEntry, *, is_own: bool
    ) -> None:
        below = reading.task.below()
        if below.depth > _LIMITS.depth:
            detail = f"{entry.url}: over {_LIMITS.depth} indexes deep"
            reading.log.note(Reason.TOO_DEEP, detail)
            return
        reading.is_index = True
        key = _key(entry.url, below)
        before = await self._state_before(key)
        if before.read_ms and entry.lastmod and not before.is_before(entry.lastmod):
            return
        await self._consents.add_names(entry.url, await reading.foreign.names())
        if is_own:
            await self._checks.will_read([entry.url], below.robots_hosts)
            child = _sitemap(reading.document, entry.url, below)
            reading.response.follow_ups.append(child)
        else:
            other = SitemapTask(depth=below.depth, robots_hosts=(site_of(entry.url),))
            child = _sitemap(reading.document, entry.url, other)
            await reading.foreign.add(replace(child, is_part_of_source=False))

    async def _state_before(self, key: str) -> SitemapState:
        text = await self._run_state.before(key, _STATE)
        return decode(text, SitemapState) if text else SitemapState()

    async def _remember(self, reading: SitemapReading) -> None:
        """Keep the state of a sitemap for the next run.

        A broken response or an index is requested unconditionally again: the sitemaps
        in an index may change, or have failed, while the index stays the same.
        """
        document = reading.document
        state = SitemapState(
            document.response.etag,
            document.response.last_modified,
            document.response.started_ms,
            reading.newest,
        )
        if document.faults or reading.is_index or reading.foreign.has_some:
            state = replace(state, etag="", last_modified="")
        await self._run_state.put(reading.key, _STATE, encode(state))


class SitemapReading:
    """The reading of a sitemap: its task, datasets and entries of other sites.

    Attributes:
        key: of the state of the sitemap.
        newest: see `SitemapState`.
        is_index: the sitemap lists sitemaps.
    """

    def __init__(
        self, response: HarvestedResponse, task: SitemapTask, foreign: ForeignEntries
    ) -> None:
        self.response = response
        self.document = document = response.document
        self.task = task
        self.key = _key(document.record.url, task)
        self.log = response.log
        self.newest = ""
        self.datasets: list[SitemapDataset] = []
        self.foreign = foreign
        self.is_index = False


def _describe(item: Item, sitemap: str) -> Iterable[str]:
    if isinstance(item, SitemapDataset):
        return describe_dataset(item, sitemap=sitemap)
    return describe_entry(item, sitemap=sitemap)


def _sitemap(document: Document, url: str, task: SitemapTask) -> FollowUp:
    record = document.record
    # Whether the operator named the site makes no other record of its sitemaps.
    own = SourceTask(read_task(record).run, payload=task)
    child = Record(url, Kind.SITEMAP, record.depth, record.url, task=own)
    return FollowUp(child, is_part_of_source=True, urgency=Urgency.SOON)


def _step_of(record: Record) -> SitemapTask | RobotsTask | ConsentTask:
    step = read_task(record).payload
    if isinstance(step, SitemapTask | RobotsTask | ConsentTask):
        return step
    return SitemapTask()


def _asked_instead(document: Document) -> list[FollowUp]:
    """Return the robots.txt on the Web that replaces a missing one on FTP.

    Both servers are at their default ports.
    """
    record, site = document.record, site_of(document.record.url)
    is_ftp = record.url.startswith("ftp") and site == host_of(record.url)
    is_named_site = read_task(record).payload == RobotsTask()
    if not is_ftp or document.status not in _ABSENT or is_named_site:
        return []
    url = f"http://{site}{ROBOTS}"
    other = Record(url, record.kind, record.depth, record.url, task=record.task)
    return [FollowUp(other, is_part_of_source=True, urgency=Urgency.SOON)]


def _key(url: str, task: SitemapTask) -> str:
    """Return the key of a sitemap in the state store, with purpose and hosts."""
    purpose = "asked" if task.is_confirming else "all"
    return " ".join((url, purpose, *sorted(task.robots_hosts)))


def _requestable(texts: tuple[str, ...], document: Document) -> Iterator[str]:
    for text in texts:
        try:
            yield requestable(text, document.url)
        except BadUri as error:
            document.faults.append(error.fault)
