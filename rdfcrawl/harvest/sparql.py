"""SPARQL endpoints as a source: each page of rows, and each question, is a record.

What is asked next follows from the answer alone (`catalogs.sparql`), so that any worker
can go on, and a crash costs one request.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Literal

from rdfcrawl.bodies import body_of
from rdfcrawl.bytesource import ByteSource
from rdfcrawl.catalogs.sparql.exchange import (
    ACCEPT_TABLE,
    Answer,
    Failure,
    judge,
    query_request,
)
from rdfcrawl.catalogs.sparql.outcome import Outcome
from rdfcrawl.catalogs.sparql.plan import Harvest
from rdfcrawl.catalogs.sparql.settings import HarvestSettings
from rdfcrawl.codec import encode
from rdfcrawl.errors import Reason
from rdfcrawl.fetch.answer import Question
from rdfcrawl.harvest.memory import Memory
from rdfcrawl.harvest.tasks import has_moved, read_task
from rdfcrawl.rdf.graphs import graph_iri
from rdfcrawl.rdf.namespaces import RC, XSD
from rdfcrawl.rdf.terms import iri, literal, statement
from rdfcrawl.records import Document, FollowUp, Kind, Record, Urgency
from rdfcrawl.sitemaps.access import DEFAULT_GRAPH
from rdfcrawl.sitemaps.semantic import ALL_GRAPHS
from rdfcrawl.tasks.source import Payload, SourceTask
from rdfcrawl.tasks.sparql import SparqlPing, SparqlTask

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from rdfcrawl.catalogs.sparql.reading import Reading
    from rdfcrawl.harvest.context import HarvestContext

_MOST_TRIES: Final = 5  # of a task that the endpoint asks to put off
_NOT_BY_GET: Final = frozenset({405, 414})  # RFC 9110 15.5.6, 15.5.15
_FAILURES: Final = {
    Reason.TIMEOUT: Failure.TIMEOUT,
    Reason.TRUNCATED_BODY: Failure.TIMEOUT,
    Reason.HOST_BUSY: Failure.BUSY,
}
# By the second one Virtuoso says that it has stopped early.
_KEPT_HEADERS: Final = ("server", "x-sql-state")
_LOSSES: Final = frozenset({Reason.INCOMPLETE, Reason.TOO_LARGE})
_find_hosts = re.compile(rb"^<([a-z]+://[^/:>]*)", re.MULTILINE).findall
_host = re.compile(rb"[a-z]+://[^/:>]*").match
_MAX_HOSTS: Final = 10_000

# Tables of an endpoint, or of what is wanted of it (`_key_of`).
_ANSWERS: Final = "answers"  # document -> run that wrote it; `gone RUN`: it is deleted
_OPEN: Final = "open"  # in a run: tasks that were queued
_DONE: Final = "done"  # in a run: tasks that were done
_STATE: Final = "sparql"  # in a run: `by_post`, `is_dead`, `is_lossy`, `pings`
_FAILED: Final = "failed"  # in a run: tasks that failed since one was borne
_SUSPICIOUS: Final = 20  # tasks in a row that fail


class SparqlHarvester:
    """See `protocol.Harvester`."""

    def __init__(self, context: HarvestContext) -> None:
        self._context = context
        self._store = context.state_store
        self._memory = Memory(context.state_store, context.run)
        self._hosts: dict[str, set[bytes]] = {}  # endpoint -> hosts of its subjects

    def root(self, url: str, *, is_named: bool = True) -> Record:
        """Return the record that the harvest of an endpoint begins with."""
        return Record(url, Kind.SPARQL, task=SourceTask(self._context.run, is_named))

    def ignores_robots(self, _record: Record) -> bool:
        """Return False: robots.txt holds for endpoints."""
        return False

    async def question(self, record: Record) -> Question | None:
        """Return the request of a task."""
        harvest = self._harvest(record)
        step = _step_of(harvest, record)
        key, state = self._key_of(record), self._memory.table(_STATE)
        if await self._store.get(key, state, "by_post"):
            harvest = Harvest(record.url, replace(harvest.settings, max_get_chars=0))
        if isinstance(step, SparqlPing):
            length = harvest.settings.max_get_chars
            request = query_request(
                record.url, "ASK { }", ACCEPT_TABLE, max_get_chars=length
            )
        else:
            request = harvest.request(_untried(step))
        headers = dict(request.headers)
        return Question(
            url=request.url,
            accept=headers.pop("accept", ""),
            headers=tuple(headers.items()),
            data=request.body,
            kept_headers=_KEPT_HEADERS,
        )

    async def harvest(self, document: Document) -> AsyncIterator[Document]:
        """Yield the answer, with the statements it holds.

        After the last answer come tombstones for those of earlier runs that no answer
        of this one has replaced.
        """
        document.is_read = True
        if has_moved(document):
            yield document
            return
        harvest = self._harvest(document.record)
        step = _step_of(harvest, document.record)
        has_body = body_of(document.response) is not None
        if isinstance(step, SparqlPing):
            await self._pinged(document, step)
        elif document.status in _NOT_BY_GET and _is_query_by_get(document):
            key, state = self._key_of(document.record), self._memory.table(_STATE)
            await self._store.put(key, state, {"by_post": "1"})
            await self._take(document, Outcome(again=True), step)
        elif document.status and (has_body or document.response.error_body):
            reading = harvest.read(_untried(step), _answer(document))
            document.faults = [
                x for x in document.faults if x.reason is Reason.TRUNCATED_BODY
            ]
            document.url = _name(document.record)
            document.is_followed = False
            document.chunks = self._read(document, reading, step)
        else:
            outcome, faults = harvest.failed(_untried(step), _failure(document))
            document.faults += faults
            await self._take(document, outcome, step)
        yield document
        async for each in self._replaced(document):
            yield each

    def _harvest(self, record: Record) -> Harvest:
        """Return the plan of an endpoint; what the operator wants of the one he named.

        The URL of the endpoint names the document that describes it, and not its
        default graph.
        """
        rows = self._context.options.harvest.sparql_rows
        default_graph = f"{record.url}#default"
        task = read_task(record)
        if not task.is_named:
            settings = HarvestSettings(
                default_graph=default_graph, trust="same-origin", page_rows=rows
            )
            return Harvest(record.url, _limited(settings, task.graphs))
        given = self._context.arguments
        named = tuple(sorted(given.graphs - {"default"}))
        takes_default = "default" in given.graphs or not given.graphs
        skipped = tuple(sorted(given.skip_graphs - {"default"}))
        if given.graphs == {"default"}:
            skipped = ("*",)
        settings = HarvestSettings(
            mode="query" if given.query else given.take,
            query=given.query,
            include=named,
            exclude=skipped,
            default_graph=default_graph,
            take_default_graph=_default(
                is_named="default" in given.graphs,
                is_wanted=takes_default and "default" not in given.skip_graphs,
            ),
            page_rows=rows,
        )
        return Harvest(record.url, settings)

    # -- answers ---------------------------------------------------------------------

    async def _read(
        self, document: Document, reading: Reading, step: SparqlTask
    ) -> AsyncIterator[bytes]:
        """Yield the statements; then see what follows from them."""
        chunks = iter(reading)
        while chunk := await asyncio.to_thread(next, chunks, b""):
            document.n_quads += chunk.count(b"\n")
            await self._follow_links(document, chunk)
            yield chunk
        n_quads = document.n_quads
        if checks := "".join(_checks(document, reading.outcome)).encode():
            document.n_quads += checks.count(b"\n")
            yield checks
        document.faults += reading.faults
        if n_quads:
            key, state = self._key_of(document.record), self._memory.table(_STATE)
            await self._store.put(key, state, {"has_data": "1"})
        await self._take(document, reading.outcome, step)

    async def _take(
        self, document: Document, outcome: Outcome, step: SparqlTask
    ) -> None:
        """Make the tasks that follow children of the answer."""
        record = document.record
        key, state = self._key_of(record), self._memory.table(_STATE)
        if read_task(record).payload is None:
            await self._memory.begin(key, (_OPEN, _DONE, _STATE, _FAILED))
        steps: list[SparqlTask | SparqlPing] = []
        if outcome.again and step.n_tries < _MOST_TRIES:
            steps.append(replace(step, n_tries=step.n_tries + 1))
        elif outcome.again or (
            outcome.failure and await self._store.get(key, state, "is_dead")
        ):
            harvest = self._harvest(record)
            outcome, faults = harvest.failed(_untried(step), Failure.CLOSED)
            document.faults += faults
        steps += outcome.tasks
        steps += await self._doubts(record, outcome)
        if any(x.reason in _LOSSES for x in document.faults):
            await self._store.put(key, state, {"is_lossy": "1"})
        if document.n_quads:
            run = str(self._context.run)
            await self._store.put(key, _ANSWERS, {document.url: run})
        await self._queue(document, key, steps)
        await self._conclude(document, is_closed=outcome.failure == Failure.CLOSED)

    async def _conclude(self, document: Document, *, is_closed: bool) -> None:
        """Have other ways taken, if an endpoint did not give what it should."""
        record = document.record
        lack = "closed" if is_closed else await self._lack(record)
        if lack:
            found = await self._context.datasets.instead_of_endpoint(
                document, read_task(record).graphs, lack
            )
            document.children += found.follow_ups
            document.faults += found.faults

    async def _lack(self, record: Record) -> str:
        """Return what was not had of an endpoint, when all of its tasks are done.

        What the operator wants of an endpoint may be any part of it.
        """
        wanted = self._harvest(record).settings
        is_part = wanted.mode != "all" or wanted.include or wanted.exclude
        if read_task(record).is_named and is_part:
            return ""
        key = self._key_of(record)
        n_done = await self._store.size(key, self._memory.table(_DONE))  # before `open`
        if n_done != await self._store.size(key, self._memory.table(_OPEN)):
            return ""
        state = self._memory.table(_STATE)
        keys = ("is_lossy", "has_data")
        is_lossy, has_data = await self._store.get_many(key, state, keys)
        if has_data is None:
            return "no statements"
        return "cut" if is_lossy else ""

    async def _queue(
        self, document: Document, key: str, steps: Sequence[SparqlTask | SparqlPing]
    ) -> None:
        """Queue tasks, and take note that the one of the document is done."""
        record = document.record
        for step in steps:
            task = replace(read_task(record), payload=step)
            child = Record(record.url, Kind.SPARQL, record.depth, record.url, task=task)
            urgency = Urgency.ORDINARY
            if isinstance(step, SparqlPing):
                urgency = Urgency.SOON
            document.children.append(
                FollowUp(child, is_part_of_source=True, urgency=urgency)
            )
        own = _mark(read_task(record).payload)
        opened = dict.fromkeys([own, *map(_mark, steps)], "")
        await self._store.put(key, self._memory.table(_OPEN), opened)
        await self._store.put(key, self._memory.table(_DONE), {own: ""})

    # -- an endpoint that is not there any more ----------------------------------------

    async def _doubts(self, record: Record, outcome: Outcome) -> list[SparqlPing]:
        """Return a task that asks whether an endpoint that bears nothing is there.

        What is too much for it becomes smaller tasks: of one that is not there any
        more these would never come to an end.
        """
        key = self._key_of(record)
        failed, state = self._memory.table(_FAILED), self._memory.table(_STATE)
        if outcome.again:
            return []
        if not outcome.failure:
            await self._store.clear(key, failed)
            return []
        own = _mark(read_task(record).payload)
        await self._store.put(key, failed, {own: ""})
        if await self._store.size(key, failed) < _SUSPICIOUS:
            return []
        return [SparqlPing(int(await self._store.get(key, state, "pings") or 0))]

    async def _pinged(self, document: Document, ping: SparqlPing) -> None:
        key, state = self._key_of(document.record), self._memory.table(_STATE)
        answer = _answer(document)
        is_there = (
            body_of(document.response) is not None
            and judge(answer) is None
            and b"<html" not in answer.body.head()[:1_000].lower()
        )
        if is_there:
            await self._store.put(key, state, {"pings": str(ping.number + 1)})
            await self._store.clear(key, self._memory.table(_FAILED))
        else:
            await self._store.put(key, state, {"is_dead": "1"})
        await self._queue(document, key, [])
        await self._conclude(document, is_closed=False)

    # -- what earlier runs have left ---------------------------------------------------

    async def _replaced(self, document: Document) -> AsyncIterator[Document]:
        """Yield tombstones when all is done and nothing is missing.

        Other answers have other names, as what is asked for depends on what there is.
        """
        key, run = self._key_of(document.record), str(self._context.run)
        n_done = await self._store.size(key, self._memory.table(_DONE))  # before `open`
        if not self._context.run or n_done != await self._store.size(
            key, self._memory.table(_OPEN)
        ):
            return
        state = await self._store.get(key, self._memory.table(_STATE), "is_lossy")
        if state is not None:
            return
        forgotten = []
        async for url, when in self._store.entries(key, _ANSWERS):
            if when in (run, f"gone {run}"):
                is_gone = when != run
            else:
                is_gone = not when.startswith("gone")
                forgotten += [] if is_gone else [url]
            if is_gone:
                await self._store.put(key, _ANSWERS, {url: f"gone {run}"})
                yield document.part(url, is_deleted=True)
        await self._store.drop(key, _ANSWERS, forgotten)

    def _key_of(self, record: Record) -> str:
        """Return the key of an endpoint in the state store: with what is wanted."""
        settings = self._harvest(record).settings
        wanted = (settings.mode, settings.query, settings.include, settings.exclude)
        return f"{record.url} {_digest(repr((*wanted, settings.take_default_graph)))}"

    async def _follow_links(self, document: Document, chunk: bytes) -> None:
        """Queue links to other hosts: what is behind its own, the endpoint has told.

        The hosts of its subjects are those that an endpoint has statements about. They
        are queued at once: an answer may have millions.
        """
        hosts = self._hosts.setdefault(document.record.url, set())
        if len(hosts) < _MAX_HOSTS:
            hosts.update(_find_hosts(chunk))
        links = {
            link
            for link in self._context.arguments.follow.scan(chunk)
            if (host := _host(link)) is not None and host[0] not in hosts
        }
        if links:
            session = self._context.session
            document.n_links += await session.add_links(document, links)
            await session.worker.room()


def _step_of(harvest: Harvest, record: Record) -> SparqlTask | SparqlPing:
    """Return the step that a record is, the first one if it does not say."""
    step = read_task(record).payload
    return step if isinstance(step, SparqlTask | SparqlPing) else harvest.seeds()[0]


def _untried(step: SparqlTask) -> SparqlTask:
    """Return a step as the plan knows it: what follows was not put off."""
    return replace(step, n_tries=0) if step.n_tries else step


def _is_query_by_get(document: Document) -> bool:
    """Tell whether what was asked is a query within a URL."""
    return document.response.requested[0] != document.record.url


def _answer(document: Document) -> Answer:
    response = document.response
    body = body_of(response)
    return Answer(
        status=response.status,
        headers={"content-type": response.media_type, **dict(response.headers)},
        body=ByteSource.of(response.error_body if body is None else body),
    )


def _failure(document: Document) -> Failure:
    """Return what it means for the plan that there was no answer."""
    for fault in document.faults:
        if fault.reason in _FAILURES:
            return _FAILURES[fault.reason]
    if document.status >= 500:
        return Failure.TIMEOUT
    return Failure.REFUSED if document.status == 400 else Failure.CLOSED


def _default(*, is_named: bool, is_wanted: bool) -> Literal["auto", "always", "never"]:
    if is_named:
        return "always"
    return "auto" if is_wanted else "never"


def _limited(settings: HarvestSettings, graphs: tuple[str, ...]) -> HarvestSettings:
    """Return the settings for some graphs of an endpoint; see `Access.graphs`."""
    if not graphs or ALL_GRAPHS in graphs:
        return settings
    named = tuple(name for name in graphs if name != DEFAULT_GRAPH)
    return replace(
        settings,
        include=named,
        exclude=() if named else (ALL_GRAPHS,),
        take_default_graph="always" if DEFAULT_GRAPH in graphs else "never",
    )


def _name(record: Record) -> str:
    """Return the URL of the document that the answer to a task is."""
    task = read_task(record)
    text = "" if task.payload is None else encode(task.payload, Payload)
    return f"{record.url}#answer-{_digest(' '.join((*task.graphs, text)))}"


def _mark(step: Payload | None) -> str:
    """Return what stands for a step in tables."""
    return _digest("" if step is None else encode(step, Payload))


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _checks(document: Document, outcome: Outcome) -> Iterator[str]:
    """Yield how many rows of a partition were read, and how many there should be."""
    graph = iri(graph_iri(document.url))
    for number, check in enumerate(outcome.checks):
        node = iri(f"{graph_iri(document.url)}.{number}")
        for name, value in (("wanted", check.want), ("read", check.got)):
            text = literal(str(value), datatype=f"{XSD}integer")
            yield statement(node, iri(f"{RC}{name}"), text, graph)
        endpoint = iri(graph_iri(document.record.url))
        yield statement(node, iri(f"{RC}partitionOf"), endpoint, graph)
