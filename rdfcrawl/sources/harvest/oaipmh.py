"""Repositories of OAI-PMH: each record is a document, each page of a list a record.

The state store remembers the time of the last harvest, from which the next one goes on,
and the items, so that those that a complete list lacks become tombstones.
"""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal

from rdfcrawl.core.codec import decode, encode
from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.core.records import Document, FollowUp, Kind, Record
from rdfcrawl.core.source_tasks import CustomTask, SourceTask
from rdfcrawl.rdf.environment import DEFAULT_LIMITS
from rdfcrawl.rdf.oai_pmh import (
    OaiReader,
    OaiRecord,
    OaiResponse,
    base_of,
    record_url,
    request_url,
)
from rdfcrawl.rdf.text import MARK, to_utf8
from rdfcrawl.sources.harvest.custom import CustomHarvester
from rdfcrawl.sources.harvest.emptied_lists import EmptiedLists
from rdfcrawl.sources.harvest.protocol import HarvestContext, has_moved
from rdfcrawl.sources.harvest.response import iter_unpacked, unread_part
from rdfcrawl.sources.harvest.run_state import RunState

NAME: Final = "oaipmh"
# Prefixes of metadata in the order of preference: RDF, then Dublin Core.
_PREFIXES: Final = (
    *("rdf", "dcat_ap", "dcat", "dcatap", "edm", "oai_edm", "rdf_edm", "bibo"),
    *("qdc", "oai_qdc", "dcterms", "oai_dcterms", "oai_dc", "dc"),
)
_find_records: Final = re.compile(rb"<(?:[\w.-]{1,40}:)?record[\s>]").findall
_MAX_BYTES: Final = 64 * 1024 * 1024
_MAX_RESTARTS: Final = 5  # of a list whose tokens expire
# Tables of a list: a base URL, a prefix and a set.
_STATE: Final = "oai"  # in a run: `first` task, `began`, `damaged`
_MET: Final = "met"  # in a run: identifiers
_TOKENS: Final = "tokens"  # in a run: token -> that of the page which gives it
_KNOWN: Final = "known"  # identifiers of items -> `_ALIVE`, or the run of the deletion
_ALIVE: Final = ""
_SUCCESS: Final = "success"  # `FinishedList`


@dataclass(frozen=True, slots=True, kw_only=True)
class OaiStep:
    """One request of the harvest of a repository; the URL has its arguments."""

    do: Literal["identify", "formats", "list"] = "identify"
    prefix: str = ""
    set_: str = ""
    day: bool = False  # times have the granularity of a day
    deletes: str = ""  # `deletedRecord` of the repository
    since: str = ""  # `from`
    until: str = ""
    is_full: bool = False  # all items are listed
    n_restarts: int = 0
    # greatest datestamp of the pages before, as long as they are in this order
    newest: str = ""
    is_sorted: bool = True


@dataclass(frozen=True, slots=True)
class FinishedList:
    """A list that was read completely.

    Attributes:
        began: time of its first response, by the clock of the repository.
        full_ms: beginning of the last complete list, Unix time.
    """

    began: str
    full_ms: int = 0


@dataclass(frozen=True, slots=True)
class _Page:
    """A response of a repository that was read."""

    document: Document
    base: str
    step: OaiStep
    log: FaultLog
    response: OaiResponse
    records: list[OaiRecord]
    is_damaged: bool  # some records may be lost

    @property
    def source(self) -> str:
        """Key of its list in the state store."""
        return _key_of(self.base, self.step)


