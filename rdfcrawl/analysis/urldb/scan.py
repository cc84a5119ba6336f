"""Read the logs of a crawl after a checkpoint into sorted observations."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from rdfcrawl.analysis.urldb.joining import pack, spell
from rdfcrawl.analysis.urldb.observations import (
    LinkedUrls,
    UrlObservation,
    iter_listings,
    observe_block,
)
from rdfcrawl.analysis.urldb.record import key_of
from rdfcrawl.core.sorting import StringSorter
from rdfcrawl.stores.provenance.blocks import iter_blocks
from rdfcrawl.stores.reading import SegmentDamage, iter_lines, iter_read
from rdfcrawl.stores.segment_file import GzipMember, iter_content, list_segments
from rdfcrawl.uri import NormalForm

logger = logging.getLogger(__name__)

_QUADS: Final = "quads"
_PROVENANCE: Final = "provenance"
_LINKS: Final = "links"
_HELD_BYTES: Final = 4 * 1024 * 1024  # of a member; larger ones are inflated twice


class LogScan:
    """Reader of the logs of a crawl that sorts observations.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.
        offsets: of the segments, after the part that was already read.
        normal_form: of the crawl.
        sorter: receives the observations.

    Attributes:
        offsets: end of the part that has been read.
        n_observations: number of observations.
        n_without_host: number of skipped names, which are no URL with a
            host.
        damages: of the segments, without duplicates.
    """

    def __init__(
        self,
        root: Path,
        offsets: Mapping[str, int],
        *,
        normal_form: NormalForm,
        sorter: StringSorter,
    ) -> None:
        self._root, self._normal_form, self._sorter = root, normal_form, sorter
        self._links = LinkedUrls()
        self._before = offsets
        self.offsets: dict[str, int] = {}
        self.n_observations = self.n_without_host = 0
        self.damages: dict[SegmentDamage, None] = {}

    def run(self) -> None:
        """Read all complete members; no segment may be removed meanwhile.

        Raises:
            OSError: a disk is full, or cannot be read.
        """
        for kind, read in (
            (_QUADS, self._read_quads),
            (_PROVENANCE, self._read_provenance),
            (_LINKS, self._read_links),
        ):
            folder = self._root / kind
            for path in list_segments(folder) if folder.is_dir() else ():
                name = f"{kind}/{path.name}"
                offset = self._before.get(name, 0)
                if offset:
                    self.offsets[name] = offset
                for _, end in iter_read(
                    path, name, offset, read=read, on_damage=self._note_damage
                ):
                    self.offsets[name] = end
        self._add(self._links.take())

    def _read_quads(self, fd: int, member: GzipMember) -> None:
        self._add(iter_listings(_blocks(fd, member)))

    def _read_provenance(self, fd: int, member: GzipMember) -> None:
        for block in iter_blocks(_blocks(fd, member)):
            self._add(observe_block(block))

    def _read_links(self, fd: int, member: GzipMember) -> None:
        self._links.add(_blocks(fd, member))
        if self._links.is_full:
            self._add(self._links.take())

    def _add(self, observations: Iterable[UrlObservation]) -> None:
        for url, ms, columns in observations:
            key = key_of(url, self._normal_form)
            if key is None:
                self.n_without_host += 1
                continue
            if not key.endswith(b"\t" + url.encode("utf-8", "replace")):
                spell(columns, url, ms)
            self._sorter.add(b"%b\t\t%b" % (key, pack(columns)))
            self.n_observations += 1

    def _note_damage(self, damage: SegmentDamage) -> None:
        if damage not in self.damages:
            self.damages[damage] = None
            logger.error("%s: %s", self._root, damage)


def _blocks(fd: int, member: GzipMember) -> Iterator[bytes]:
    """Yield the content of a complete member in complete lines.

    Raises:
        TornMember: the member is damaged; nothing was yielded.
    """
    held: list[bytes] = []
    n_bytes = 0
    for piece in iter_content(fd, member):
        n_bytes += len(piece)
        if n_bytes <= _HELD_BYTES:
            held.append(piece)
    if n_bytes > _HELD_BYTES:
        return iter_lines(iter_content(fd, member))
    return iter_lines(held)
