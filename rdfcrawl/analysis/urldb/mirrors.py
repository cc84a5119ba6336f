"""Mirrors: equal content on several registered domains of a URL database.

Clusters of `analysis.measures.domain_clusters` are limited to one domain, as in the
paper. These cover all URLs, but only those of several domains are reported.
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass
from itertools import chain, compress, groupby
from typing import TYPE_CHECKING, Any, Final

from rdfcrawl.analysis.duplicates.clusters import CanonicalCandidate, choose_canonical
from rdfcrawl.analysis.duplicates.spilled_clusters import SpilledClusters
from rdfcrawl.analysis.measures.domain_clusters import text_hash_of
from rdfcrawl.analysis.measures.uri_facts import last_read
from rdfcrawl.analysis.urldb.facts import FactReader, fetches_of, is_known_page
from rdfcrawl.core.sorting import SpillFolder, StringSorter
from rdfcrawl.uri import fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rdfcrawl.analysis.ranking.table import RankTable
    from rdfcrawl.analysis.urldb.database import UrlDatabase
    from rdfcrawl.analysis.urldb.record import UrlRecord

MEMORY_BYTES: Final = 256 * 1024 * 1024
MAX_CANDIDATES: Final = 10_000
"""Maximum number of members, the first ones, that may represent a cluster."""
MAX_DOMAINS: Final = 20
"""Maximum number of domains listed for a cluster."""

_NODE_CHARS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorCluster:
    """URLs of several registered domains with the same content.

    Attributes:
        url: their representative.
        numbers: positions of their records in the database.
        n_domains: number of their domains.
        domains: the first `MAX_DOMAINS` of them, sorted.
        is_of_site: whether the requested domain is among them.
    """

    url: str
    numbers: Sequence[int]
    n_domains: int
    domains: tuple[str, ...]
    is_of_site: bool = True


class MirrorSearch:
    """Search for content on several domains.

    Memory: 6 bytes for each URL, and 4 for each member of a cluster, in addition to
    `memory_bytes`.

    Args:
        database: open.
        ranks: scores of its URIs; None if unknown.
        spills: of scratch files.
        memory_bytes: approximate memory for sorting.

    Attributes:
        n_crowded: runs of sketches that are too common to compare all contents.
        n_left_out: number of comparisons omitted for that reason.
    """

    def __init__(
        self,
        database: UrlDatabase,
        ranks: RankTable | None,
        spills: SpillFolder,
        memory_bytes: int = MEMORY_BYTES,
    ) -> None:
        self._database, self._spills = database, spills
        self._reader = FactReader(database, ranks)
        self._memory_bytes = memory_bytes
        self._found = SpilledClusters(database.n_records, spills, memory_bytes)
        self._domains = array("I")  # numbers of their first records
        self._is_read = False
        self.n_crowded = self.n_left_out = 0

    def reading(self, records: Iterable[UrlRecord]) -> Iterator[UrlRecord]:
        """Yield all records of the database, to use them here and elsewhere."""
        domain = None
        for number, record in enumerate(records):
            if record.domain != domain:
                self._domains.append(number)
                domain = record.domain
            if record.fetches and is_known_page(record):
                self._add(number, record)
            yield record
        self._is_read = True

    def find(self, site: str | None = None) -> Iterator[MirrorCluster]:
        """Yield the clusters, in the order of their first members.

        Args:
            site: registered domain for `is_of_site`; None: all.

        Raises:
            OSError: a disk is full, or cannot be read.
        """
        if not self._is_read:
            deque(self.reading(self._database.records()), 0)
        found = self._found
        found.join()
        self.n_crowded, self.n_left_out = found.n_crowded, found.n_left_out
        for _, lines in groupby(
            chain.from_iterable(self._members().sorted()),
            lambda line: line[:_NODE_CHARS],
        ):
            yield _cluster_of(lines, site)

    def _add(self, number: int, record: UrlRecord) -> None:
        fetches = fetches_of(record)
        if not fetches:
            return
        last = last_read(fetches)
        if last is not None:
            self._found.add(
                number,
                text_hash=text_hash_of(last),
                content_hash=last.content_hash,
                sketch=record.current("sketch"),
            )
        target = self._reader.redirect_of(record)
        self._found.add_url(
            number, fingerprint(record.url), fingerprint(target) if target else None
        )

    def _members(self) -> StringSorter:
        """Return the data of documents of sets with several domains, sorted by set."""
        root_of, numbers = self._found.root, range(self._database.n_records)
        is_spread = bytearray(len(numbers))
        for number in numbers:
            root = root_of(number)
            if root != number and self._domain(root) != self._domain(number):
                is_spread[root] = 1
        is_member = bytes(is_spread[root_of(number)] for number in numbers)
        left = iter(is_member)
        records = self._database.records(is_wanted=lambda _: next(left))
        members = StringSorter(self._spills.new(), self._memory_bytes)
        for number, record in zip(compress(numbers, is_member), records, strict=True):
            facts = json.dumps(self._facts_of(record)).encode()
            members.add(b"%08x%08x%b" % (root_of(number), number, facts))
        return members

    def _domain(self, number: int) -> int:
        return bisect_right(self._domains, number)

    def _facts_of(self, record: UrlRecord) -> dict[str, Any]:
        return {
            "domain": record.domain,
            "url": record.url,
            "is_listed": bool(record.listings),
            "priority": max(
                (float(x.priority) for x in record.listings if x.priority), default=None
            ),
            "pagerank": self._reader.pagerank_of(record.url) or 0.0,
            "canonical": self._reader.canonical_of(record),
            "redirect": self._reader.redirect_of(record),
        }


def _cluster_of(lines: Iterable[bytes], site: str | None) -> MirrorCluster:
    """Return the cluster of sorted members."""
    numbers = array("I")
    candidates: list[dict[str, Any]] = []
    domains: list[str] = []
    n_domains, last, is_of_site = 0, "", site is None
    for line in lines:
        facts = json.loads(line[2 * _NODE_CHARS :])
        numbers.append(int(line[_NODE_CHARS : 2 * _NODE_CHARS], 16))
        if len(candidates) < MAX_CANDIDATES:
            candidates.append(facts)
        if facts["domain"] != last:
            last = facts["domain"]
            n_domains += 1
            is_of_site |= last == site
            if n_domains <= MAX_DOMAINS:
                domains.append(last)
    return MirrorCluster(
        url=_choose(candidates),
        numbers=numbers,
        n_domains=n_domains,
        domains=tuple(domains),
        is_of_site=is_of_site,
    )


def _choose(members: Sequence[dict[str, Any]]) -> str:
    declared = {each["canonical"] for each in members}
    targets = {each["redirect"] for each in members}
    return choose_canonical(
        CanonicalCandidate(
            url=each["url"],
            is_listed=each["is_listed"],
            priority=each["priority"],
            is_declared=each["url"] in declared,
            is_redirect_target=each["url"] in targets,
            pagerank=each["pagerank"],
        )
        for each in members
    )


def mirror_urls(
    clusters: Iterable[MirrorCluster], spills: SpillFolder
) -> Iterator[tuple[int, str]]:
    """Yield positions of records in a database, with the representative of each.

    Records without a cluster are omitted; the others are sorted.
    """
    sorter = StringSorter(spills.new(), MEMORY_BYTES)
    for cluster in clusters:
        url = cluster.url.encode()
        for number in cluster.numbers:
            sorter.add(b"%08x%b" % (number, url))
    for line in chain.from_iterable(sorter.sorted()):
        yield int(line[:_NODE_CHARS], 16), line[_NODE_CHARS:].decode()
