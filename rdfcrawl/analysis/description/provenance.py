"""Read from the provenance of a crawl the formats in which hosts publish documents."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.description.distinct import hashes_of
from rdfcrawl.analysis.description.keys import FigureKind, key_prefix
from rdfcrawl.core.namespaces import PROV, RC
from rdfcrawl.stores.reading import iter_blocks
from rdfcrawl.stores.segment_file import TornMember, list_segments
from rdfcrawl.uri.iri_hosts import host_of_iri

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rdfcrawl.analysis.description.table import FigureTable

# The format of an activity, and the document that it generated. The format comes
# first; an activity without statements generates no document.
_FACTS: Final = re.compile(
    rb'^<([^>\n]*)> <(?:%b> "([^"\n]*)"|%b> <([^>\n]*)>)'
    % (re.escape(f"{RC}format".encode()), re.escape(f"{PROV}wasGeneratedBy".encode())),
    re.MULTILINE,
)


def iter_provenance(folder: Path) -> Iterator[bytes]:
    """Yield the readable provenance as complete lines.

    Damaged segments are skipped: no figure of the data depends on them.
    """
    for path in list_segments(folder) if folder.is_dir() else ():
        with suppress(FileNotFoundError, TornMember):
            yield from iter_blocks(path)


def add_provenance(table: FigureTable, lines: bytes) -> None:
    """Count the documents of each host by format.

    Args:
        table: receives the figures of each host.
        lines: complete lines of provenance.
    """
    documents: dict[bytes, list[bytes]] = {}
    activity = read_as = b""
    for subject, format_name, generated_by in _FACTS.findall(lines):
        if format_name:
            activity, read_as = subject, format_name
        elif generated_by == activity:
            host = host_of_iri(subject)
            key = key_prefix(host, FigureKind.FORMATS) + read_as
            documents.setdefault(key, []).append(subject)
    for key, iris in documents.items():
        table.count(key, hashes_of(iris))
    table.trim()
