"""The files of the datasets of a portal, followed from run to run.

A portal states when a file was changed, its hash and its size. If one of these changes,
or if the last fetch failed, then the file is requested. If the portal states neither
date nor hash, then the validators and the age of the last fetch decide, as for dumps.
A file that no dataset has any more is withdrawn. If its dataset has new ones, of which
some could not be read yet, then it stays until they are, for some runs at most.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.codec import decode, encode
from rdfcrawl.core.records import FollowUp, Kind, Record
from rdfcrawl.core.tasks import PortalFile
from rdfcrawl.sources.harvest.listed_pages import ListedPageClaim, RevisitPolicy
from rdfcrawl.sources.harvest.page_fetches import PageFetch, PageFetches
from rdfcrawl.sources.sitemaps.entry import ChangeFrequency

if TYPE_CHECKING:
    from rdfcrawl.sources.harvest.protocol import HarvestContext

_FILES: Final = "files"  # of a portal: URL of a dataset -> `_DatasetFiles`


@dataclass(frozen=True, slots=True)
class FileClaim:
    """The claims of a portal about one file, kept between runs.

    Attributes:
        url: of the file.
        kind: of its record.
        signals: digest of all that the portal says about the content.
        lastmod: time of the last change; empty if missing.
        is_stated: a time or a hash shows whether the content has changed.
        is_page: for people; without a time or a hash, its age decides.
        since: run in which the portal first stated these signals.
    """

    url: str
    kind: Kind
    signals: str = ""
    lastmod: str = ""
    is_stated: bool = False
    is_page: bool = False
    since: int = 0


@dataclass(frozen=True, slots=True)
class _DatasetFiles:
    """The files of a dataset, and those that it dropped in the last run that listed it.

    A response that is processed twice finds the dropped ones again. Former files may
    stay until the `awaited` ones are read.
    """

    run: int
    files: tuple[FileClaim, ...] = ()
    dropped: tuple[str, ...] = ()
    awaited: tuple[str, ...] = ()
    has_former: bool = False


class PortalFiles:
    """The files of one portal, during the harvest of one response.

    Args:
        context: of the crawl.
        portal: its key in the state store.
    """

    def __init__(self, context: HarvestContext, portal: str) -> None:
        self._context = context
        self._store = context.state_store
        self._portal = portal
        self._run = context.run
        self._fetches = PageFetches(context.state_store)
        self._dropped: dict[str, tuple[str, ...]] = {}  # dataset -> files

    async def listed(
        self, datasets: Mapping[str, Iterable[FileClaim]], portal: Record
    ) -> dict[str, list[FollowUp]]:
        """Take the files of listed datasets; return those due in this run.

        The keys are the URLs of the datasets. A dataset without files has none any
        more; see `dropped`.
        """
        run = self._run
        texts = await self._store.get_many(self._portal, _FILES, datasets)
        due: dict[str, list[FollowUp]] = {}
        entries: dict[str, str] = {}
        owned: list[tuple[str, str]] = []
        for name, listed in datasets.items():
            text = texts.get(name)
            last = decode(text, _DatasetFiles) if text else _DatasetFiles(run)
            known = {each.url: each for each in last.files}
            files = tuple(_merged(x, known.get(x.url), run) for x in listed)
            urls = {each.url for each in files}
            before = (*known, *(last.dropped if last.run == run else ()))
            dropped = tuple(dict.fromkeys(x for x in before if x not in urls))
            new = {*(urls - known.keys()), *last.awaited}
            awaited = tuple(x.url for x in files if x.url in new and not x.is_page)
            taken = _DatasetFiles(run, files, dropped, awaited, last.has_former)
            if dropped or last.has_former:
                taken = await self._left(name, taken)
            if files or text:
                entries[name] = encode(taken)
            owned += ((name, url) for url in urls - known.keys())
            due[name] = await self._due(files, name, portal)
        await self._context.datasets.files.add(owned)
        await self._store.put(self._portal, _FILES, entries)
        return due

    async def _left(self, name: str, taken: _DatasetFiles) -> _DatasetFiles:
        """Take the dropped files of a dataset; return it with those that stay."""
        owners = self._context.datasets.files
        lacking = await owners.lacking(taken.awaited)
        dropped = taken.dropped if taken.run == self._run else ()
        if lacking:
            await owners.former.keep(name, dropped, lacking)
            dropped, taken = (), replace(taken, has_former=True)
        if taken.has_former:
            present = {each.url for each in taken.files}
            released = await owners.former.released(
                name, present, has_others=not lacking
            )
            if released is None:
                taken = replace(taken, has_former=False)
            dropped += tuple(released or ())
        if dropped:
            self._dropped[name] = dropped
        return taken if taken.has_former else replace(taken, awaited=())

    async def dropped(self) -> tuple[str, ...]:
        """Return the documents to withdraw, after all listed datasets were taken."""
        withdrawn: list[str] = []
        for name, urls in self._dropped.items():
            withdrawn += await self._context.datasets.files.drop(name, urls)
        return tuple(dict.fromkeys(withdrawn))

    async def revisits(
        self, missing: Collection[str], portal: Record
    ) -> AsyncIterator[list[FollowUp]]:
        """Yield the files that are due although their datasets have not changed.

        Args:
            missing: datasets that may be gone, and are requested once more.
            portal: record of the portal.
        """
        async for batch in self._store.batches(self._portal, _FILES):
            decoded = {name: decode(x, _DatasetFiles) for name, x in batch.items()}
            known = {name: x for name, x in decoded.items() if x.run < self._run}
            gone = [name for name, each in known.items() if not each.files]
            for name in gone:
                if known[name].has_former:
                    await self._context.datasets.files.former.forget(name)
            await self._store.drop(self._portal, _FILES, gone)
            await self._revisit_left(known, missing)
            for name, each in known.items():
                if name not in missing and (
                    due := await self._due(each.files, name, portal)
                ):
                    yield due

    async def _revisit_left(
        self, known: Mapping[str, _DatasetFiles], missing: Collection[str]
    ) -> None:
        """Drop former files of unchanged datasets, if they need not stay any more."""
        entries: dict[str, str] = {}
        for name, each in known.items():
            has_former = each.files and each.has_former and name not in missing
            if has_former and (taken := await self._left(name, each)) != each:
                entries[name] = encode(taken)
        await self._store.put(self._portal, _FILES, entries)

    async def _due(
        self, files: Collection[FileClaim], dataset: str, portal: Record
    ) -> list[FollowUp]:
        run = self._run
        fetches: dict[str, PageFetch | None] = {}
        if run:
            fetches = await self._fetches.last_of(each.url for each in files)
        secs = self._context.options.revisit_secs
        policy = RevisitPolicy(run, int(time.time()), secs)
        change = f"run {run}" if run else ""
        return [
            FollowUp(
                Record(
                    each.url,
                    each.kind,
                    portal.depth + 1,
                    dataset,
                    task=PortalFile(run, each.signals if each.is_stated else ""),
                ),
                change=change,
            )
            for each in files
            if not run or _is_due(each, fetches[each.url], policy)
        ]


def _merged(claim: FileClaim, before: FileClaim | None, run: int) -> FileClaim:
    """Return a claim with the run in which it was first stated."""
    is_same = before is not None and before.signals == claim.signals
    return replace(claim, since=before.since if before and is_same else run)


def _is_due(claim: FileClaim, fetch: PageFetch | None, policy: RevisitPolicy) -> bool:
    # A repeated record of this run is due again.
    if fetch is None or fetch.run == policy.run or claim.since > fetch.run:
        return True
    has_validators = bool(fetch.etag or fetch.last_modified)
    if has_validators and not (claim.is_stated or claim.is_page):  # a 304 has no body
        return not fetch.is_fresh(claim.url, policy.now_secs, policy.after_secs)
    is_settled = claim.is_stated and not fetch.n_failures
    every = ChangeFrequency.NEVER if is_settled else None
    listed = ListedPageClaim(policy.run, 0, claim.lastmod, every, since=claim.since)
    return policy.change_of(listed, fetch) is not None
