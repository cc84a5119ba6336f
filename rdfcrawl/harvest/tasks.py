"""The task of a record: for which run, named by whom, and what the source says of it.

    3! {"from": 100}
    0@["http://example.org/g"] count

is run 3, of a source that the operator named, and then the source's own words; and run
0 of one graph of an endpoint.
"""

from __future__ import annotations

import json
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
        graphs: of an endpoint that are wanted, see `Access.graphs`; all if empty.
    """

    run: int = 0
    is_named: bool = False
    words: str = ""
    graphs: tuple[str, ...] = ()

    def write(self) -> str:
        """Return the text that `read_task` reads.

        Raises:
            SourceFault: `TOO_LARGE`, it is longer than a record holds.
        """
        graphs = f"@{write_graphs(self.graphs)}" if self.graphs else ""
        mark = "!" if self.is_named else ""
        text = f"{self.run}{mark}{graphs} {self.words}".rstrip()
        if len(text) > MAX_TASK_CHARS or not (text.isascii() and text.isprintable()):
            raise SourceFault(Reason.TOO_LARGE, "the task of a source")
        return text


def read_task(record: Record) -> Task:
    """Return the task of a record; without one it is that of a first run.

    >>> from rdfcrawl.records import Kind, Record
    >>> read_task(Record("http://a.example/", Kind.CKAN, task="2! list"))
    Task(run=2, is_named=True, words='list', graphs=())
    """
    head, _, words = record.task.partition(" ")
    head, _, text = head.partition("@")
    graphs = tuple(json.loads(text)) if text else ()
    run = head.rstrip("!")
    return Task(int(run or 0), head.endswith("!"), words, graphs)


def write_graphs(graphs: tuple[str, ...]) -> str:
    """Return the names of graphs, which have no spaces, as ASCII without spaces."""
    return json.dumps(graphs, separators=(",", ":"))


def is_named(record: Record) -> bool:
    """Tell whether a record is of a source that the operator named."""
    return record.kind.is_source and read_task(record).is_named


def has_moved(document: Document) -> bool:
    """Tell whether an answer sends to another host, where its record is asked for."""
    is_redirect = 300 <= document.status < 400 and document.status != 304
    return is_redirect and not document.faults
