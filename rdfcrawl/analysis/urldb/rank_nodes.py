"""The nodes of the ranked graph: the URIs of the URL database, in order.

Memory: 12 bytes for each known URI, one bit more for each host, and some 100 bytes for
each sitemap; the rest is in scratch files.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from itertools import compress
from math import nan
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.analysis.urldb.facts import RULE_TASKS, is_page
from rdfcrawl.core.sorting import StringSorter
from rdfcrawl.uri import BadUri, fingerprint
from rdfcrawl.uri.hosts import origin_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from rdfcrawl.analysis.urldb.record import UrlRecord
    from rdfcrawl.core.sorting import SpillFile, SpillFolder
    from rdfcrawl.uri import NormalForm

_SIGN: Final = 1 << 63  # fingerprints are signed; hex digits sort as unsigned
_REDIRECT: Final = struct.Struct("<Iq")  # node, fingerprint of its target
_LISTING: Final = struct.Struct("<IqdQ")  # node, sitemap, priority, last reading
_HELD_BYTES: Final = 1 << 20
_MAX_CACHED: Final = 200_000


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
