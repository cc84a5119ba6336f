"""Harvest of an endpoint: from tasks to requests, from responses to further tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from rdfcrawl.core.errors import ConfigError, Fault, FaultLog
from rdfcrawl.core.source_tasks import SparqlStep, SparqlTask
from rdfcrawl.sources.sparql import closures, queries
from rdfcrawl.sources.sparql import exchange as ex
from rdfcrawl.sources.sparql.exchange import (
    SparqlFailure,
    SparqlRequest,
    SparqlResponse,
    judge,
)
from rdfcrawl.sources.sparql.failures import after_failure
from rdfcrawl.sources.sparql.outcome import OutcomeBuilder, SparqlOutcome
from rdfcrawl.sources.sparql.pages import group_part
from rdfcrawl.sources.sparql.parts import LISTED_ROWS
from rdfcrawl.sources.sparql.reading import ResponseReader
from rdfcrawl.sources.sparql.settings import HarvestSettings, HarvestTarget


class EndpointPlan(HarvestTarget):
    """The plan of one endpoint.

    Deterministic and stateless: all state is in the tasks, which may be done in any
    order and repeatedly; the result is the union.

    Raises:
        ConfigError: the mode `query` without a query.
    """

    def __init__(self, endpoint: str, settings: HarvestSettings | None = None) -> None:
        super().__init__(endpoint, settings)
        if self.settings.mode == "query" and self.settings.query is None:
            raise ConfigError("the mode `query` needs a query")

    def seeds(self) -> tuple[SparqlTask, ...]:
        """Return the first tasks."""
        step: SparqlStep = "query" if self.settings.mode == "query" else "describe"
        return (SparqlTask(step=step, limit=self.settings.page_rows),)

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
        )

    def read(self, task: SparqlTask, response: SparqlResponse) -> ResponseReader:
        """Return the reader of a response; iterate it before reading `outcome`."""
        failure = judge(response)
        if failure is not None and task.step != "describe":
            return ResponseReader(self, task, None, *self.failed(task, failure))
        return ResponseReader(self, task, response)

    def failed(
        self, task: SparqlTask, failure: SparqlFailure
    ) -> tuple[SparqlOutcome, list[Fault]]:
        """Return the outcome and the faults of a request without a usable response.

        Use `TIMEOUT` also if there was no response, `CLOSED` if the request is not
        allowed or not possible.
        """
        outcome, log = SparqlOutcome(failure=failure), FaultLog()
        after_failure(task, failure, OutcomeBuilder(outcome, log, self.settings))
        return outcome, log.all()

    def _accept(self, task: SparqlTask) -> str:
        if task.step == "query" and self.settings.is_construct:
            return ex.ACCEPT_TRIPLES
        return ex.ACCEPT_TABLE_XML if task.as_xml else ex.ACCEPT_TABLE

    def _query(self, task: SparqlTask) -> str:
        if task.step == "components":
            return self._components(task)
        if task.step == "about":
            return closures.about(task, self.settings.depth)
        if task.step == "graphs" and self.settings.mode == "datasets":
            return closures.dataset_graphs(_listing(task))
        if task.step == "query":
            return self._user_query(task)
        return _QUERIES[task.step](task)

    def _components(self, task: SparqlTask) -> str:
        if task.variant == 0:
            return closures.count_blank_triples(task.part)
        if task.variant == 1:
            return closures.blank_triples(task)
        n_roots = max(1, self.settings.n_roots >> task.fails)
        return closures.components(task, n_roots, self.settings.depth)

    def _user_query(self, task: SparqlTask) -> str:
        query = self.settings.query
        if query is None:
            raise ValueError(f"not a task of this harvest: {task.step}")
        return query.fill(limit=task.limit, offset=task.offset, after=task.after)


def _listing(task: SparqlTask) -> SparqlTask:
    return replace(task, limit=min(task.limit, LISTED_ROWS))


_QUERIES: Final[dict[str, Callable[[SparqlTask], str]]] = {
    "probe": lambda task: queries.probe(task.variant),
    "stable": lambda task: queries.some_blanks(task.offset),
    "graphs": lambda task: queries.graphs(_listing(task)),
    "default": lambda task: queries.default_graph(task.variant),
    "whole": lambda task: queries.graph_contents(task.graphs, task.naming),
    "count": lambda task: queries.count(task.part, task.naming),
    "group": lambda task: queries.count(group_part(task), task.naming),
    "split": lambda task: queries.split(_listing(task)),
    "pivot": lambda x: queries.pivot(x.part, x.naming, max(x.want, 2) // 2),
    "page": queries.page,
    "offset": queries.offset,
    "datasets": lambda task: closures.datasets(_listing(task)),
}
