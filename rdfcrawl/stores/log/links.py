"""Read the log of links: the links found in each document.

A line has two IRIs in angle brackets, relation and target; the mark of its document
precedes it. The log is never compacted, since the earliest version of a document shows
when a URL was first linked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from rdfcrawl.stores.log.documents import LogDocument, iter_documents
from rdfcrawl.stores.reading import SegmentDamage, iter_read, reading
from rdfcrawl.stores.segment_file import GzipMember, list_segments

_LINKS: Final = "links"


@dataclass(frozen=True, slots=True)
class DocumentLinks:
    """The links of one version of a document.

    Attributes:
        graph: IRI of the document.
        version_ms: start of its fetch, Unix time in ms.
        links: targets and relations, each pair once.
    """

    graph: str
    version_ms: int
    links: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class LinkBatch:
    """Documents whose links are in the same member of the log.

    Attributes:
        documents: in their order; a document may occur in several versions, and a
            version twice.
        offsets: how far each segment has been read; the next read starts here.
    """

    documents: tuple[DocumentLinks, ...]
    offsets: Mapping[str, int]


@dataclass(slots=True)
class LinkLog:
    """The log of links of a crawl.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`; if it has no log of links, nothing is read.

    Attributes:
        damages: found while reading, each once.
    """

    root: Path
    damages: dict[SegmentDamage, None] = field(default_factory=dict)

    def read(self, after: Mapping[str, int] | None = None) -> Iterator[LinkBatch]:
        """Yield the current content of the log, a batch for each member of a segment.

        Args:
            after: offsets of an earlier batch, to read only later ones.

        Raises:
            OSError: the disk cannot be read.
        """
        folder = self.root / _LINKS
        if not folder.is_dir():
            return
        offsets = dict(after or {})
        with reading(folder):
            for path in list_segments(folder):
                name = f"{_LINKS}/{path.name}"
                for documents, end in iter_read(
                    path,
                    name,
                    offsets.get(name, 0),
                    read=partial(_read_member, path),
                    on_damage=self._note_damage,
                ):
                    offsets[name] = end
                    yield LinkBatch(documents, dict(offsets))

    def _note_damage(self, damage: SegmentDamage) -> None:
        self.damages[damage] = None


def _read_member(path: Path, fd: int, member: GzipMember) -> tuple[DocumentLinks, ...]:
    return tuple(
        DocumentLinks(each.graph, each.version_ms, tuple(_links_of(each)))
        for each in iter_documents(path, fd, member)
        if isinstance(each, LogDocument)
    )


def _links_of(document: LogDocument) -> Iterator[tuple[str, str]]:
    for piece in document.pieces():
        # Not `splitlines`: an IRI may contain other line ends, such as U+2028.
        for line in piece.decode("utf-8", "replace").split("\n"):
            relation, _, target = line[1:-1].partition("> <")
            if target:
                yield target, relation
