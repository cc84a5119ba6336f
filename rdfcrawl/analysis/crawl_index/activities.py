"""Activities in the provenance of a crawl, as the index stores them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.urldb.activities import (
    iter_described,
    number_of,
    text_of,
    time_of,
)
from rdfcrawl.core.namespaces import HTTP, PROV, RC, SQUIRREL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_CRAWLED: Final = f"{SQUIRREL}crawled"
_STATUS: Final = f"{SQUIRREL}status"
_N_STATEMENTS: Final = f"{SQUIRREL}approxNumberOfTriples"
_STARTED: Final = f"{PROV}startedAtTime"
_ENDED: Final = f"{PROV}endedAtTime"
_HTTP_STATUS: Final = f"{HTTP}statusCodeValue"
_N_BYTES: Final = f"{RC}bytes"
_REASON: Final = f"{RC}reason"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedActivity:
    """One crawl of one URI.

    Attributes:
        uri: as given by the frontier.
        started_ms: Unix time; 0 if no request was sent.
        ended_ms: Unix time; 0 if no request was sent.
        status: `sq:status`.
        http_status: of the last response; 0 without one.
        n_statements: number of stored statements.
        n_bytes: of the decoded body; 0 if unknown.
        reason: of the first fault; empty if there is none.
        facts: all terms of the activity and its response, by predicate, as N-Quads.
    """

    uri: str
    started_ms: int
    ended_ms: int
    status: str
    http_status: int
    n_statements: int
    n_bytes: int
    reason: str
    facts: Mapping[str, str]


def iter_indexed(lines: bytes) -> Iterator[IndexedActivity]:
    """Yield the activities in complete lines of provenance."""
    for facts, _ in iter_described(lines.decode("utf-8", "replace")):
        if _CRAWLED in facts:
            yield _indexed(facts)


def _indexed(facts: dict[str, str]) -> IndexedActivity:
    def text(name: str) -> str:
        return text_of(facts[name]) if name in facts else ""

    return IndexedActivity(
        uri=text(_CRAWLED),
        started_ms=time_of(facts.get(_STARTED, "")),
        ended_ms=time_of(facts.get(_ENDED, "")),
        status=text(_STATUS),
        http_status=number_of(facts.get(_HTTP_STATUS), 0),
        n_statements=number_of(facts.get(_N_STATEMENTS), 0),
        n_bytes=number_of(facts.get(_N_BYTES), 0),
        reason=text(_REASON),
        facts=facts,
    )
