"""Blocks of activities: a line of JSON for each, with a list for each field.

    {"worker": [name, crawl, version], "is_first": true, "n": 3,
     "url": [...], "status": ["SUCCESSFUL"], ..., "same": [[url, begin, first URL]]}

A field is left out if all activities have its default, and has one value if all have
the same. Times are differences: `started_ms` to the activity before, `ended_ms` to
`started_ms`. Hashes and sketches are one text, separated by spaces. `same` has the
contents that were fetched from another URL before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, repeat
from operator import add, sub
from typing import Any, Final

from rdfcrawl.core.records import RowCounts
from rdfcrawl.rdf.terms import has_surrogates, without_surrogates
from rdfcrawl.stores.provenance.records import (
    Activity,
    LoggedFault,
    ReadMember,
    SameContent,
    WorkerAgent,
)
from rdfcrawl.stores.segment_file import GzipMember, TornMember, iter_content

_FIELDS: Final = Activity._fields
_DEFAULTS: Final = Activity("")
_STARTED: Final = _FIELDS.index("started_ms")
_ENDED: Final = _FIELDS.index("ended_ms")
_WORDS: Final = frozenset(
    {"content_hash", "text_hash", "sketch", "statements_hash", "key"}
)
_PARTS: Final[dict[str, Any]] = {
    "faults": LoggedFault._make,
    "members": ReadMember._make,
    "rows": RowCounts._make,
    "extracted": tuple,
}
_TUPLES: Final = frozenset({"requested", "robots_directives", "content_signals"})
# Those beyond ASCII that terminals interpret, and lone surrogates.
_UNSAFE: Final = re.compile(
    "[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_URLS: Final = frozenset(
    {"url", "parent", "document", "replaced", "location", "requested", "canonical"}
)
_NO_BLOCK: Final = (
    *(ValueError, TypeError, KeyError, AttributeError),
    *(OverflowError, RecursionError),
)
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class ActivityBlock:
    """Activities of one worker that follow each other.

    Attributes:
        worker: its name, crawl and version.
        activities: in the order of their ends.
        same: contents of these or earlier activities.
        is_first: this is the first block of the worker.
    """

    worker: WorkerAgent
    activities: Sequence[Activity] = ()
    same: Sequence[SameContent] = ()
    is_first: bool = False


def encode_block(block: ActivityBlock) -> bytes:
    """Return the line of a block.

    Lone surrogates, which RDF cannot hold, become U+FFFD, except in URLs.
    """
    text = _encode(_content(block, block.activities))
    if not text.isascii() or "\x7f" in text:
        if has_surrogates(text):
            text = _encode(
                _content(block, [_mended(each) for each in block.activities])
            )
        text = _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return f"{text}\n".encode()


def _mended(activity: Activity) -> Activity:
    pairs = zip(_FIELDS, activity, strict=True)
    return Activity._make(x if name in _URLS else _mended_value(x) for name, x in pairs)


def _mended_value(value: Any) -> Any:
    if isinstance(value, str):
        return without_surrogates(value)
    return [_mended_value(x) for x in value] if isinstance(value, tuple) else value


def _content(block: ActivityBlock, activities: Sequence[Activity]) -> dict[str, Any]:
    worker = block.worker
    content: dict[str, Any] = {"worker": [worker.name, worker.crawl, worker.version]}
    if block.is_first:
        content["is_first"] = True
    content["n"] = len(activities)
    content.update(_columns(activities))
    if block.same:
        content["same"] = block.same
    return content


def _columns(activities: Sequence[Activity]) -> Iterator[tuple[str, Any]]:
    columns = list(zip(*activities, strict=True))
    if not columns:
        return
    starts: Sequence[int] = columns[_STARTED]
    columns[_ENDED] = tuple(map(sub, columns[_ENDED], starts))
    columns[_STARTED] = (starts[0], *map(sub, starts[1:], starts))
    for name, default, values in zip(_FIELDS, _DEFAULTS, columns, strict=True):
        first = values[0]
        if values.count(first) < len(values):
            yield name, " ".join(values) if name in _WORDS else values
        elif first != default:
            yield name, [first]


def iter_blocks(lines: Iterable[bytes]) -> Iterator[ActivityBlock]:
    """Yield the blocks in texts of complete lines.

    Raises:
        TornMember: a line is no block.
    """
    for text in lines:
        for line in text.splitlines():
            yield decode_block(line)


def read_blocks(fd: int, member: GzipMember) -> list[ActivityBlock]:
    """Return the blocks of a member.

    Raises:
        TornMember: it is damaged, or has a line that is no block.
    """
    return list(iter_blocks((b"".join(iter_content(fd, member)),)))


def decode_block(line: bytes) -> ActivityBlock:
    """Return the block of a line.

    Raises:
        TornMember: it is no block.
    """
    try:
        content = json.loads(line)
        n, same = content["n"], content.get("same", ())
        columns = [
            _values(content[name], name, n) if name in content else repeat(default, n)
            for name, default in zip(_FIELDS, _DEFAULTS, strict=True)
        ]
        starts = list(accumulate(columns[_STARTED]))
        columns[_STARTED], columns[_ENDED] = starts, map(add, starts, columns[_ENDED])
        return ActivityBlock(
            WorkerAgent(*content["worker"]),
            list(map(Activity._make, zip(*columns, strict=True))),
            [SameContent._make(each) for each in same],
            is_first=content.get("is_first", False),
        )
    except _NO_BLOCK as error:
        raise TornMember(f"no block of activities: {line[:100]!r}") from error


def _values(found: Any, name: str, n: int) -> Iterable[Any]:
    """Return the values of a field for `n` activities."""
    values = found.split(" ") if isinstance(found, str) else found
    if name in _PARTS:
        make = _PARTS[name]
        values = [tuple(map(make, each)) for each in values]
    elif name in _TUPLES:
        values = [tuple(each) for each in values]
    if len(values) == 1:
        return repeat(values[0], n)
    return values
