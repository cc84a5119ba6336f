"""Harvest of an endpoint: from tasks to requests, from responses to further tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import blake2b
from itertools import chain
from typing import Final

from rdfcrawl.core.codec import encode
from rdfcrawl.core.errors import ConfigError, Fault, Reason, SourceFault
from rdfcrawl.core.formats import HTML
from rdfcrawl.core.source_tasks import SparqlStep, SparqlTask
from rdfcrawl.rdf import sniffing
from rdfcrawl.rdf.checking import iter_checked
from rdfcrawl.rdf.environment import ParseLimits
from rdfcrawl.rdf.graphs import service_graph
from rdfcrawl.rdf.output import QuadLines, quad_chunks, without_labels
from rdfcrawl.rdf.parse import parse
from rdfcrawl.rdf.queries import MAX_KEY_CHARS
from rdfcrawl.sources.sparql import discovery, parts, queries
from rdfcrawl.sources.sparql import exchange as ex
from rdfcrawl.sources.sparql.adapting import adapted
from rdfcrawl.sources.sparql.components import (
    BlankNodeComponentReader,
    component_lines,
    depth_of,
    roots_of,
)
from rdfcrawl.sources.sparql.exchange import (
    SparqlFailure,
    SparqlRequest,
    SparqlResponse,
    judge,
)
from rdfcrawl.sources.sparql.failures import after_failure
from rdfcrawl.sources.sparql.lessons import EndpointLessons
from rdfcrawl.sources.sparql.outcome import SparqlOutcome
from rdfcrawl.sources.sparql.page_ends import PageEnd
from rdfcrawl.sources.sparql.parts import LISTED_ROWS, group_part
from rdfcrawl.sources.sparql.results import iter_rows, table_kind
from rdfcrawl.sources.sparql.services import read_description
from rdfcrawl.sources.sparql.settings import HarvestSettings
from rdfcrawl.sources.sparql.writing import GraphTerms, Row, RowWriter


class ResponseReader:
    """The statements of one response, in chunks of N-Quads; iterate once.

    Blank nodes have their final labels, equal in all responses if the endpoint's labels
    are. They must not be relabelled by document.

    Args:
        harvest: of the endpoint.
        task: of the request.
        response: None if there is nothing to read.
        outcome: of the request so far.

    Attributes:
        outcome: complete after the chunks were read.
    """

    def __init__(
        self,
        harvest: EndpointPlan,
        task: SparqlTask,
        response: SparqlResponse | None,
        outcome: SparqlOutcome | None = None,
    ) -> None:
        self._harvest, self._task, self._response = harvest, task, response
        self.outcome = outcome or harvest.outcome()
        self._log, self._faults = self.outcome.log, list[Fault]()

    @property
    def faults(self) -> list[Fault]:
        """All faults so far."""
        return [*self._faults, *self._log.all()]

    def __iter__(self) -> Iterator[QuadLines]:
        """Read the response; faults are collected, not raised."""
        if self._response is None:
            return
        if self._task.step == "describe":
            yield from self._describe(self._response)
        elif self._task.step == "query" and self._harvest.settings.is_construct:
            yield from self._parse(self._response)
        else:
            for block in iter_checked(self._iter_lines(self._response), self._log):
                yield from quad_chunks(block)

    # -- tables --------------------------------------------------------------------

    def _iter_lines(self, response: SparqlResponse) -> Iterator[str]:
        found = iter_rows(
            response.body,
            media_type=response.media_type,
            log=self._log,
            limits=self._harvest.settings.limits,
        )
        task, out = self._task, self.outcome
        if task.step not in _STATEMENTS:
            try:
                found = _begun(found, is_complete=task.step == "components")
            except SourceFault as error:
                self._log.note(error.fault.reason, error.fault.detail)
                self._without_table()
                return
        if task.step in _STEPS:
            _STEPS[task.step](task, found, out)
        elif task.step == "components":
            reader = BlankNodeComponentReader(self._harvest.endpoint, task, out)
            yield from reader.iter_lines(parts.iter_logged(found, out))
        else:
            yield from self._iter_statements(found)

    def _without_table(self) -> None:
        """Continue after a response that should have been a table.

        An error page with status 200 does not show that a graph is empty. After the
        first request, the task is retried: all other requests would fail, too.
        """
        if self._task.step == "probe":
            self.outcome.retries = True
            return
        is_stable = self._task.step == "stable"
        failure = SparqlFailure.REFUSED if is_stable else SparqlFailure.TIMEOUT
        self.outcome.failure = failure
        after_failure(self._task, failure, self.outcome)

    def _iter_statements(self, found: Iterator[Row]) -> Iterator[str]:
        harvest, task = self._harvest, self._task
        graphs = GraphTerms(harvest.endpoint, harvest.settings, self._log)
        writer = RowWriter(harvest.endpoint, task, graphs)
        end, last = PageEnd(has_names=writer.has_names), ""
        is_broken = False
        is_held = _has_labels_of_response(task)
        held: list[Row] = []
        try:
            for row in found:
                key = row.get("k")
                n_local = writer.n_local
                line = writer.line(row)
                graph = row.get("g")
                end.add(key.text if key else "", line, graph.text if graph else "")
                if task.step == "query":
                    key = key or row.get("s")
                    last = key.text if key else last
                if line and is_held and writer.n_local > n_local:
                    held.append(row)
                elif line:
                    yield line
                else:
                    self._log.note(Reason.BAD_TERM, "a row that is not a statement")
        except SourceFault as error:
            is_broken = True
            self._log.note(error.fault.reason, error.fault.detail)
            if error.fault.reason is Reason.SYNTAX and task.as_xml:
                # Characters forbidden in XML; JSON has them.
                self._task = replace(task, as_xml=False)
        if writer.n_local and is_held and task.step != "whole":
            parts.read_blank_nodes(task, self.outcome)
            return
        if writer.n_local and task.step in ("page", "offset"):
            detail = "blank nodes with labels valid in one response only"
            self._log.note(Reason.INCOMPLETE, detail, writer.n_local)
        self._finish(end, last, is_broken=is_broken)
        if self.outcome.checks:
            yield from component_lines(held, task.part.graph, graphs)

    def _finish(self, end: PageEnd, last: str, *, is_broken: bool) -> None:
        task, out, n_rows = self._task, self.outcome, end.n_rows
        out.n_rows, out.n_graphs = n_rows, len(end.graphs)
        out.is_broken = is_broken
        match task.step:
            case "whole":
                discovery.after_whole(task, end, out, is_broken=is_broken)
            case "page":
                parts.after_page(task, end, out, is_broken=is_broken)
            case "offset":
                parts.after_offset(task, end, out, is_broken=is_broken)
            case "about":
                discovery.after_about(task, end, out, is_broken=is_broken)
            case _:
                is_keyed = last and out.settings.paging == "after"
                mark = last if is_keyed else end.mark
                self._after_query(n_rows, mark, is_broken=is_broken)

    # -- graphs --------------------------------------------------------------------

    def _parse(self, response: SparqlResponse) -> Iterator[QuadLines]:
        """Yield the graph of a CONSTRUCT, with blank nodes of its own."""
        settings = self._harvest.settings
        reading = parse(
            response.body,
            url=f"{self._harvest.endpoint}#{encode(self._task)}",
            base=self._harvest.endpoint,
            graph=settings.default_graph or None,
            media_type=response.media_type,
            trust=settings.trust,
            limits=ParseLimits(doc_bytes=settings.limits.body_bytes),
        )
        digest = blake2b(digest_size=6)
        for chunk in reading:
            digest.update(without_labels(chunk))
            yield chunk
        self._faults += reading.faults
        mark = digest.hexdigest()
        self._after_query(reading.n_quads, mark, is_broken=reading.is_partial)

    def _after_query(self, n_rows: int, last: str, *, is_broken: bool) -> None:
        task, out = self._task, self.outcome
        total = task.got + n_rows
        if is_broken and not n_rows:
            out.check(task, total, is_sure=False)
        elif out.settings.paging == "once":
            is_sure = not is_broken and not parts.looks_cut(n_rows)
            out.check(task, total, is_sure=is_sure)
        elif not n_rows:
            out.check(task, total)
        elif last == task.after or len(last) > MAX_KEY_CHARS:
            self._log.note(Reason.PAGING_LOOP, f"rows after {last[:100]!r}")
            out.check(task, total, is_sure=False)
        else:
            offset = task.offset + n_rows
            out.follow(task, offset=offset, after=last, got=total, fails=0)

    # -- description ---------------------------------------------------------------

    def _describe(self, response: SparqlResponse) -> Iterator[QuadLines]:
        settings, endpoint = self._harvest.settings, self._harvest.endpoint
        chunks: list[QuadLines] = []
        if judge(response) is None and "html" not in response.media_type:
            limits = ParseLimits(doc_bytes=settings.limits.description_bytes)
            reading = parse(
                response.body,
                url=endpoint,
                graph=service_graph(endpoint),
                media_type=response.media_type,
                limits=limits,
            )
            chunks = list(reading)
            self._faults += reading.faults
        description = read_description(chunks, self._log, endpoint=endpoint)
        if not description.is_service:
            chunks = []  # of another document
        headers = response.headers
        discovery.after_description(self._task, description, headers, self.outcome)
        yield from chunks


def _begun(rows: Iterator[Row], *, is_complete: bool) -> Iterator[Row]:
    """Return rows after reading the first, or all.

    Raises:
        SourceFault: not a table, or truncated before.
    """
    if is_complete:
        return iter(list(rows))
    first = next(rows, None)
    return iter(()) if first is None else chain((first,), rows)


# Steps that return statements, and check their completeness.
_STATEMENTS: Final = frozenset({"whole", "page", "offset", "about", "query"})
_STEPS: Final = {
    "probe": discovery.after_probe,
    "stable": discovery.after_stable,
    "graphs": discovery.after_graphs,
    "default": discovery.after_default,
    "count": parts.after_count,
    "group": parts.after_group,
    "split": parts.after_split,
    "hashes": parts.after_hash_table,
    "datasets": discovery.after_datasets,
}


class EndpointPlan:
    """The plan of one endpoint.

    Deterministic: all state is in the tasks, which may be done in any order and
    repeatedly; the result is the union. Lessons only make it shorter.

    Attributes:
        lessons: of all requests so far.

    Raises:
        ConfigError: the mode `query` without a query.
    """

    def __init__(
        self,
        endpoint: str,
        settings: HarvestSettings | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.lessons = EndpointLessons()
        self.settings = settings or HarvestSettings()
        if self.settings.mode == "query" and self.settings.query is None:
            raise ConfigError("the mode `query` needs a query")

    def seeds(self) -> tuple[SparqlTask, ...]:
        """Return the first tasks."""
        step: SparqlStep = "query" if self.settings.mode == "query" else "describe"
        return (SparqlTask(step=step, limit=self.settings.page_rows),)

    def adapted(self, task: SparqlTask) -> SparqlTask:
        """Return a task, or the one to do in its place, after the lessons so far."""
        return adapted(task, self.outcome())

    def outcome(self, failure: str = "") -> SparqlOutcome:
        """Return an outcome without tasks."""
        return SparqlOutcome(self.settings, failure=failure, lessons=self.lessons)

    def request(self, task: SparqlTask) -> SparqlRequest:
        """Return the request of a task.

        Raises:
            SourceFault: a name cannot be written in a query.
        """
        if task.step == "describe":
            accept = {"accept": ex.ACCEPT_DESCRIPTION}
            return SparqlRequest(url=self.endpoint, headers=accept)
        return ex.query_request(
            self.endpoint,
            self._query(task),
            self._accept(task),
            max_get_chars=self.settings.max_get_chars,
            by_parameter=self.settings.by_parameter,
        )

    def is_result(self, task: SparqlTask, response: SparqlResponse) -> bool:
        """Return whether a response may be a result, not a page for people."""
        if judge(response) is not None:
            return False
        head = response.body.head()
        if task.step == "query" and self.settings.is_construct:
            return sniffing.decide(response.media_type, "", head).format is not HTML
        return bool(table_kind(head, response.media_type))

    def read(self, task: SparqlTask, response: SparqlResponse) -> ResponseReader:
        """Return the reader of a response; iterate it before reading `outcome`."""
        failure = judge(response)
        if failure is not None and task.step != "describe":
            return ResponseReader(self, task, None, self.failed(task, failure))
        return ResponseReader(self, task, response)

    def failed(self, task: SparqlTask, failure: SparqlFailure) -> SparqlOutcome:
        """Return the outcome of a request without a usable response.

        Use `TIMEOUT` also if there was no response, `CLOSED` if the request is not
        allowed or not possible.
        """
        outcome = self.outcome(failure)
        after_failure(task, failure, outcome)
        return outcome

    def _accept(self, task: SparqlTask) -> str:
        if task.step == "query" and self.settings.is_construct:
            return ex.ACCEPT_TRIPLES
        return ex.ACCEPT_TABLE_XML if task.as_xml else ex.ACCEPT_TABLE

    def _query(self, task: SparqlTask) -> str:
        if task.step == "components":
            return self._components(task)
        if task.step == "about":
            return queries.about(task, self.settings.depth)
        if task.step == "graphs" and self.settings.mode == "datasets":
            return queries.dataset_graphs(_listing(task))
        if task.step == "query":
            return self._user_query(task)
        return _QUERIES[task.step](task)

    def _components(self, task: SparqlTask) -> str:
        if task.variant == 0:
            return queries.count_blank_triples(task.part)
        if task.variant == 1:
            return queries.blank_triples(task)
        n_roots = roots_of(task, self.settings)
        return queries.components(task, n_roots, depth_of(task, self.settings))

    def _user_query(self, task: SparqlTask) -> str:
        query = self.settings.query
        if query is None:
            raise ValueError(f"not a task of this harvest: {task.step}")
        return query.fill(limit=task.limit, offset=task.offset, after=task.after)


def _has_labels_of_response(task: SparqlTask) -> bool:
    """Return whether labels are of one response: an incomplete one is read again."""
    if task.step == "whole":
        return task.naming in ("local", "")
    return task.naming == "" and task.step in ("page", "offset")


def _listing(task: SparqlTask) -> SparqlTask:
    return replace(task, limit=min(task.limit, task.size.best or LISTED_ROWS))


_QUERIES: Final[dict[str, Callable[[SparqlTask], str]]] = {
    "probe": lambda task: queries.probe(task.variant),
    "stable": lambda task: queries.some_blanks(task.offset),
    "graphs": lambda task: queries.graphs(_listing(task)),
    "default": lambda task: queries.default_graph(task.variant),
    "whole": queries.graph_contents,
    "count": lambda task: queries.count(task.part, task.naming),
    "group": lambda task: queries.count(group_part(task), task.naming),
    "split": lambda task: queries.split(_listing(task)),
    "hashes": queries.hashes,
    "page": queries.page,
    "offset": queries.offset,
    "datasets": lambda task: queries.datasets(_listing(task)),
}
