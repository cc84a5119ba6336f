"""The reading of one sitemap, and the states of sitemaps from run to run.

A sitemap is requested in each run, with its validators, unless its index maintains
reliable dates.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple

from rdfcrawl.core.codec import decode, encode
from rdfcrawl.core.source_tasks import SitemapTask
from rdfcrawl.core.times import PointInTime
from rdfcrawl.sources.harvest.consent import ForeignEntries
from rdfcrawl.sources.harvest.listed_pages import (
    KnownPage,
    ListedPageClaim,
    ListedSitemap,
)
from rdfcrawl.sources.harvest.protocol import HarvestContext
from rdfcrawl.sources.harvest.response import HarvestedResponse
from rdfcrawl.sources.harvest.run_state import RunState
from rdfcrawl.sources.sitemaps.entry import SitemapEntry, may_list
from rdfcrawl.sources.sitemaps.semantic import SitemapDataset
from rdfcrawl.uri.hosts import HostNames
from rdfcrawl.uri.parse import is_of_web

# Tables of a sitemap, or of a robots.txt.
_STATE: Final = "sitemap state"  # `SitemapState` of the last complete reading
_DATED: Final = "dated"  # `PartDate`
_PARTS: Final = "parts"  # URL of a sitemap in it -> last run, and key


@dataclass(frozen=True, slots=True)
class SitemapState:
    """State for finding changes of a sitemap and its entries in the next run.

    Attributes:
        etag, last_modified: of the response.
        read_ms: time of the last request with a response, by our clock.
        since_run: last run that read it completely.
        url: URL after redirects.
        ping: of the task that read it; see `SitemapTask`.
    """

    etag: str = ""
    last_modified: str = ""
    read_ms: int = 0
    since_run: int = 0
    url: str = ""
    ping: int = 0

    def is_before(self, lastmod: PointInTime) -> bool:
        """Return whether a change at `lastmod` may be later than the reading."""
        return lastmod.may_be_after(datetime.fromtimestamp(self.read_ms / 1000, UTC))


@dataclass(frozen=True, slots=True)
class PartDate:
    """The date of a sitemap in its index.

    `is_kept_up`: the date differed in an earlier run, so the publisher maintains it.
    """

    lastmod: str
    is_kept_up: bool = False


class GonePart(NamedTuple):
    """A sitemap that its index or robots.txt no longer names."""

    key: str
    url: str
    state: SitemapState


class SitemapParts:
    """States of sitemaps, and of their indexes."""

    def __init__(self, context: HarvestContext) -> None:
        self._store = context.state_store
        self._run = context.run
        self._after_ms = context.options.revisit_secs * 1000
        self._run_state = RunState(context.state_store, context.run)

    async def before(self, key: str) -> SitemapState:
        """Return the state of earlier runs."""
        text = await self._run_state.before(key, _STATE)
        return decode(text, SitemapState) if text else SitemapState()

    async def of_this_run(self, key: str, ping: int) -> SitemapState | None:
        """Return the state left by another task of this run.

        A task that is repeated after a crash must not find its own state.
        """
        text = await self._store.get(key, _STATE, "last")
        run, _, value = (text or "").partition(" ")
        if not run or int(run) != self._run:
            return None
        state = decode(value, SitemapState)
        return None if state.ping == ping else state

    async def has_read(self, key: str) -> bool:
        """Return whether any run has read a sitemap, this one or an earlier one."""
        return bool(await self._store.get(key, _STATE, "last"))

    async def put(self, key: str, state: SitemapState) -> None:
        """Set the state for later runs."""
        await self._run_state.put(key, _STATE, encode(state))

    async def may_skip(
        self, key: str, lastmod: PointInTime | None, now_ms: int
    ) -> SitemapState | None:
        """Return the state of a sitemap that is unchanged by its index.

        The result is None if a request is needed. The date in the index is kept for the
        next run.
        """
        if lastmod is None:
            return None
        text = await self._run_state.before(key, _DATED)
        former = decode(text, PartDate) if text else PartDate("")
        is_same = former.lastmod == lastmod.text
        is_kept_up = former.is_kept_up or bool(former.lastmod and not is_same)
        await self._run_state.put(
            key, _DATED, encode(PartDate(lastmod.text, is_kept_up))
        )
        if not (is_same and is_kept_up):
            return None
        state = await self.before(key)
        is_old = now_ms - state.read_ms >= self._after_ms
        return None if is_old or state.is_before(lastmod) else state

    async def note(self, index: str, since_run: int, url: str, key: str) -> None:
        """Note a sitemap in an index that was last read to its end in `since_run`."""
        text = await self._store.get(index, _PARTS, url)
        if text and int(text.partition(" ")[0]) < since_run:
            await self._forget(key)  # it was gone, and so is its state
        await self._store.put(index, _PARTS, {url: f"{self._run} {key}"})

    async def named_by(self, index: str) -> set[str]:
        """Return the sitemaps of an index that were read, in this run or before."""
        return {url async for url, _ in self._store.entries(index, _PARTS)}

    async def gone(self, index: str, since_run: int) -> AsyncIterator[GonePart]:
        """Yield the sitemaps that a completely read index no longer names."""
        async for url, text in self._store.entries(index, _PARTS):
            run, _, key = text.partition(" ")
            if int(run) == self._run:
                continue
            if int(run) < since_run:
                await self._store.drop(index, _PARTS, [url])
                await self._forget(key)
                continue
            last = await self._store.get(key, _STATE, "last")
            state = await self.before(key)
            is_read = (last or "").startswith(f"{self._run} ")  # another names it
            if state.read_ms and not is_read:
                yield GonePart(key, url, state)

    async def _forget(self, key: str) -> None:
        """Drop the state of a sitemap, so that it is requested like a new one."""
        last = await self._store.get(key, _STATE, "last")
        if not (last or "").startswith(f"{self._run} "):
            await self._store.clear(key, _STATE)


class SitemapReading:
    """The reading of a sitemap: its task, datasets and entries of other sites.

    Attributes:
        key: of the state of the sitemap.
        before: state of earlier runs.
        known: knowledge of earlier runs about the pages of a batch.
        claims: about the pages of a batch.
        copies: documents of undated pages that were read before, by URL.
        has_entries: the sitemap lists pages or sitemaps.
        is_index: the sitemap lists sitemaps.
        n_rereads: number of these that are read once more in this run.
        parts: those of these that are read in this run.
        gone: sitemaps that it no longer lists.
        sitemaps: in a batch, with a flag for those of the same site.
    """

    def __init__(
        self, response: HarvestedResponse, task: SitemapTask, foreign: ForeignEntries
    ) -> None:
        self.response = response
        self.document = document = response.document
        self.task = task
        self.key = key_of(document.record.url, task)
        self.log = response.log
        self.before = SitemapState()
        self.known: Mapping[str, KnownPage] = {}
        self.claims: dict[str, ListedPageClaim] = {}
        self.copies: dict[str, str] = {}
        self.parts: list[str] = []
        self.gone: list[str] = []
        self.sitemaps: list[tuple[SitemapEntry, bool]] = []
        self.datasets: list[SitemapDataset] = []
        self.foreign = foreign
        self.has_entries = False
        self.is_index = False
        self.n_rereads = 0

    def is_own(self, url: str, trust: HostNames) -> bool:
        """Return whether the sitemap may list a URL."""
        final = self.document.response.requested[-1]
        return may_list(url, final, self.task.robots_hosts) or trust.covers(url)

    def choose_sitemaps(self, known: Collection[str]) -> None:
        """Keep only those of the listed sitemaps that are likely to have datasets.

        Those of earlier runs are kept, as their datasets are known. If some names
        suggest datasets, others are left out.
        """
        listed = {entry.url: (entry, is_own) for entry, is_own in self.sitemaps}
        likely = list(filter(hints_at_data, listed)) or likely_first([*listed])
        kept = dict.fromkeys([*(url for url in listed if url in known), *likely])
        self.sitemaps = [listed[url] for url in [*kept][: self.task.n_below]]

    def may_consent(self, url: str) -> bool:
        """Return whether the site of a URL could consent by a robots.txt."""
        return self.task.wants_entries and is_of_web(url)

    def listing(
        self, key: str = "", url: str = "", state: SitemapState | None = None
    ) -> ListedSitemap:
        """Return the listing of the sitemap, or of another one by its stored state."""
        before = self.before if state is None else state
        return ListedSitemap(
            key=key or self.key,
            url=url or self.document.record.url,
            depth=self.document.record.depth,
            secs=self.document.response.started_ms // 1000,
            read_secs=before.read_ms // 1000,
            since_run=before.since_run,
            is_pinged=bool(self.task.ping),
        )


_find_hint: Final = re.compile(
    r"semantic|dataset|void|dump|rdf|lod|linked|\b(?:data|sc|sw)\b", re.IGNORECASE
).search


def hints_at_data(url: str) -> bool:
    """Return whether the path of a sitemap suggests that it describes datasets."""
    return bool(_find_hint(_path_of(url)))


def _path_of(url: str) -> str:
    return url.partition("://")[2].partition("/")[2]


def likely_first(sitemaps: Sequence[str]) -> list[str]:
    """Return sitemaps, first those that are likely to describe datasets.

    These are indexes and sitemaps whose names say so; then the first and the last one.

    >>> likely_first(["http://a.example/1", "http://a.example/2", "http://a.example/3"])
    ['http://a.example/1', 'http://a.example/3', 'http://a.example/2']
    """
    hinted = filter(hints_at_data, sitemaps)
    indexes = [url for url in sitemaps if "index" in _path_of(url)]
    return list(dict.fromkeys([*hinted, *indexes, *sitemaps[:1], *sitemaps[::-1]]))


def key_of(url: str, task: SitemapTask) -> str:
    """Return the key of a sitemap in the state store, with purpose and hosts."""
    purpose = "asked" if task.is_confirming else "all"
    purpose = "datasets" if task.only_datasets else purpose
    return " ".join((url, purpose, *sorted(task.robots_hosts)))
