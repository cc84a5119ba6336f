"""Read the log of decisions: why URIs were found and not queued.

A line has two IRIs in angle brackets, the URI and the reason, behind the mark of the
document that led to it, with the time of the decision.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rdfcrawl.stores.log.searching import iter_members_with

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rdfcrawl.stores.log.segments import SegmentDamage

DECISION_IRI: Final = "urn:rdfcrawl:decision:"
OPERATOR: Final = "urn:rdfcrawl:operator"
"""What stands for the parent of seeds."""

_FOLDER: Final = "decisions"
_LINE: Final = re.compile(
    rb"#\tdocument <(?P<parent>[^>]*)> (?P<ms>[0-9]+)"
    rb"|<(?P<uri>[^>]*)> <urn:rdfcrawl:decision:(?P<why>[a-z_]+)>"
)


@dataclass(frozen=True, slots=True)
class LoggedDecision:
    """A decision not to queue a URI.

    Attributes:
        uri: that was found.
        reason: a value of `errors.Decision`; a later version may have others.
        parent: the document that led to it; empty if the operator named it.
        ms: when that was decided, Unix time.
    """

    uri: str
    reason: str
    parent: str
    ms: int


def iter_decisions(
    root: Path, wants: Callable[[bytes], bool], tell: Callable[[SegmentDamage], None]
) -> Iterator[LoggedDecision]:
    """Yield the decisions in the log of a crawl, in the order of its segments.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`; without a log of decisions, there are none.
        wants: told the content of a member, returns whether to read it.
        tell: of damage.

    Raises:
        OSError: the disk cannot be read.
    """
    for content in iter_members_with(root, _FOLDER, wants, tell):
        yield from read_decisions(content)


def read_decisions(
    content: bytes, is_wanted: Callable[[bytes], bool] = bool
) -> Iterator[LoggedDecision]:
    """Yield the decisions in some whole lines of a log.

    Args:
        content: the lines.
        is_wanted: told a URI, returns whether decisions about it are wanted; by
            default, all are.
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
