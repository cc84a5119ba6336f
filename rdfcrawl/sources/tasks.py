"""The task of a record: for which run, named by whom, and what the source says of it.

    3! {"from": 100}

is run 3, of a source that the operator named, and then the source's own words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.records import MAX_TASK_CHARS

if TYPE_CHECKING:
    from rdfcrawl.records import Document, Record


class Task(NamedTuple):
    """What a record of a source is to do.

    Attributes:
        run: of the crawl: another run asks again.
        is_named: the operator named the source; it was not come upon.
        words: of the source; ASCII without control characters.
    """

    run: int = 0
    is_named: bool = False
    words: str = ""

    def write(self) -> str:
        """Return the text that `read_task` reads.

        Raises:
            SourceFault: `TOO_LARGE`, it is longer than a record holds.
        """
        text = f"{self.run}{'!' if self.is_named else ''} {self.words}".rstrip()
        if len(text) > MAX_TASK_CHARS or not (text.isascii() and text.isprintable()):
            raise SourceFault(Reason.TOO_LARGE, "the task of a source")
        return text


def read_task(record: Record) -> Task:
    """Return the task of a record; without one it is that of a first run.

    >>> from rdfcrawl.records import Kind, Record
    >>> read_task(Record("http://a.example/", Kind.CKAN, task="2! list"))
    Task(run=2, is_named=True, words='list')
    """
    head, _, words = record.task.partition(" ")
    run = head.rstrip("!")
    return Task(int(run or 0), head.endswith("!"), words)


def is_named(record: Record) -> bool:
    """Tell whether a record is of a source that the operator named."""
    return record.kind.is_source and read_task(record).is_named


def has_moved(document: Document) -> bool:
    """Tell whether an answer sends to another host, where its record is asked for."""
    is_redirect = 300 <= document.status < 400 and document.status != 304
    return is_redirect and not document.faults
