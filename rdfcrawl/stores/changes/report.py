"""Count changes by host, and write them as a table or as JSON."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TextIO

from rdfcrawl.core.messages import counted
from rdfcrawl.core.times import second_text
from rdfcrawl.stores.changes.comparing import (
    ChangeKind,
    DocumentChange,
    LogComparison,
)
from rdfcrawl.uri.hosts import host_of_iri

_MAX_HOSTS: Final = 1_000_000  # counted separately
_OTHERS: Final = "(other hosts)"
_SHOWN_HOSTS: Final = 50
_NAMES: Final = tuple(kind.value for kind in ChangeKind)


@dataclass(slots=True)
class ChangeCounts:
    """Numbers of documents by host and kind of change."""

    hosts: defaultdict[str, Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )

    def add(self, change: DocumentChange) -> None:
        """Count a document."""
        host = host_of_iri(change.document.graph.encode()).decode() or "(no host)"
        if host not in self.hosts and len(self.hosts) >= _MAX_HOSTS:
            host = _OTHERS
        self.hosts[host][change.kind.value] += 1

    @property
    def total(self) -> Counter[str]:
        """Sums over all hosts."""
        return sum(self.hosts.values(), Counter())


def write_table(
    comparison: LogComparison, file: TextIO, *, has_documents: bool
) -> None:
    """Write a line for each host, most changes first.

    Args:
        comparison: the two states.
        file: for the table.
        has_documents: first write a line for each document that is not unchanged.
    """
    counts = ChangeCounts()
    for change in comparison.changes():
        counts.add(change)
        if has_documents and change.kind is not ChangeKind.UNCHANGED:
            # A name from the web may contain control characters of the terminal.
            lost = "  (earlier statements dropped)" if change.lacks_former else ""
            graph = ascii(change.document.graph)[1:-1]
            file.write(f"{change.kind:<8}  {graph}{lost}\n")
    if has_documents:
        file.write("\n")
    file.write(f"Since {comparison.start.name}:\n\n")
    hosts = sorted(counts.hosts, key=lambda host: (-_n_changes(counts, host), host))
    shown = hosts[:_SHOWN_HOSTS]
    width = max([len("host"), *map(len, shown)])
    _write_line(file, width, "host", _NAMES)
    for host in shown:
        _write_line(file, width, host, _numbers(counts.hosts[host]))
    if len(hosts) > len(shown):
        file.write(f"... and {counted(len(hosts) - len(shown), 'more host')}\n")
    _write_line(file, width, "all", _numbers(counts.total))
    if comparison.n_lacking:
        file.write(
            f"\nThe earlier statements of {counted(comparison.n_lacking, 'document')}"
            " were dropped by a compaction.\n"
        )


def _n_changes(counts: ChangeCounts, host: str) -> int:
    found = counts.hosts[host]
    return found.total() - found[ChangeKind.UNCHANGED.value]


def _numbers(found: Counter[str]) -> list[str]:
    return [f"{found[name]:,}" for name in _NAMES]


def _write_line(file: TextIO, width: int, name: str, cells: Sequence[str]) -> None:
    columns = "".join(f"{cell:>11}" for cell in cells)
    file.write(f"{name:<{width}}{columns}\n")


def write_json(comparison: LogComparison, file: TextIO, *, has_documents: bool) -> None:
    """Write one object of JSON; documents are streamed.

    Args:
        comparison: the two states.
        file: for the object.
        has_documents: include the documents that are not unchanged.
    """
    counts = ChangeCounts()
    file.write(f'{{"since": {json.dumps(comparison.start.name)}')
    if has_documents:
        file.write(', "documents": [')
    texts = _iter_counted(comparison, counts, has_documents=has_documents)
    file.writelines(
        f"{',' if number else ''}\n{text}" for number, text in enumerate(texts)
    )
    if has_documents:
        file.write("]")
    found = {
        "total": {name: counts.total[name] for name in _NAMES},
        "lacking": comparison.n_lacking,
        "hosts": {
            host: {name: each[name] for name in _NAMES}
            for host, each in sorted(counts.hosts.items())
        },
    }
    file.write(", " + json.dumps(found)[1:] + "\n")


def _iter_counted(
    comparison: LogComparison, counts: ChangeCounts, *, has_documents: bool
) -> Iterator[str]:
    for change in comparison.changes():
        counts.add(change)
        if has_documents and change.kind is not ChangeKind.UNCHANGED:
            members = {
                "document": change.document.graph,
                "change": change.kind.value,
                "fetched": second_text(change.document.version_ms),
            }
            if change.lacks_former:
                members["earlier"] = "dropped"
            yield json.dumps(members)
