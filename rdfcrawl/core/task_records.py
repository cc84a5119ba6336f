"""Records as texts, for tables with URLs as keys."""

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

_SCHEDULED: Final = (
    *(SourceTask, ListedPage, DumpPart, CollectionPage),
    *(RevisitedPage, RefreshedPage),
)

# Kind, depth, parent, change, profile and task of a record that was not requested yet.
_REST: Any = tuple[Kind, int, str, str, int, Task | None]


def has_own_schedule(record: Record) -> bool:
    """Return whether a failed record is requested again by its own schedule.

    Each run reads sources from the beginning, and sitemaps, datasets and `scrapy
    refresh` schedule their pages: retrying the record itself would request it twice.
    """
    return bool(record.change) or isinstance(record.task, _SCHEDULED)


def encode_record(record: Record) -> str:
    """Return the text of a waiting record, without its URL."""
    place = record.kind, record.depth, record.parent
    return encode((*place, record.change, record.profile, record.task))


def decode_record(url: str, text: str) -> Record:
    """Return the record of a text from `encode_record`.

    Raises:
        SourceFault: `BAD_RECORD`: the text is invalid.
    """
    kind, depth, parent, change, profile, task = decode(text, _REST)
    return Record(url, kind, depth, parent, task=task, change=change, profile=profile)


def encode_follow_up(follow_up: FollowUp) -> str:
    """Return the text of a waiting follow-up, without its URL."""
    record = replace(follow_up.record, change=follow_up.change)
    return f"{int(follow_up.urgency)} {encode_record(record)}"


def decode_follow_up(url: str, text: str) -> FollowUp:
    """Return the follow-up of a text from `encode_follow_up`.

    Raises:
        SourceFault: `BAD_RECORD`: the text is invalid.
    """
    urgency, _, rest = text.partition(" ")
    record = decode_record(url, rest)
    waiting = replace(record, change="")
    return FollowUp(waiting, urgency=Urgency(int(urgency)), change=record.change)
