"""A harvest of an endpoint: tasks to requests, answers to statements and tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rdfcrawl.catalogs.sparql import closures, queries
from rdfcrawl.catalogs.sparql import exchange as ex
from rdfcrawl.catalogs.sparql.exchange import (
    SparqlAnswer,
    SparqlFailure,
    SparqlRequest,
    judge,
)
from rdfcrawl.catalogs.sparql.failures import after_failure
from rdfcrawl.catalogs.sparql.outcome import OutcomeBuilder, SparqlOutcome
from rdfcrawl.catalogs.sparql.pages import group_part
from rdfcrawl.catalogs.sparql.parts import LISTED_ROWS
from rdfcrawl.catalogs.sparql.reading import AnswerReader
from rdfcrawl.catalogs.sparql.settings import HarvestTarget
from rdfcrawl.errors import ConfigError
from rdfcrawl.faultlog import FaultLog
from rdfcrawl.tasks.sparql import SparqlStep, SparqlTask

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfcrawl.catalogs.sparql.settings import HarvestSettings
    from rdfcrawl.errors import Fault


class EndpointPlan(HarvestTarget):
    """The plan of one endpoint.

    Deterministic and without state: what a task needs to know is in it. Tasks
    may be taken in any order and more than once; the result is the union.

    Args:
        endpoint: its URL.
        settings: what is wanted.

    Raises:
        ConfigError: the mode `query` without a query.
    """

    def __init__(self, endpoint: str, settings: HarvestSettings | None = None) -> None:
        super().__init__(endpoint, settings)
        if self.settings.mode == "query" and self.settings.query is None:
            raise ConfigError("the mode `query` needs a query")

    def seeds(self) -> tuple[SparqlTask, ...]:
        """Return the tasks to begin with."""
        asked = self.settings.page_rows
        step: SparqlStep = "query" if self.settings.mode == "query" else "describe"
        return (SparqlTask(step=step, asked=asked),)

    def request(self, task: SparqlTask) -> SparqlRequest:
        """Return the request of a task.

        Raises:
            SourceFault: it names what cannot stand in a query.
        """
        if task.step == "describe":
            accept = {"accept": ex.ACCEPT_DESCRIPTION}
            return SparqlRequest(method="GET", url=self.endpoint, headers=accept)
        return ex.query_request(
            self.endpoint,
            self._query(task),
            self._accept(task),
            max_get_chars=self.settings.max_get_chars,
        )

    def read(self, task: SparqlTask, answer: SparqlAnswer) -> AnswerReader:
        """Return the reading of an answer: iterate it, then see its `outcome`."""
        failure = judge(answer)
        if failure is not None and task.step != "describe":
            outcome, faults = self.failed(task, failure)
            return AnswerReader.nothing(self, task, outcome, faults)
        return AnswerReader(self, task, answer)

    def failed(
        self, task: SparqlTask, failure: SparqlFailure
    ) -> tuple[SparqlOutcome, list[Fault]]:
        """Return what follows a request that gave no answer to be read.

        Args:
            task: that was asked.
            failure: `TIMEOUT` also if the adapter waited in vain, `CLOSED` if it
                may not or cannot ask.
        """
        outcome, log = SparqlOutcome(failure=failure), FaultLog()
        after_failure(task, failure, OutcomeBuilder(outcome, log), self.settings)
        return outcome, log.all()

    def _accept(self, task: SparqlTask) -> str:
        query = self.settings.query
        if task.step == "query" and query is not None and query.form == "construct":
            return ex.ACCEPT_TRIPLES
        return ex.ACCEPT_TABLE_XML if task.as_xml else ex.ACCEPT_TABLE

    def _query(self, task: SparqlTask) -> str:
        if task.step == "knots":
            return self._knots(task)
        if task.step == "about":
            return closures.about(task, self.settings.depth)
        if task.step == "graphs" and self.settings.mode == "datasets":
            return closures.dataset_graphs(_listing(task))
        if task.step == "query":
            return self._user_query(task)
        return _QUERIES[task.step](task)

    def _knots(self, task: SparqlTask) -> str:
        if task.variant == 0:
            return closures.count_knotted(task.part)
        if task.variant == 1:
            return closures.all_knotted(task)
        n_roots = max(1, self.settings.n_roots >> task.fails)
        return closures.knots(task, n_roots, self.settings.depth)

    def _user_query(self, task: SparqlTask) -> str:
        query = self.settings.query
        if query is None:
            raise ValueError(f"no task of this harvest: {task.step}")
        return query.fill(limit=task.asked, offset=task.offset, after=task.after)


def _listing(task: SparqlTask) -> SparqlTask:
    return replace(task, asked=min(task.asked, LISTED_ROWS))


_QUERIES: Final[dict[str, Callable[[SparqlTask], str]]] = {
    "probe": lambda task: queries.probe(task.variant),
    "stable": lambda task: queries.some_blanks(task.offset),
    "graphs": lambda task: queries.graphs(_listing(task)),
    "default": lambda task: queries.default_graph(task.variant),
    "whole": lambda task: queries.whole(task.graphs, task.naming),
    "count": lambda task: queries.count(task.part, task.naming),
    "group": lambda task: queries.count(group_part(task), task.naming),
    "split": lambda task: queries.split(_listing(task)),
    "pivot": lambda x: queries.pivot(x.part, x.naming, max(x.want, 2) // 2),
    "page": queries.page,
    "offset": queries.offset,
    "datasets": lambda task: closures.datasets(_listing(task)),
}
