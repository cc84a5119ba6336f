"""The links between nodes, in a scratch file that is read once per round.

The latest version of each document counts, with all links of the link log except
`nofollow`. A redirect is the only link of its URI.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.ranking.pagerank import OutLinks
from rdfcrawl.core.namespaces import RC
from rdfcrawl.core.sorting import StringSorter
from rdfcrawl.stores.log.links import LinkLog

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rdfcrawl.analysis.urldb.rank_nodes import RankNodes
    from rdfcrawl.core.sorting import SpillFile, SpillFolder
    from rdfcrawl.stores.log.links import DocumentLinks
    from rdfcrawl.stores.reading import SegmentDamage

_NOFOLLOW: Final = f"{RC}nofollow"
_CHUNK_BYTES: Final = 1 << 20
_NODE_DIGITS: Final = 8
_TARGETS_AT: Final = _NODE_DIGITS + 16  # after source and version
_REDIRECT: Final = b"f" * 16  # greater than all versions
_WEIGHTED: Final = 1 << 31  # marks the number of targets if weights follow them


class LinkScratch:
    """Out-links in a scratch file, to be read once per round.

    Args:
        spill: new, or to be overwritten.
    """

    def __init__(self, spill: SpillFile) -> None:
        self._spill = spill
        self._chunks: list[tuple[int, int]] = []
        self._held = bytearray()

    def clear(self) -> None:
        """Remove all links, so that the file can be overwritten."""
        self._spill.n_bytes = 0
        self._chunks.clear()

    def add(self, links: OutLinks) -> None:
        """Add the out-links of a node."""
        source, targets, weights = links
        n_targets = len(targets)
        mark = n_targets if weights is None else n_targets | _WEIGHTED
        self._held += array("I", (source, mark)).tobytes()
        self._held += array("I", targets).tobytes()
        if weights is not None:
            self._held += array("d", weights).tobytes()
        if len(self._held) >= _CHUNK_BYTES:
            self.end()

    def end(self) -> None:
        """Write buffered links."""
        if self._held:
            self._chunks.append(self._spill.add(self._held))
            self._held.clear()

    def read(self) -> Iterator[OutLinks]:
        """Yield all out-links, in order."""
        for begin, end in self._chunks:
            content = memoryview(self._spill.read(begin, end))
            words, at = content.cast("I"), 0
            while at < len(words):
                source, mark = words[at], words[at + 1]
                n_targets = mark & ~_WEIGHTED
                at += 2 + n_targets
                targets = words[at - n_targets : at].tolist()
                weights: Sequence[float] | None = None
                if mark & _WEIGHTED:
                    given = array("d")
                    given.frombytes(content[4 * at : 4 * at + 8 * n_targets])
                    weights = given
                    at += 2 * n_targets
                yield OutLinks(source, targets, weights)


class LinkGraph:
    """All links between the nodes of a crawl, sorted by their sources.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.
        nodes: of the graph.
        spills: hold the links.
        memory_bytes: for sorting.

    Attributes:
        links: without duplicates and links of a node to itself.
        n_links: number of links.
        n_incoming: number of incoming links by node.
        damages: of the link log.
    """

    def __init__(
        self, root: Path, nodes: RankNodes, spills: SpillFolder, memory_bytes: int
    ) -> None:
        self.links = LinkScratch(spills.new())
        self.n_links = 0
        self.damages: tuple[SegmentDamage, ...] = ()
        sorter = StringSorter(spills.new(), memory_bytes)
        self._read_log(root, nodes, sorter)
        for source, target in nodes.redirects():
            sorter.add(b"%08x%b%08x" % (source, _REDIRECT, target))
        self.n_incoming = array("I", [0]) * nodes.n_nodes
        for line in _latest(sorter):
            self._add(line)
        self.links.end()

    def _read_log(self, root: Path, nodes: RankNodes, sorter: StringSorter) -> None:
        log = LinkLog(root)
        node_of = nodes.index.of
        for batch in log.read():
            for document in batch.documents:
                source = node_of(document.graph)
                if source is None:
                    continue
                found = {node_of(target) for target in followed_targets(document)}
                targets = sorted(x for x in found - {None, source} if x is not None)
                head = b"%08x%016x" % (source, document.version_ms)
                sorter.add(head + b"".join([b"%08x" % each for each in targets]))
        self.damages = tuple(log.damages)

    def _add(self, line: bytes) -> None:
        targets = [
            int(line[at : at + _NODE_DIGITS], 16)
            for at in range(_TARGETS_AT, len(line), _NODE_DIGITS)
        ]
        if not targets:
            return
        self.links.add(OutLinks(int(line[:_NODE_DIGITS], 16), targets))
        self.n_links += len(targets)
        for target in targets:
            self.n_incoming[target] += 1


def followed_targets(document: DocumentLinks) -> Iterator[str]:
    """Yield the targets of the links without `nofollow`, as written."""
    for target, relation in document.links:
        if relation != _NOFOLLOW:
            yield target


def _latest(sorter: StringSorter) -> Iterator[bytes]:
    """Yield the latest line of each source."""
    held = b""
    for batch in sorter.sorted():
        for line in batch:
            if held and line[:_NODE_DIGITS] != held[:_NODE_DIGITS]:
                yield held
            held = line
    if held:
        yield held