class OaiPmhHarvester(CustomHarvester):
    """See `protocol.Harvester`."""

    name = NAME

    def __init__(self, context: HarvestContext) -> None:
        super().__init__(context)
        self._store = context.state_store
        self._emptied = EmptiedLists(context.state_store, context.run)
        self._run_state = RunState(context.state_store, context.run)
        self._gone = f"gone {context.run}"

    def root(self, url: str, *, is_named: bool = True) -> Record:
        """Return the first record; see `root_of`."""
        return root_of(url, self.context.run, is_named=is_named)

    async def harvest(self, document: Document) -> AsyncIterator[Document | FollowUp]:
        """Yield the records of a page, and the next requests."""
        step = decode(self.payload(document) or encode(OaiStep()), OaiStep)
        faults = list(document.faults)
        if has_moved(document) or document.status != 200:
            if step.do == "list" and not has_moved(document):
                faults.append(unread_part(faults))
            yield document.harvested(faults=faults)
            return
        log = FaultLog()
        page = await asyncio.to_thread(self._read, document, step, log)
        n_documents = 0
        if not page.response.is_found:
            log.note(Reason.BAD_ANSWER, "no response of OAI-PMH")
        elif step.do == "list":
            async for each in self._list(page):
                n_documents += isinstance(each, Document)
                yield each
        else:
            for follow_up in await self._begin(page):
                yield follow_up
        faults += log.all()
        if step.do == "list" and log.count(Reason.BAD_ANSWER):
            faults.append(unread_part(faults))
        yield document.harvested(faults=faults, n_documents=n_documents)

    def _read(self, document: Document, step: OaiStep, log: FaultLog) -> _Page:
        """Read a response; the statements of an error before its end are kept."""
        base, _ = base_of(document.record.url)
        records: list[OaiRecord] = []
        response, n_tags = OaiResponse(), 0
        for source in iter_unpacked(document, log):
            with source.open() as file:
                data = file.read(_MAX_BYTES + 1)
            if len(data) > _MAX_BYTES:
                log.note(Reason.TOO_LARGE, f"cut at {_MAX_BYTES} bytes")
            charset = document.response.charset
            text = to_utf8(data[:_MAX_BYTES], charset=charset, is_xml=True, log=log)
            n_tags += len(_find_records(text))
            reader = OaiReader(
                io.BytesIO(text),
                base,
                limits=DEFAULT_LIMITS,
                log=log,
                prefix=step.prefix or "oai_dc",
            )
            response = reader.response
            with log.noting():
                records += reader.records()
        is_damaged = n_tags != len(records)
        return _Page(document, base, step, log, response, records, is_damaged)

    # -- the beginning -----------------------------------------------------------------

    async def _begin(self, page: _Page) -> list[FollowUp]:
        step, response = page.step, page.response
        if step.do == "identify":
            granularity = response.fields.get("granularity", "")
            step = replace(
                step,
                do="formats",
                day="hh" not in granularity.lower(),
                deletes=response.fields.get("deletedRecord", "no"),
            )
            url = request_url(page.base, verb="ListMetadataFormats")
            return [self.follow(page.document, url, encode(step))]
        prefix = self._chosen(page)
        if not prefix:
            return []
        follow_ups = []
        for name in self._sets(step):
            listing = replace(step, do="list", prefix=prefix, set_=name)
            follow_ups.append(self._request(page, await self._first(page, listing)))
        return follow_ups

    def _chosen(self, page: _Page) -> str:
        """Return the prefix of the format to harvest; empty if none can be read."""
        wanted = page.step.prefix or self.context.arguments.metadata_prefix
        if wanted:
            return wanted
        offered = {prefix.lower(): prefix for prefix in page.response.prefixes}
        for each in _PREFIXES:
            if each in offered:
                return offered[each]
        if not offered:
            return "oai_dc"  # which each repository must have (section 3.4)
        shown = ", ".join(page.response.prefixes)
        page.log.note(Reason.UNSUPPORTED_FORMAT, f"formats of metadata: {shown[:200]}")
        return ""

    def _sets(self, step: OaiStep) -> list[str]:
        """Return the sets to list; an empty one is the complete repository."""
        return [step.set_] if step.set_ else sorted(self.context.arguments.sets) or [""]

    async def _first(self, page: _Page, step: OaiStep) -> OaiStep:
        """Return the first request of a list, which depends on the last run.

        It is decided once: a repeated record must not skip statements that were lost.
        """
        source = _key_of(page.base, step)
        if not (step.since or step.until):  # no part that the operator named
            step = replace(step, is_full=True)
            if text := await self._run_state.before(source, _SUCCESS):
                last = decode(text, FinishedList)
                age_ms = page.document.response.started_ms - last.full_ms
                has_marks = step.deletes == "persistent" or (
                    step.deletes == "transient"
                    and age_ms < self.context.options.revisit_secs * 1000
                )
                since = _with_margin(last.began, is_day=step.day)
                if has_marks and since:
                    step = replace(step, since=since, is_full=False)
        await self._run_state.begin(source, (_STATE, _MET, _TOKENS))
        state = self._run_state.table(_STATE)
        text = await self._store.claim(source, state, "first", encode(step))
        return decode(text, OaiStep)

    def _request(self, page: _Page, step: OaiStep, token: str = "") -> FollowUp:
        """Return the request of a page; a token excludes all other arguments."""
        if token:
            url = request_url(page.base, verb="ListRecords", resumptionToken=token)
        else:
            url = request_url(
                page.base,
                verb="ListRecords",
                metadataPrefix=step.prefix,
                set=step.set_,
                from_=step.since,
                until=step.until,
            )
        return self.follow(page.document, url, encode(step))

    # -- the list ----------------------------------------------------------------------

    async def _list(self, page: _Page) -> AsyncIterator[Document | FollowUp]:
        response, is_cut = page.response, page.document.is_partial
        if response.errors and not page.records:
            async for each in self._failed(page):
                yield each
            return
        async for each in self._records(page):
            yield each
        source, state = page.source, self._run_state.table(_STATE)
        await self._store.claim(source, state, "began", response.date)
        if page.is_damaged or is_cut:
            await self._store.put(source, state, {"damaged": ""})
        if response.token:
            if await self._gives_new_token(page):
                following = _after(page.step, page.records)
                yield self._request(page, following, response.token)
            else:
                page.log.note(Reason.PAGING_LOOP, "the token of an earlier page")
        elif not response.is_complete or is_cut:
            page.log.note(Reason.INCOMPLETE, "a page of the list is cut")
        else:
            async for each in self._end(page):
                yield each

    async def _gives_new_token(self, page: _Page) -> bool:
        """Return whether no other page of a list has given the token of a page."""
        own = base_of(page.document.record.url)[1].get("resumptionToken", "")
        table = self._run_state.table(_TOKENS)
        key = f"{page.step.n_restarts} {page.step.since} {page.response.token}"
        return await self._store.claim(page.source, table, key, own) == own

    async def _records(self, page: _Page) -> AsyncIterator[Document]:
        """Yield the records of a page, and tombstones of known items."""
        source, step, records = page.source, page.step, page.records
        deleted = [each.identifier for each in records if each.is_deleted]
        known = await self._store.get_many(source, _KNOWN, deleted)
        marks = _ALIVE, self._gone
        gone = {name: self._gone for name, mark in known.items() if mark in marks}
        kept = {each.identifier: _ALIVE for each in records if not each.is_deleted}
        await self._store.put(source, _KNOWN, kept | gone)
        if step.is_full:
            await self._store.put(source, self._run_state.table(_MET), kept)
        for record in records:
            url = record_url(page.base, record.identifier, step.prefix)
            if not record.is_deleted:
                lines = (line for line in record.lines if MARK not in line)
                yield page.document.part(url, self.statements(lines, url))
            elif record.identifier in gone:
                yield page.document.part(url, is_deleted=True)

    async def _failed(self, page: _Page) -> AsyncIterator[Document | FollowUp]:
        """Yield the request that replaces a failed one; an empty list is no failure."""
        step, errors = page.step, page.response.errors
        codes = {code for code, _ in errors}
        shown = "; ".join(" ".join(each) for each in errors)[:200]
        if codes <= {"noRecordsMatch"}:
            async for each in self._end(page):
                yield each
        elif "badResumptionToken" in codes and step.n_restarts < _MAX_RESTARTS:
            since = step.newest if step.is_sorted and step.newest else step.since
            again = replace(
                step,
                since=since[:10] if step.day else since,
                n_restarts=step.n_restarts + 1,
            )
            page.log.note(Reason.REPAIRED, f"the list is begun again: {shown}")
            yield self._request(page, again)
        elif "badArgument" in codes and step.since and not step.is_full:
            again = replace(step, since="", is_full=True)
            page.log.note(Reason.REPAIRED, f"all records are listed: {shown}")
            yield self._request(page, again)
        else:
            page.log.note(Reason.BAD_ANSWER, shown)

    async def _end(self, page: _Page) -> AsyncIterator[Document]:
        """Yield tombstones of items that a complete list lacks; remember its end."""
        base, step, source = page.base, page.step, page.source
        state = self._run_state.table(_STATE)
        began = await self._store.claim(source, state, "began", page.response.date)
        is_damaged = await self._store.get(source, state, "damaged") is not None
        full_ms = 0
        if step.is_full and not is_damaged:
            missing = await self._missing(page)
            if missing is None:
                return
            others = [_key_of(base, replace(step, set_=x)) for x in self._sets(step)]
            for identifier in missing:
                if not await self._is_elsewhere(identifier, source, others):
                    url = record_url(base, identifier, step.prefix)
                    yield page.document.part(url, is_deleted=True)
            gone = dict.fromkeys(missing, self._gone)
            await self._store.put(source, _KNOWN, gone)
            full_ms = page.document.response.started_ms
        elif text := await self._run_state.before(source, _SUCCESS):
            full_ms = decode(text, FinishedList).full_ms
        await self._run_state.put(
            source, _SUCCESS, encode(FinishedList(began, full_ms))
        )

    async def _missing(self, page: _Page) -> list[str] | None:
        """Return the items that a complete list lacks; None if they are too many."""
        source, met = page.source, self._run_state.table(_MET)
        missing: list[str] = []
        n_known = 0
        async for batch in self._store.batches(source, _KNOWN):
            alive = [x for x, mark in batch.items() if mark in (_ALIVE, self._gone)]
            marks = await self._store.get_many(source, met, alive)
            n_known += len(alive)
            missing += (each for each in alive if each not in marks)
            await self._store.drop(source, _KNOWN, batch.keys() - set(alive))
        n_met = await self._store.size(source, met)
        if fault := await self._emptied.doubt(source, n_met, n_known, "item"):
            page.log.note(fault.reason, fault.detail)
            return None
        return list(dict.fromkeys(missing))  # entries of a table may be repeated

    async def _is_elsewhere(
        self, identifier: str, source: str, others: list[str]
    ) -> bool:
        """Return whether another set of the repository has an item."""
        for other in others:
            if other != source:
                mark = await self._store.get(other, _KNOWN, identifier)
                if mark == _ALIVE:
                    return True
        return False


