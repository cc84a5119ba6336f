"""Hosts as nodes of a picture: the large ones alone, the others in groups."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MAX_LINKS: Final = 1200  # to draw
_LINKS_OF_NODE: Final = 4  # the strongest of each node, in either direction

GroupKind = Literal["host", "domain", "suffix", "rest", "linked", "elsewhere"]


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
        name: of the host or registered domain; `.org` of a suffix; `others`;
            `elsewhere`.
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
    left = _gather(left, "domain", most // 4, groups, of_host)
    left = _gather(left, "suffix", most // 4 - 1, groups, of_host)
    if left:
        _append("others", "rest", left, groups, of_host)
    return groups, of_host


def _gather(
    hosts: Sequence[CrawledHost],
    kind: GroupKind,
    n_groups: int,
    groups: list[HostGroup],
    of_host: dict[int, int],
) -> list[CrawledHost]:
    """Make the largest groups of a kind; return the remaining hosts."""
    members: dict[str, list[CrawledHost]] = {}
    for each in hosts:
        name = each.domain if kind == "domain" else suffix_of(each.domain)
        members.setdefault(name, []).append(each)
    least = 2 if kind == "domain" else 1
    sized = sorted(
        (name for name, some in members.items() if name and len(some) >= least),
        key=lambda name: (-sum(x.n_documents for x in members[name]), name),
    )
    chosen = set(sized[:n_groups])
    for name in sized[:n_groups]:
        _append(name, kind, members[name], groups, of_host)
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
