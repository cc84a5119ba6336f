"""The ranked graph: the URIs of the URL database in order, and links between them.

Memory: 12 bytes for each known URI, one bit more for each host, and some 100 bytes for
each sitemap; the rest is in scratch files.

The latest version of each document counts, with all links of the link log except
`nofollow`. A redirect is the only link of its URI. Links are read once per round.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from itertools import compress
from math import nan
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.analysis.ranking.pagerank import OutLinks
from rdfcrawl.analysis.urldb.facts import RULE_TASKS, is_page
from rdfcrawl.core.namespaces import RC
from rdfcrawl.core.sorting import SpillFile, SpillFolder, StringSorter
from rdfcrawl.stores.log.links import DocumentLinks, LinkLog
from rdfcrawl.uri import BadUri, NormalForm, fingerprint
from rdfcrawl.uri.hosts import origin_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from rdfcrawl.analysis.urldb.record import UrlRecord
    from rdfcrawl.stores.reading import SegmentDamage

_SIGN: Final = 1 << 63  # fingerprints are signed; hex digits sort as unsigned
_REDIRECT: Final = struct.Struct("<Iq")  # node, fingerprint of its target
_LISTING: Final = struct.Struct("<IqdQ")  # node, sitemap, priority, last reading
_HELD_BYTES: Final = 1 << 20
_MAX_CACHED: Final = 200_000
_CHUNK_BYTES: Final = 1 << 20
_NODE_DIGITS: Final = 8
_TARGETS_AT: Final = _NODE_DIGITS + 16  # after source and version
_VERSION_OF_REDIRECT: Final = b"f" * 16  # greater than all versions
_OBJECTS: Final = 16  # factor by which the objects are larger than their bytes
_WEIGHTED: Final = 1 << 31  # marks the number of targets if weights follow them


class NodeRange(NamedTuple):
    """The nodes of one host or domain, from `begin` up to but excluding `end`."""

    begin: int
    end: int


class TopSitemap(NamedTuple):
    """A sitemap that no index lists, and the front page of its origin.

    Attributes:
        node: of the sitemap.
        front: fingerprint of the front page.
    """

    node: int
    front: int


class ListedNode(NamedTuple):
    """A URI in the latest reading of a sitemap; an unstated priority is nan."""

    node: int
    sitemap: int
    priority: float


class RecordSpill:
    """Records with a fixed format in a scratch file."""

    def __init__(self, spill: SpillFile, form: struct.Struct) -> None:
        self._spill, self._form = spill, form
        self._held = bytearray()

    def add(self, *values: float) -> None:
        """Add a record."""
        self._held += self._form.pack(*values)
        if len(self._held) >= _HELD_BYTES:
            self._flush()

    def _flush(self) -> None:
        self._spill.add(self._held)
        self._held.clear()

    def __iter__(self) -> Iterator[tuple[int | float, ...]]:
        """Yield all records, in order."""
        self._flush()
        size = _HELD_BYTES // self._form.size * self._form.size
        for begin in range(0, self._spill.n_bytes, size):
            end = min(begin + size, self._spill.n_bytes)
            yield from self._form.iter_unpack(self._spill.read(begin, end))


@dataclass(slots=True)
class NodeIndex:
    """Map of URLs to nodes.

    Attributes:
        normal_form: of the database.
        marks: fingerprints of URLs, sorted.
        nodes: their nodes, in the same order.
    """

    normal_form: NormalForm
    marks: array[int] = field(default_factory=lambda: array("q"))
    nodes: array[int] = field(default_factory=lambda: array("I"))
    _known: dict[str, int | None] = field(default_factory=dict)

    def of(self, url: str) -> int | None:
        """Return the node of a URL in any spelling; None if the URL is unknown."""
        try:
            return self._known[url]
        except KeyError:
            pass
        try:
            node = self.of_mark(fingerprint(self.normal_form.normalize(url)))
        except (BadUri, UnicodeEncodeError):
            node = None
        if len(self._known) >= _MAX_CACHED:
            self._known.clear()
        self._known[url] = node
        return node

    def drop(self, lost: Collection[int]) -> None:
        """Remove some fingerprints."""
        kept = [mark not in lost for mark in self.marks]
        self.marks = array("q", compress(self.marks, kept))
        self.nodes = array("I", compress(self.nodes, kept))

    def of_mark(self, mark: int) -> int | None:
        """Return the node of a URL by its fingerprint."""
        at = bisect_left(self.marks, mark)
        if at < len(self.marks) and self.marks[at] == mark:
            return self.nodes[at]
        return None


class RankNodes:
    """The nodes, with the redirects and sitemaps of their records.

    Each URI of the database is a node, except those of rules, such as `robots.txt`. If
    the target of a redirect has no record, such as on the same host, the redirecting
    URI represents it.

    Args:
        records: read once, in the order of the database.
        normal_form: of the database.
        spills: hold data outside of memory.
        memory_bytes: for sorting.

    Attributes:
        n_nodes: nodes are 0 to `n_nodes - 1`.
        is_page: for each node, 1 if it is no sitemap.
        hosts: first nodes of the hosts, and the end of the last one.
        domains: first nodes of registered domains, and the end of the last one.
        tops: by node.
    """

    def __init__(
        self,
        records: Iterable[UrlRecord],
        normal_form: NormalForm,
        spills: SpillFolder,
        memory_bytes: int,
    ) -> None:
        self.n_nodes = 0
        self.is_page = bytearray()
        self.hosts, self.domains = array("I"), array("I")
        self.tops: list[TopSitemap] = []
        self.index = NodeIndex(normal_form)
        self._read_ms: dict[int, int] = {}  # last reading of each sitemap
        self._redirects = RecordSpill(spills.new(), _REDIRECT)
        self._listings = RecordSpill(spills.new(), _LISTING)
        self._sorter = StringSorter(spills.new(), memory_bytes)
        host = domain = None
        for record in records:
            if not is_node(record):
                continue
            if record.host != host:
                self.hosts.append(self.n_nodes)
                host = record.host
            if record.domain != domain:
                self.domains.append(self.n_nodes)
                domain = record.domain
            self._add(record, self.n_nodes)
            self.n_nodes += 1
        for starts in (self.hosts, self.domains):
            starts.append(self.n_nodes)
        self._fill_index()

    def _add(self, record: UrlRecord, node: int) -> None:
        mark = fingerprint(record.url)
        self.is_page.append(is_page(record))
        self._sorter.add(b"%016x0%08x" % (mark + _SIGN, node))
        if record.readings:
            self._read_ms[mark] = max(each.started_ms for each in record.readings)
            if record.listed is None:
                front = fingerprint(f"{origin_of(record.url)}/")
                self.tops.append(TopSitemap(node, front))
        target = redirect_mark(record, self.index.normal_form)
        if target is not None:
            self._redirects.add(node, target)
            self._sorter.add(b"%016x1%08x" % (target + _SIGN, node))
        for each in record.listings:
            try:
                sitemap = fingerprint(self.index.normal_form.normalize(each.sitemap))
            except BadUri:
                continue
            priority = float(each.priority) if each.priority else nan
            self._listings.add(node, sitemap, priority, each.last_ms)

    def _fill_index(self) -> None:
        """Map each URL to its own record, or else to the first that represents it."""
        last = b""
        marks, nodes = self.index.marks, self.index.nodes
        for batch in self._sorter.sorted():
            for line in batch:
                if line[:16] != last:
                    last = line[:16]
                    marks.append(int(last, 16) - _SIGN)
                    nodes.append(int(line[17:], 16))

    def redirects(self) -> Iterator[tuple[int, int]]:
        """Yield nodes with the nodes to which they redirect."""
        for node, mark in self._redirects:
            target = self.index.of_mark(int(mark))
            if target is not None and target != node:
                yield int(node), target

    def listed(self) -> Iterator[ListedNode]:
        """Yield the URIs in the last readings of sitemaps of the same domain."""
        for node, mark, priority, last_ms in self._listings:
            sitemap = self.index.of_mark(int(mark))
            if sitemap is None or last_ms < self._read_ms.get(int(mark), 0):
                continue
            if self._domain(sitemap) == self._domain(int(node)):
                yield ListedNode(int(node), sitemap, priority)

    def _domain(self, node: int) -> int:
        return bisect_right(self.domains, node)


def is_node(record: UrlRecord) -> bool:
    """Return whether a URI is a node of the ranked graph."""
    return record.latest.get("task") not in RULE_TASKS


def redirect_mark(record: UrlRecord, normal_form: NormalForm) -> int | None:
    """Return the fingerprint of a URI's redirect target; None if there is none."""
    end = record.latest.get("redirect")
    if record.fetches:  # it may have content now
        end = record.current("redirect")
    if not end:
        return None
    try:
        target = fingerprint(normal_form.normalize(end))
    except BadUri:
        return None
    return None if target == fingerprint(record.url) else target


