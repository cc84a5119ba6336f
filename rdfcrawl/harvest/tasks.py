"""Tasks of records, as harvesters read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.tasks.source import SourceTask

if TYPE_CHECKING:
    from rdfcrawl.records import Document, Record


def read_task(record: Record) -> SourceTask:
    """Return the task of a record; by default that of a first run.

    >>> from rdfcrawl.records import Kind, Record
    >>> read_task(Record("http://a.example/", Kind.CKAN, task=SourceTask(2))).run
    2
    """
    return record.task if isinstance(record.task, SourceTask) else SourceTask(0)


def has_moved(document: Document) -> bool:
    """Return whether a response redirects to another host, which is asked next."""
    is_redirect = 300 <= document.status < 400 and document.status != 304
    return is_redirect and not document.faults
