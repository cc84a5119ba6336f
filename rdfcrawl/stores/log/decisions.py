"""Read the log of decisions: why URIs were found but not queued.

A line has two IRIs in angle brackets, the URI and the reason. The mark of the document
that led to the URI precedes it, with the time of the decision.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from rdfcrawl.stores.nquads import OPERATOR

_LINE: Final = re.compile(
    rb"#\tdocument <(?P<parent>[^>]*)> (?P<ms>[0-9]+)"
    rb"|<(?P<uri>[^>]*)> <urn:rdfcrawl:decision:(?P<why>[a-z_]+)>"
)


@dataclass(frozen=True, slots=True)
class LoggedDecision:
    """A decision not to queue a URI.

    Attributes:
        uri: the URI that was found.
        reason: a value of `errors.Decision`; a later version may have others.
        parent: the document that led to it; empty if the operator named it.
        ms: time of the decision, Unix time.
    """

    uri: str
    reason: str
    parent: str
    ms: int


def read_decisions(
    content: bytes, is_wanted: Callable[[bytes], bool] = bool
) -> Iterator[LoggedDecision]:
    """Yield the decisions in complete lines of a log.

    Args:
        content: the lines.
        is_wanted: takes a URI, returns whether to yield its decisions; by default,
            all are yielded.
    """
    mark: re.Match[bytes] | None = None
    for line in content.split(b"\n"):
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        parent, _, uri, why = match.groups()
        if parent is not None:
            mark = match
        elif is_wanted(uri):
            yield _decision(uri, why, mark)


def _decision(uri: bytes, why: bytes, mark: re.Match[bytes] | None) -> LoggedDecision:
    parent = _decoded(mark["parent"]) if mark else ""
    return LoggedDecision(
        uri=_decoded(uri),
        reason=why.decode(),
        parent="" if parent == OPERATOR else parent,
        ms=int(mark["ms"]) if mark else 0,
    )


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "replace")