def ranges(starts: array[int]) -> Iterator[NodeRange]:
    """Yield the node ranges of hosts or domains from their first nodes."""
    for at in range(len(starts) - 1):
        yield NodeRange(starts[at], starts[at + 1])


_NOFOLLOW: Final = f"{RC}nofollow"


class LinkScratch:
    """Out-links in a scratch file, to be read once per round; few stay in memory.

    Args:
        spill: new, or to be overwritten.
        memory_bytes: approximate limit of links in memory.
    """

    def __init__(self, spill: SpillFile, memory_bytes: int) -> None:
        self._spill = spill
        self._most_held = memory_bytes // _OBJECTS
        self._links: list[OutLinks] = []
        self._chunks: list[tuple[int, int]] = []
        self._held = bytearray()

    def clear(self) -> None:
        """Remove all links, so that the file can be overwritten."""
        self._spill.n_bytes = 0
        self._chunks.clear()
        self._links.clear()

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

    def read(self) -> Iterable[OutLinks]:
        """Return all out-links, in order."""
        if self._spill.n_bytes > self._most_held:
            return self._unpacked()
        if not self._links:
            self._links = list(self._unpacked())
        return self._links

    def _unpacked(self) -> Iterator[OutLinks]:
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
        self.links = LinkScratch(spills.new(), memory_bytes)
        self.n_links = 0
        self.damages: tuple[SegmentDamage, ...] = ()
        sorter = StringSorter(spills.new(), memory_bytes)
        self._read_log(root, nodes, sorter)
        for source, target in nodes.redirects():
            sorter.add(b"%08x%b%08x" % (source, _VERSION_OF_REDIRECT, target))
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
