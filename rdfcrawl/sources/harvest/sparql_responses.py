"""Responses of endpoints in documents, and their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rdfcrawl.core.content import ByteSource, body_of
from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.core.records import Document
from rdfcrawl.core.source_tasks import SparqlTask
from rdfcrawl.sources.sparql.exchange import SparqlFailure, SparqlResponse

_FAILURES: Final = {
    Reason.TIMEOUT: SparqlFailure.TIMEOUT,
    Reason.TRUNCATED_BODY: SparqlFailure.TIMEOUT,
    Reason.HOST_BUSY: SparqlFailure.BUSY,
    Reason.BAD_HTTP: SparqlFailure.BROKEN,
}
_OF_GRAPHS: Final = frozenset(
    ("whole", "count", "group", "split", "hashes", "page", "offset", "components")
)
_ELSEWHERE: Final = "*"  # in place of a graph, for queries about none or many


@dataclass(slots=True)
class SparqlResult:
    """The result of a step: URL, faults and number of statements of its document."""

    step: SparqlTask
    url: str
    faults: list[Fault]
    n_quads: int = 0

    @property
    def n_data(self) -> int:
        """Number of statements of the endpoint, but its own description."""
        return 0 if self.step.step == "describe" else self.n_quads

    @property
    def graphs(self) -> tuple[str, ...]:
        """Graphs from which the step reads; the empty name is the default graph."""
        if self.step.step in _OF_GRAPHS:
            return self.step.graphs or (self.step.part.graph,)
        return (_ELSEWHERE,)


def has_content(document: Document) -> bool:
    """Return whether a response has a body: results, or an error."""
    response = document.response
    has_body = body_of(response) is not None or bool(response.error_body)
    return bool(response.status) and has_body


def response_of(document: Document) -> SparqlResponse:
    """Return the response in a document, as the plan reads it."""
    response = document.response
    body = body_of(response)
    return SparqlResponse(
        status=response.status,
        headers={"content-type": response.media_type, **dict(response.headers)},
        body=ByteSource.of(response.error_body if body is None else body),
    )


def failure_of(document: Document) -> SparqlFailure:
    """Return the failure of a request without a body in its response."""
    for fault in document.faults:
        if fault.reason in _FAILURES:
            return _FAILURES[fault.reason]
    if document.status >= 500:
        return SparqlFailure.TIMEOUT
    return SparqlFailure.REFUSED if document.status == 400 else SparqlFailure.CLOSED


def without_query(requested: Sequence[str]) -> str:
    """Return the last URL of a redirect on which the query was lost, else nothing."""
    last = requested[-1].partition("#")[0]
    is_kept = "query=" in requested[0] and "query=" in last
    return "" if last == requested[0] or is_kept else last
