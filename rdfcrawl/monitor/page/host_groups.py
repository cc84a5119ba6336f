"""Hosts as nodes of a picture: the large ones alone, the others in groups.

Hosts that were not crawled, but are linked, are grouped by registered domain.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from itertools import groupby
from typing import Final, Literal, NamedTuple

from rdfcrawl.analysis.crawl_index.database import IndexDatabase
from rdfcrawl.core.batches import in_batches
from rdfcrawl.core.namespaces import OWL, RDF, RDFS, XSD

MAX_LINKS: Final = 1200  # to draw
_LINKS_OF_NODE: Final = 4  # the strongest of each node, in either direction

GroupKind = Literal[
    "host", "domain", "suffix", "vocabulary", "rest", "linked", "elsewhere"
]
_BATCH_SIZE: Final = 500  # hosts in one statement
_FEW: Final = 20_000  # hosts whose names are read one by one
_LARGEST: Final = 0.4  # of the area of the largest circle of crawled hosts
_LEAST: Final = 0.12
_MOST_ID: Final = "SELECT COALESCE(MAX(id), 0) FROM web_host"
OWN: Final = "own terms"
"""In place of a vocabulary: the host uses no other terms than its own."""
NO_TERMS: Final = "no statements"
_GENERAL: Final = frozenset((RDF, RDFS, OWL, XSD))
_MOST_ROWS: Final = 1_000_000


class CrawledHost(NamedTuple):
    """A host that was crawled."""

    number: int
    host: str
    domain: str
    n_documents: int


@dataclass(frozen=True, slots=True)
class HostGroup:
    """A node of the picture.

    Attributes:
        name: of the host or registered domain; namespace of a vocabulary; `.org` of a
            suffix; `others`; `elsewhere`.
        kind: of the node.
        n_hosts: hosts in it.
        n_documents: of these.
    """

    name: str
    kind: GroupKind
    n_hosts: int
    n_documents: int


@dataclass(frozen=True, slots=True)
class GroupLink:
    """Links between two nodes, by their numbers, in both directions."""

    source: int
    target: int
    n: int


def group_hosts(
    hosts: Sequence[CrawledHost], most: int
) -> tuple[list[HostGroup], dict[int, int]]:
    """Return at most `most` nodes, and the node of each host by its number.

    If there are more hosts, then the largest half of the nodes are hosts, a quarter are
    registered domains, and the others top-level domains and a rest.

    Args:
        hosts: the largest first.
        most: nodes, 7 or more.
    """
    alone = hosts if len(hosts) <= most else hosts[: most // 2]
    groups = [HostGroup(each.host, "host", 1, each.n_documents) for each in alone]
    of_host = {each.number: n for n, each in enumerate(alone)}
    left = hosts[len(alone) :]
    left = _gather(left, _BY_DOMAIN, most // 4, groups, of_host, least=2)
    left = _gather(left, _BY_SUFFIX, most // 4 - 1, groups, of_host)
    if left:
        _append("others", "rest", left, groups, of_host)
    return groups, of_host


def group_by_domain(
    hosts: Sequence[CrawledHost], most: int
) -> tuple[list[HostGroup], dict[int, int]]:
    """Return registered domains as nodes, and the node of each host by its number.

    If there are more, three quarters of the nodes are domains.

    Args:
        hosts: the largest first.
        most: nodes, 7 or more.
    """
    groups: list[HostGroup] = []
    of_host: dict[int, int] = {}
    n_domains = len({each.domain for each in hosts})
    n_alone = most if n_domains <= most else most * 3 // 4
    left = _gather(hosts, _BY_DOMAIN, n_alone, groups, of_host)
    left = _gather(left, _BY_SUFFIX, most - n_alone - 1, groups, of_host)
    if left:
        _append("others", "rest", left, groups, of_host)
    return groups, of_host


def group_by_vocabulary(
    hosts: Sequence[CrawledHost], most: int, vocabularies: Mapping[int, str], none: str
) -> tuple[list[HostGroup], dict[int, int]]:
    """Return vocabularies as nodes, and the node of each host by its number.

    Args:
        hosts: the largest first.
        most: nodes, 2 or more.
        vocabularies: by the number of the host.
        none: name of the node of hosts without one.
    """
    groups: list[HostGroup] = []
    of_host: dict[int, int] = {}
    kind = _Kind("vocabulary", lambda each: vocabularies.get(each.number, none))
    left = _gather(hosts, kind, most - 1, groups, of_host)
    if left:
        _append("others", "rest", left, groups, of_host)
    return groups, of_host


class _Kind(NamedTuple):
    """A kind of groups."""

    name: GroupKind
    group_of: Callable[[CrawledHost], str]


_BY_DOMAIN: Final = _Kind("domain", lambda each: each.domain)
_BY_SUFFIX: Final = _Kind("suffix", lambda each: suffix_of(each.domain))


def _gather(
    hosts: Sequence[CrawledHost],
    kind: _Kind,
    n_groups: int,
    groups: list[HostGroup],
    of_host: dict[int, int],
    *,
    least: int = 1,
) -> list[CrawledHost]:
    """Make the largest groups of a kind; return the remaining hosts."""
    members: dict[str, list[CrawledHost]] = {}
    for each in hosts:
        members.setdefault(kind.group_of(each), []).append(each)
    sized = sorted(
        (name for name, some in members.items() if name and len(some) >= least),
        key=lambda name: (-sum(x.n_documents for x in members[name]), name),
    )
    chosen = set(sized[:n_groups])
    for name in sized[:n_groups]:
        _append(name, kind.name, members[name], groups, of_host)
    return [
        each for name, some in members.items() if name not in chosen for each in some
    ]


def _append(
    name: str,
    kind: GroupKind,
    members: Sequence[CrawledHost],
    groups: list[HostGroup],
    of_host: dict[int, int],
) -> None:
    for each in members:
        of_host[each.number] = len(groups)
    n_documents = sum(each.n_documents for each in members)
    groups.append(HostGroup(name, kind, len(members), n_documents))


def suffix_of(domain: str) -> str:
    """Return the last label of a domain with its dot; empty for an address.

    >>> suffix_of("bbc.co.uk"), suffix_of("127.0.0.1")
    ('.uk', '')
    """
    last = domain.rpartition(".")[2]
    return "" if last.isdecimal() or last.endswith("]") else f".{last}"


def add_links(
    rows: Iterable[tuple[int, int, int]], of_host: Mapping[int, int]
) -> Counter[tuple[int, int]]:
    """Return the links between nodes, both directions added up.

    Args:
        rows: numbers of two hosts, and the number of links from one to the other.
        of_host: the node of each host; links of others are left out.
    """
    found: Counter[tuple[int, int]] = Counter()
    node_of = of_host.get
    for source, target, n in rows:
        first, second = node_of(source), node_of(target)
        if first is None or second is None or first == second:
            continue
        found[(first, second) if first < second else (second, first)] += n
    return found


def strongest(
    links: Mapping[tuple[int, int], int], *, of_node: int = _LINKS_OF_NODE
) -> list[GroupLink]:
    """Return the links to draw: the strongest of each node.

    Args:
        links: between nodes.
        of_node: number of links of each; more if there are few nodes.
    """
    n_of: Counter[int] = Counter()
    n_nodes = len({node for pair in links for node in pair})
    most_each = max(of_node, 75 * of_node // max(1, n_nodes))  # all of few nodes
    kept = []
    for (source, target), n in sorted(links.items(), key=lambda x: (-x[1], x[0])):
        if min(n_of[source], n_of[target]) >= most_each:
            continue
        n_of[source] += 1
        n_of[target] += 1
        kept.append(GroupLink(source, target, n))
        if len(kept) == MAX_LINKS:
            break
    return kept


_NAMES: Final = "SELECT domain, id FROM web_host WHERE n_documents = 0"
_NAMES_OF_SOME: Final = f"{_NAMES} AND id IN ({{}})"
_NAMES_WITHIN: Final = """
SELECT host, id FROM web_host WHERE n_documents = 0 AND (domain = ?1 OR host = ?1)
ORDER BY host
"""


class LinkWeights:
    """Number of links to each host that is not among the crawled ones.

    Takes eight bytes for each host of the index.
    """

    def __init__(self, database: IndexDatabase) -> None:
        ((most,),) = database.rows(_MOST_ID)
        self.of_target = array("q", bytes(8 * (most + 1)))

    def count(
        self, rows: Iterable[tuple[int, int, int]], crawled: Container[int]
    ) -> None:
        """Count links.

        Args:
            rows: numbers of two hosts, and the number of links from one to the other.
            crawled: the hosts of the picture; only links from them count.
        """
        of_target, n_known = self.of_target, len(self.of_target)
        for source, target, n in rows:
            if target not in crawled and target < n_known and source in crawled:
                of_target[target] += n


class _Domain(NamedTuple):
    """Hosts of one domain; ordered by links, then by name."""

    n_links: int
    order: int
    name: str
    n_hosts: int


@dataclass(frozen=True, slots=True)
class OutsideHosts:
    """Hosts outside, as nodes.

    Attributes:
        groups: the domains with most links to them, and `elsewhere`.
        n_links: to each of these.
        n_hosts: in all of them.
        of_target: number of the domain of each host, from 1; 0: it is not linked.
        of_domain: the node of each domain by that number.
    """

    groups: tuple[HostGroup, ...] = ()
    n_links: tuple[int, ...] = ()
    n_hosts: int = 0
    of_target: array[int] = field(default_factory=lambda: array("I"))
    of_domain: Mapping[int, int] = field(default_factory=dict)

    def sizes(self, largest: int) -> list[int]:
        """Return sizes of circles, by links, below the largest of crawled hosts.

        Args:
            largest: size of a crawled node.
        """
        most = max(self.n_links, default=1)
        return [round(largest * max(_LEAST, _LARGEST * n / most)) for n in self.n_links]

    def take_links(
        self,
        rows: Iterable[tuple[int, int, int]],
        of_host: Mapping[int, int],
        found: Counter[tuple[int, int]],
    ) -> Iterator[tuple[int, int, int]]:
        """Count the links from crawled nodes to these; yield the other links.

        Args:
            rows: as in `LinkWeights.count`.
            of_host: the node of each crawled host; these nodes come after them.
            found: gets the links between two nodes.
        """
        first = max(of_host.values(), default=-1) + 1
        rest = len(self.groups) - 1  # `elsewhere`, if there are others
        of_target, n_known = self.of_target, len(self.of_target)
        for row in rows:
            source, target, n = row
            domain = of_target[target] if target < n_known else 0
            if domain:
                if (node := of_host.get(source)) is not None:
                    found[node, first + self.of_domain.get(domain, rest)] += n
            else:
                yield row


def group_outside(
    database: IndexDatabase, weights: LinkWeights, most: int, *, within: str = ""
) -> OutsideHosts:
    """Return linked hosts outside as nodes.

    Args:
        database: to read.
        weights: links to them.
        most: nodes, 1 or more.
        within: a domain or host: only its hosts, each of which is a node.
    """
    of_target = array("I", bytes(4 * len(weights.of_target)))
    named = _named(database, weights, within)
    first, n_hosts, n_links = _gathered(named, weights, of_target, most + 1)
    shown = first if len(first) <= most else first[: most - 1]
    groups = [HostGroup(each.name, "linked", each.n_hosts, 0) for each in shown]
    counts = [each.n_links for each in shown]
    if len(shown) < len(first):
        n_left = n_hosts - sum(each.n_hosts for each in shown)
        groups.append(HostGroup("elsewhere", "elsewhere", n_left, 0))
        counts.append(n_links - sum(counts))
    of_domain = {-each.order: n for n, each in enumerate(shown)}
    return OutsideHosts(tuple(groups), tuple(counts), n_hosts, of_target, of_domain)


def _gathered(
    named: Iterable[tuple[str, int]],
    weights: LinkWeights,
    of_target: array[int],
    most: int,
) -> tuple[list[_Domain], int, int]:
    """Return the first domains by links, and hosts and links of all of them.

    Args:
        named: hosts in the order of their domains.
        weights: links to them.
        of_target: gets the number of the domain of each host that is linked.
        most: domains to return.
    """
    first: list[_Domain] = []
    n_hosts = n_links = 0
    for number, (name, hosts) in enumerate(groupby(named, lambda row: row[0]), 1):
        of_name = n_of_name = 0
        for _, host in hosts:
            if host < len(of_target) and (n := weights.of_target[host]):
                of_target[host] = number
                of_name, n_of_name = of_name + 1, n_of_name + n
        if of_name:
            n_hosts, n_links = n_hosts + of_name, n_links + n_of_name
            push = heappush if len(first) < most else heappushpop
            push(first, _Domain(n_of_name, -number, name, of_name))
    return sorted(first, reverse=True), n_hosts, n_links


def _named(
    database: IndexDatabase, weights: LinkWeights, within: str
) -> Iterable[tuple[str, int]]:
    """Return names and numbers of hosts that were not crawled, in order of names."""
    execute = database.connection.execute
    if within:
        return execute(_NAMES_WITHIN, (within,))
    linked = [number for number, n in enumerate(weights.of_target) if n]
    if len(linked) > _FEW:
        return execute(f"{_NAMES} ORDER BY domain")
    found: list[tuple[str, int]] = []
    for some in in_batches(linked, _BATCH_SIZE):
        marks = ", ".join("?" * len(some))
        found += execute(_NAMES_OF_SOME.format(marks), some)
    return sorted(found)


_ROWS: Final = """
SELECT v.host, s.space, w.host FROM host_vocabulary AS v
JOIN vocabulary_space AS s ON s.id = v.space JOIN web_host AS w ON w.id = v.host
ORDER BY v.host, v.n DESC, s.space LIMIT ?
"""


def main_vocabularies(database: IndexDatabase) -> dict[int, str]:
    """Return the namespace that each host uses most, by the number of the host.

    The vocabularies of RDF, RDFS, OWL and XML Schema count only if there is no other.

    Raises:
        sqlite3.Error: the index cannot be read.
    """
    found: dict[int, str] = {}
    general: dict[int, str] = {}
    rows = database.connection.execute(_ROWS, (_MOST_ROWS,))
    for number, space, host in rows:
        if number in found:
            continue
        if space in _GENERAL:
            general.setdefault(number, space)
        elif f"//{host}/" in space:
            general.setdefault(number, OWN)
        else:
            found[number] = space
    return general | found
