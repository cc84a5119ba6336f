"""Records as texts, for tables that keep them by their URLs."""

from __future__ import annotations

from dataclasses import dataclass

from rdfcrawl.codec import decode, encode
from rdfcrawl.records import Kind, Record
from rdfcrawl.tasks.text import Task  # noqa: TC001  read by the codec


@dataclass(frozen=True, slots=True)
class _Rest:
    """A record without its URL; it was not asked for yet."""

    kind: Kind
    depth: int
    parent: str
    task: Task | None = None
    change: str = ""
    profile: int = 0


def encode_record(record: Record) -> str:
    """Return the text of a record that waits; its URL is not in it."""
    rest = _Rest(
        kind=record.kind,
        depth=record.depth,
        parent=record.parent,
        task=record.task,
        change=record.change,
        profile=record.profile,
    )
    return encode(rest)


def decode_record(url: str, text: str) -> Record:
    """Return the record of a text that `encode_record` made.

    Raises:
        SourceFault: `BAD_RECORD`: it is another text.
    """
    rest = decode(text, _Rest)
    return Record(
        url,
        rest.kind,
        rest.depth,
        rest.parent,
        task=rest.task,
        change=rest.change,
        profile=rest.profile,
    )
