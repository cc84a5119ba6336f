"""Records as texts, for tables that keep them by their URLs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from rdfcrawl.core.codec import decode, encode
from rdfcrawl.core.records import FollowUp, Kind, Record, Urgency
from rdfcrawl.core.tasks.pages import (
    CollectionPage,
    DumpPart,
    ListedPage,
    RefreshedPage,
    RevisitedPage,
)
from rdfcrawl.core.tasks.source import SourceTask
from rdfcrawl.core.tasks.text import Task

_ASKED_AGAIN: Final = (
    *(SourceTask, ListedPage, DumpPart, CollectionPage),
    *(RevisitedPage, RefreshedPage),
)

# Kind, depth, parent, change, profile and task of a record that was not asked for yet.
_REST: Any = tuple[Kind, int, str, str, int, Task | None]


def is_asked_again(record: Record) -> bool:
    """Return whether a record that failed is asked for again in its own time.

    Each run reads sources from the beginning, and sitemaps, datasets and `scrapy
    refresh` say when their pages are due: to repeat the record itself would ask twice.
    """
    return bool(record.change) or isinstance(record.task, _ASKED_AGAIN)


def encode_record(record: Record) -> str:
    """Return the text of a record that waits; its URL is not in it."""
    place = record.kind, record.depth, record.parent
    return encode((*place, record.change, record.profile, record.task))


def decode_record(url: str, text: str) -> Record:
    """Return the record of a text that `encode_record` made.

    Raises:
        SourceFault: `BAD_RECORD`: it is another text.
    """
    kind, depth, parent, change, profile, task = decode(text, _REST)
    return Record(url, kind, depth, parent, task=task, change=change, profile=profile)


def encode_follow_up(follow_up: FollowUp) -> str:
    """Return the text of a follow-up that waits; its URL is not in it."""
    record = replace(follow_up.record, change=follow_up.change)
    return f"{int(follow_up.urgency)} {encode_record(record)}"


def decode_follow_up(url: str, text: str) -> FollowUp:
    """Return the follow-up of a text that `encode_follow_up` made.

    Raises:
        SourceFault: `BAD_RECORD`: it is another text.
    """
    urgency, _, rest = text.partition(" ")
    record = decode_record(url, rest)
    waiting = replace(record, change="")
    return FollowUp(waiting, urgency=Urgency(int(urgency)), change=record.change)
