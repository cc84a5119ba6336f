"""Tasks of the records of harvesters."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rdfcrawl.core.records import FollowUp, Record, Urgency
from rdfcrawl.core.tasks.source import Payload, SourceTask

if TYPE_CHECKING:
    from rdfcrawl.core.records import Document


def read_task(record: Record) -> SourceTask:
    """Return the task of a record; by default of a first run.

    >>> from rdfcrawl.core.records import Kind, Record
    >>> read_task(Record("http://a.example/", Kind.CKAN, task=SourceTask(2))).run
    2
    """
    return record.task if isinstance(record.task, SourceTask) else SourceTask(0)


def next_step(
    record: Record,
    step: Payload,
    *,
    url: str = "",
    urgency: Urgency = Urgency.ORDINARY,
) -> FollowUp:
    """Return a further request to the source of a record, by default to its URL."""
    task = replace(read_task(record), payload=step)
    url = url or record.url
    further = Record(url, record.kind, record.depth, record.url, task=task)
    return FollowUp(further, is_part_of_source=True, urgency=urgency)


def has_moved(document: Document) -> bool:
    """Return whether a response redirects to another host, requested next."""
    is_redirect = 300 <= document.status < 400 and document.status != 304
    return is_redirect and not document.faults
