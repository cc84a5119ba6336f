"""What the task of a record says, for those that harvest sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.tasks.source import SourceTask

if TYPE_CHECKING:
    from rdfcrawl.records import Document, Record


def read_task(record: Record) -> SourceTask:
    """Return the task of a record; without one it is that of a first run.

    >>> from rdfcrawl.records import Kind, Record
    >>> read_task(Record("http://a.example/", Kind.CKAN, task=SourceTask(2))).run
    2
    """
    return record.task if isinstance(record.task, SourceTask) else SourceTask(0)


def is_named(record: Record) -> bool:
    """Tell whether a record is of a source that the operator named."""
    return read_task(record).is_named


def has_moved(document: Document) -> bool:
    """Tell whether an answer sends to another host, where its record is asked for."""
    is_redirect = 300 <= document.status < 400 and document.status != 304
    return is_redirect and not document.faults
