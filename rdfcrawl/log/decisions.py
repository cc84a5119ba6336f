"""Read the log of decisions: why URIs that were found were not queued.

A line has two IRIs in angle brackets, the URI and the reason, behind the mark of the
document that led to it, with the time of the decision.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from rdfcrawl.log.segments import iter_read
from rdfcrawl.stores.members import iter_content
from rdfcrawl.stores.segment_file import list_segments
from rdfcrawl.stores.segment_lock import reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rdfcrawl.log.segments import SegmentDamage
    from rdfcrawl.stores.members import GzipMember

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
    """A decision that a URI is not queued.

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
    folder = root / _FOLDER
    if not folder.is_dir():
        return
    with reading(folder):
        for path in list_segments(folder):
            name = f"{_FOLDER}/{path.name}"
            read = partial(_read_member, wants)
            for found, _ in iter_read(path, name, 0, read=read, tell=tell):
                yield from found


def _read_member(
    wants: Callable[[bytes], bool], fd: int, member: GzipMember
) -> list[LoggedDecision]:
    content = b"".join(iter_content(fd, member))
    if not wants(content):
        return []
    found = []
    parent, ms = "", 0
    for line in content.split(b"\n"):
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        if match["parent"] is not None:
            parent, ms = match["parent"].decode("utf-8", "replace"), int(match["ms"])
            parent = "" if parent == OPERATOR else parent
        else:
            uri = match["uri"].decode("utf-8", "replace")
            found.append(LoggedDecision(uri, match["why"].decode(), parent, ms))
    return found