def root_of(url: str, run: int, *, is_named: bool) -> Record:
    """Return the request for the description of a repository.

    A URL of a request keeps its arguments for the list: prefix, set and times.
    """
    base, given = base_of(url)
    step = OaiStep(
        prefix=given.get("metadataPrefix", ""),
        set_=given.get("set", ""),
        since=given.get("from", ""),
        until=given.get("until", ""),
    )
    task = SourceTask(run, is_named, CustomTask(NAME, encode(step)))
    return Record(request_url(base, verb="Identify"), Kind.CUSTOM, task=task)


def is_of_list(url: str) -> bool:
    """Return whether a response at a URL may lead to all records of a repository."""
    return base_of(url)[1].get("verb") not in ("GetRecord", "ListSets")


def _key_of(base: str, step: OaiStep) -> str:
    """Return the key of a list in the state store."""
    return f"{base} {step.prefix} {step.set_}"


def _after(step: OaiStep, records: list[OaiRecord]) -> OaiStep:
    """Return the step of the next page, with the greatest datestamp so far."""
    stamps = [each.datestamp for each in records]
    is_sorted = step.is_sorted and [step.newest, *stamps] == sorted(
        [step.newest, *stamps]
    )
    newest = stamps[-1] if is_sorted and stamps else ""
    n_restarts = 0 if newest > step.since else step.n_restarts
    return replace(step, newest=newest, is_sorted=is_sorted, n_restarts=n_restarts)


def _with_margin(text: str, *, is_day: bool) -> str:
    """Return a time before the response of the last list, as `from`; empty if invalid.

    The margin is for records that were changed while the repository made its list.
    """
    try:
        moment = datetime.fromisoformat(text)
        margin = timedelta(days=1) if is_day else timedelta(hours=1)
        moment -= margin
    except (ValueError, OverflowError):
        return ""
    return f"{moment:%Y-%m-%d}" if is_day else f"{moment:%Y-%m-%dT%H:%M:%SZ}"
