"""SPARQL endpoints as a source: each request is a record.

The next requests depend only on the response (`sources.sparql`), so any worker can
continue, and a crash costs one request.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import chain
from typing import Final

from rdfcrawl.core.codec import decode, encode
from rdfcrawl.core.content import body_of
from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.core.records import (
    Document,
    FollowUp,
    HarvestedPart,
    Kind,
    LinkedIris,
    Record,
    RowCounts,
    Urgency,
)
from rdfcrawl.core.source_tasks import Payload, SourceTask, SparqlPing, SparqlTask
from rdfcrawl.downloader.client import HttpRequest
from rdfcrawl.rdf.graphs import service_graph
from rdfcrawl.sources.harvest.discovery import NOTHING_FOUND, Discovery
from rdfcrawl.sources.harvest.protocol import (
    HarvestContext,
    Harvester,
    has_moved,
    next_step,
    read_task,
)
from rdfcrawl.sources.harvest.sparql_responses import (
    SparqlResult,
    failure_of,
    has_content,
    response_of,
    without_query,
)
from rdfcrawl.sources.harvest.sparql_scope import plan_of
from rdfcrawl.sources.harvest.sparql_state import SCOPES, EndpointState
from rdfcrawl.sources.sparql.exchange import (
    ACCEPT_TABLE,
    SparqlFailure,
    judge,
    query_request,
)
from rdfcrawl.sources.sparql.lessons import EndpointLessons
from rdfcrawl.sources.sparql.outcome import SparqlOutcome, learned
from rdfcrawl.sources.sparql.plan import EndpointPlan, ResponseReader

# An endpoint that fails both the GET of its URL and a first query is given up.
_SILENT: Final = SparqlFailure.CLOSED
# These do not show that it is silent: another query may be easier.
_ASKED_OTHERWISE: Final = frozenset({"probe", "graphs"})
_LESSONS: Final = "lessons"  # note: encoded `EndpointLessons`
_MAX_TRIES: Final = 5  # of a task that the endpoint wants to postpone
# RFC 9110 15.5.6, 15.5.15, 15.6.2
_NOT_BY_METHOD: Final = frozenset({405, 414, 501})
_NOT_ACCEPTED: Final = frozenset({406, 415})  # RFC 9110 15.5.7, 15.5.16
# Virtuoso sets the second one when it has stopped early.
_KEPT_HEADERS: Final = ("server", "x-sql-state")
_LOSSES: Final = frozenset({Reason.INCOMPLETE, Reason.TOO_LARGE})
_find_hosts = re.compile(rb"^<([a-z]+://[^/:>]*)", re.MULTILINE).findall
_host = re.compile(rb"[a-z]+://[^/:>]*").match
_MAX_HOSTS: Final = 10_000

_SUSPICIOUS: Final = 20  # consecutive failures
_URGENCIES: Final = {SparqlTask: Urgency.ORDINARY, SparqlPing: Urgency.SOON}


class SparqlHarvester(Harvester):
    """See `protocol.Harvester`."""

    def __init__(self, context: HarvestContext) -> None:
        self._context = context
        self._hosts: dict[str, set[bytes]] = {}  # endpoint -> hosts of its subjects
        # record -> the task that was requested in its place, and the lessons until then
        self._requested: dict[str, tuple[SparqlTask, EndpointLessons]] = {}

    def root(self, url: str, *, is_named: bool = True) -> Record:
        """Return the first record of the harvest of an endpoint."""
        return Record(url, Kind.SPARQL, task=SourceTask(self._context.run, is_named))

    async def request_for(self, record: Record) -> HttpRequest | None:
        """Return the request of a task."""
        harvest = self._harvest(record)
        step = _step_of(harvest, record)
        if not _is_description(step):
            harvest = await self._adapted(harvest, record)
        if isinstance(step, SparqlPing):
            request = query_request(
                *(harvest.endpoint, "ASK { }", ACCEPT_TABLE),
                max_get_chars=harvest.settings.max_get_chars,
                by_parameter=harvest.settings.by_parameter,
            )
        else:
            request = harvest.request(await self._adapted_step(harvest, record, step))
        headers = dict(request.headers)
        return HttpRequest(
            url=request.url,
            accept=headers.pop("accept", ""),
            headers=tuple(headers.items()),
            data=request.body,
            kept_headers=_KEPT_HEADERS,
            may_think=_may_be_slow(step),
        )

    async def harvest(self, document: Document) -> AsyncIterator[Document | FollowUp]:
        """Yield the response, with the statements in it.

        After the last response come tombstones for the responses of earlier runs that
        were not replaced in this run.
        """
        harvest = self._harvest(document.record)
        step = _step_of(harvest, document.record)
        if isinstance(step, SparqlTask):
            step = self._requested_step(harvest, document, step)
        if has_moved(document):
            yield document.harvested()
            return
        if isinstance(step, SparqlTask) and (way := await self._other_way(document)):
            outcome = SparqlOutcome(harvest.settings, retries=True)
            found = await self._take(
                document, SparqlResult(step, document.url, []), outcome
            )
            await self._note(document.record, *way)
            for follow_up in found.follow_ups:
                yield follow_up
            yield document.harvested(faults=found.faults)
        elif isinstance(step, SparqlTask) and has_content(document):
            async for each in self._read_results(document, harvest, step):
                yield each
        else:
            found = await self._without_content(document, harvest, step)
            for follow_up in found.follow_ups:
                yield follow_up
            yield document.harvested(faults=[*document.faults, *found.faults])
        async for part in self._replaced(document):
            yield part

    async def _adapted_step(
        self, harvest: EndpointPlan, record: Record, step: SparqlTask
    ) -> SparqlTask:
        """Return the task to request, and remember it for its response."""
        harvest.lessons = await self._lessons(record)
        task = harvest.adapted(_untried(step))
        self._requested[_name(record)] = task, harvest.lessons
        return task

    async def _lessons(self, record: Record) -> EndpointLessons:
        text = await self._noted(record, _LESSONS)
        return decode(text, EndpointLessons) if text else EndpointLessons()

    def _requested_step(
        self, harvest: EndpointPlan, document: Document, step: SparqlTask
    ) -> SparqlTask:
        """Return the task that was requested, and set the lessons until then."""
        sent = self._requested.pop(_name(document.record), None)
        if sent:
            task, harvest.lessons = sent
            step = replace(task, n_tries=step.n_tries)
        return replace(step, has_answered=True) if document.status else step

    async def _read_results(
        self, document: Document, harvest: EndpointPlan, step: SparqlTask
    ) -> AsyncIterator[Document | FollowUp]:
        """Yield the response with its statements.

        An empty one does not replace one that had statements: that is left to the end
        of the harvest, which judges all of them.
        """
        record = document.record
        url = service_graph(record.url) if _is_description(step) else _name(record)
        reading = harvest.read(_untried(step), response_of(document))
        cut = [x for x in document.faults if x.reason is Reason.TRUNCATED_BODY]
        result, chunks = SparqlResult(step, url, cut), iter(reading)
        first = await asyncio.to_thread(next, chunks, b"")
        if first or not await self._state(record).has_statements(url):
            parts = self._read(document, result, reading, chain((first,), chunks))
            yield document.harvested(parts, url=url, is_followed=False, faults=cut)
            return
        result.faults = [*cut, *reading.faults]
        found = await self._take(document, result, reading.outcome)
        for follow_up in found.follow_ups:
            yield follow_up
        yield document.harvested(faults=[*result.faults, *found.faults])

    async def _without_content(
        self, document: Document, harvest: EndpointPlan, step: SparqlTask | SparqlPing
    ) -> Discovery:
        """Return the next tasks after a response without statements."""
        if isinstance(step, SparqlPing):
            return await self._pinged(document, step)
        failure = failure_of(document)
        # An endpoint that has never answered is not asked again for being silent.
        is_known = failure != SparqlFailure.TIMEOUT and step.step in _ASKED_OTHERWISE
        if not (is_known or _may_be_slow(step)):
            failure = _SILENT
        outcome = harvest.failed(_untried(step), failure)
        faults = outcome.log.all()
        result = SparqlResult(step, document.url, [*document.faults, *faults])
        found = await self._take(document, result, outcome)
        return Discovery(faults=tuple(faults)) + found

    # -- ways to send queries ------------------------------------------------------

    async def _adapted(self, harvest: EndpointPlan, record: Record) -> EndpointPlan:
        """Return the plan with the way of sending queries that has been noted."""
        settings = harvest.settings
        if await self._noted(record, "by_post"):
            settings = replace(settings, max_get_chars=0)
        elif await self._noted(record, "by_get"):
            settings = replace(settings, max_get_chars=sys.maxsize)
        if await self._noted(record, "by_parameter"):
            settings = replace(settings, by_parameter=True)
        url = await self._noted(record, "location") or record.url
        return EndpointPlan(url, settings)

    async def _other_way(self, document: Document) -> tuple[str, str] | None:
        """Return a way of sending queries that is to be tried, as a note; else None.

        An endpoint may refuse a method, redirect without the query, or ignore the
        header `Accept`.
        """
        record, requested = document.record, document.response.requested
        harvest = self._harvest(record)
        step = _step_of(harvest, record)
        if not isinstance(step, SparqlTask) or _is_description(step) or not requested:
            return None
        location = without_query(requested)
        is_refused = document.status >= 400 and location
        if is_refused and not await self._noted(record, "location"):
            return "location", location
        if document.status in _NOT_BY_METHOD:
            is_get = "query=" in requested[0]
            way, other = ("by_post", "by_get") if is_get else ("by_get", "by_post")
            known = await self._noted(record, way) or await self._noted(record, other)
            return None if known else (way, "1")
        is_judged = 200 <= document.status < 300 or document.status in _NOT_ACCEPTED
        if not is_judged or await self._noted(record, "has_results"):
            return None
        if harvest.is_result(step, response_of(document)):
            await self._note(record, "has_results")
            return None
        way, value = ("location", location) if location else ("by_parameter", "1")
        return None if await self._noted(record, way) else (way, value)

    def _harvest(self, record: Record) -> EndpointPlan:
        rows = self._context.options.sparql_rows
        return plan_of(record, self._context.arguments, rows)

    # -- responses ---------------------------------------------------------------------

    async def _read(
        self,
        document: Document,
        result: SparqlResult,
        reading: ResponseReader,
        chunks: Iterator[bytes],
    ) -> AsyncIterator[HarvestedPart]:
        """Yield the statements of a response, and then the next tasks."""
        while chunk := await asyncio.to_thread(next, chunks, b""):
            result.n_quads += chunk.count(b"\n")
            if links := self._links_away(document.record, chunk):
                yield LinkedIris(frozenset(links))
            yield chunk
        if result.n_quads:
            await self._note(document.record, "has_data")
        for check in reading.outcome.checks:
            yield RowCounts(check.want, check.got)
        for fault in reading.faults:
            yield fault
        result.faults = [*result.faults, *reading.faults]
        found = await self._take(document, result, reading.outcome)
        for part in found.parts():
            yield part

    async def _take(
        self, document: Document, result: SparqlResult, outcome: SparqlOutcome
    ) -> Discovery:
        """Remember the result of a response, and return the next tasks."""
        record, step = document.record, result.step
        state = self._state(record)
        lessons = await self._lessons(record)
        if lessons != (more := learned(lessons, _untried(step), outcome)):
            await self._note(record, _LESSONS, encode(more))
        if read_task(record).payload is None:
            await state.begin()
            task = read_task(record)
            await state.note_scope(record.url, task.graphs, is_named=task.is_named)
        steps: list[SparqlTask | SparqlPing] = []
        closed: list[Fault] = []
        if outcome.retries and step.n_tries < _MAX_TRIES:
            steps.append(replace(step, n_tries=step.n_tries + 1))
        elif outcome.retries or (
            outcome.failure and await self._noted(record, "is_dead")
        ):
            harvest = self._harvest(record)
            outcome = harvest.failed(_untried(step), SparqlFailure.CLOSED)
            closed = outcome.log.all()
        steps += outcome.tasks
        steps += await self._doubts(record, outcome)
        if any(x.reason in _LOSSES for x in (*result.faults, *closed)):
            await state.lose(result.graphs)
        if result.n_quads:
            await state.keep(result.url, result.n_data, result.graphs)
        following = await self._following(record, steps, result.n_data)
        closed += await self._kept(record, state)
        is_closed = outcome.failure == SparqlFailure.CLOSED
        instead = await self._conclude(document, is_closed=is_closed)
        return Discovery(following, tuple(closed)) + instead

    async def _kept(self, record: Record, state: EndpointState) -> list[Fault]:
        """Return faults if a complete harvest does not replace earlier copies."""
        if doubt := await state.doubt():
            return [doubt]
        if self._is_chosen_part(record) or not await state.is_replaced():
            return []
        return await self._context.datasets.kept_beside_endpoint(
            record.url, read_task(record).graphs, await state.n_statements()
        )

    async def _conclude(self, document: Document, *, is_closed: bool) -> Discovery:
        """Return other access to the data, if an endpoint is deficient."""
        record = document.record
        lack = "closed" if is_closed else await self._lack(record)
        if not lack:
            return NOTHING_FOUND
        return await self._context.datasets.instead_of_endpoint(
            document, read_task(record).graphs, lack
        )

    async def _lack(self, record: Record) -> str:
        """Return the deficiency of an endpoint, when all of its tasks are done.

        A part chosen by the operator is not compared with the dataset.
        """
        if self._is_chosen_part(record) or not await self._state(record).is_finished():
            return ""
        if not await self._noted(record, "has_data"):
            return "no statements"
        return "cut" if await self._noted(record, "is_lossy") else ""

    def _is_chosen_part(self, record: Record) -> bool:
        """Return whether the operator chose a part of an endpoint."""
        wanted = self._harvest(record).settings
        is_part = wanted.mode != "all" or bool(wanted.include or wanted.exclude)
        return read_task(record).is_named and is_part

    async def _following(
        self,
        record: Record,
        steps: Sequence[SparqlTask | SparqlPing],
        n_statements: int = 0,
    ) -> tuple[FollowUp, ...]:
        """Return the records of steps, and mark the step of `record` as done."""
        own = _mark(read_task(record).payload)
        await self._state(record).end_task(own, n_statements, map(_mark, steps))
        return tuple(
            next_step(record, step, urgency=_URGENCIES[type(step)]) for step in steps
        )

    # -- vanished endpoints --------------------------------------------------------

    async def _doubts(self, record: Record, outcome: SparqlOutcome) -> list[SparqlPing]:
        """Return a task that tests whether an endpoint still exists.

        A failed task becomes smaller tasks; without this test, that would never end.
        """
        state = self._state(record)
        if outcome.retries:
            return []
        if not outcome.failure:
            await state.clear_failures()
            return []
        if await state.fail_task(_mark(read_task(record).payload)) < _SUSPICIOUS:
            return []
        return [SparqlPing(int(await self._noted(record, "pings") or 0))]

    async def _pinged(self, document: Document, ping: SparqlPing) -> Discovery:
        record, response = document.record, response_of(document)
        is_there = (
            body_of(document.response) is not None
            and judge(response) is None
            and b"<html" not in response.body.head()[:1_000].lower()
        )
        if is_there:
            await self._note(record, "pings", str(ping.number + 1))
            await self._state(record).clear_failures()
        else:
            await self._note(record, "is_dead")
        await self._following(record, ())
        return await self._conclude(document, is_closed=False)

    # -- state -----------------------------------------------------------------------

    async def _note(self, record: Record, name: str, value: str = "1") -> None:
        await self._state(record).note(name, value)

    async def _noted(self, record: Record, name: str) -> str | None:
        return await self._state(record).noted(name)

    def _state(self, record: Record) -> EndpointState:
        context = self._context
        return EndpointState(context.state_store, context.run, self._key_of(record))

    async def _replaced(self, document: Document) -> AsyncIterator[Document]:
        """Yield tombstones for the documents that a finished harvest replaces."""
        record, context = document.record, self._context
        state = self._state(record)
        if not await state.is_finished():
            return
        async for url in state.iter_gone():
            gone = document.part(url, is_deleted=True)
            gone.response.started_ms += url == _name(record)  # after its statements
            yield gone
        if not await state.is_replaced():
            return
        if read_task(record).graphs:
            async for url in self._left_scopes(record):
                yield document.part(url, is_deleted=True)
        if not self._is_chosen_part(record):
            for url in await context.datasets.replaced_by_endpoint(
                record, read_task(record).graphs, await state.n_statements()
            ):
                yield document.withdrawal(url)

    async def _left_scopes(self, record: Record) -> AsyncIterator[str]:
        """Yield the documents of graphs that no dataset of an endpoint has any more."""
        context, own = self._context, self._key_of(record)
        datasets = await context.datasets.served_by(record.url)
        ways = [way for x in datasets for way in x.ways_at(record.url).values()]
        wanted = {" ".join(way.graphs) for way in ways}
        async for key, graphs in context.state_store.entries(record.url, SCOPES):
            if key != own and graphs and graphs not in wanted:
                left = EndpointState(context.state_store, context.run, key)
                async for url in left.iter_left():
                    yield url

    def _key_of(self, record: Record) -> str:
        """Return the key of an endpoint and the scope of its harvest."""
        settings = self._harvest(record).settings
        wanted = (settings.mode, settings.query, settings.include, settings.exclude)
        return f"{record.url} {_digest(repr((*wanted, settings.take_default_graph)))}"

    def _links_away(self, record: Record, chunk: bytes) -> set[bytes]:
        """Return links to other hosts than those of the endpoint's subjects."""
        hosts = self._hosts.setdefault(record.url, set())
        if len(hosts) < _MAX_HOSTS:
            hosts.update(_find_hosts(chunk))
        return {
            link
            for link in self._context.arguments.follow.scan(chunk)
            if (host := _host(link)) is not None and host[0] not in hosts
        }


def _step_of(harvest: EndpointPlan, record: Record) -> SparqlTask | SparqlPing:
    step = read_task(record).payload
    return step if isinstance(step, SparqlTask | SparqlPing) else harvest.seeds()[0]


def _may_be_slow(step: SparqlTask | SparqlPing) -> bool:
    """Return whether a response may be slow: the endpoint is known to work."""
    return isinstance(step, SparqlTask) and (step.has_answered or step.step == "query")


def _untried(step: SparqlTask) -> SparqlTask:
    """Return a step without its number of tries, for the plan."""
    return replace(step, n_tries=0) if step.n_tries else step


def _is_description(step: SparqlTask | SparqlPing) -> bool:
    return isinstance(step, SparqlTask) and step.step == "describe"


def _name(record: Record) -> str:
    """Return the URL of the document of a response."""
    task = read_task(record)
    text = "" if task.payload is None else encode(task.payload)
    return f"{record.url}#answer-{_digest(' '.join((*task.graphs, text)))}"


def _mark(step: Payload | None) -> str:
    return _digest("" if step is None else encode(step))


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()
