"""Draw pictures of the links between hosts from a crawl's index, and cache them."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import cos, hypot, pi, sin, sqrt
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple

from rdfcrawl.analysis.crawl_index.database import IndexDatabase
from rdfcrawl.monitor.page.host_groups import (
    NO_TERMS,
    CrawledHost,
    GroupKind,
    GroupLink,
    HostGroup,
    LinkWeights,
    OutsideHosts,
    add_links,
    group_by_domain,
    group_by_vocabulary,
    group_hosts,
    group_outside,
    main_vocabularies,
    strongest,
)

_ROUNDS: Final = 60
_APART_ROUNDS: Final = 120
_GOLDEN: Final = pi * (3 - sqrt(5))
_GAP: Final = 14.0  # between circles, for names
_LEAST, _MOST = 8.0, 60.0  # radius
_WIDER: Final = 1.4  # frames are wider than high
_KEPT: Final = 20  # pictures
_WAIT_SECS: Final = 3.0  # for the first picture of a scope
_FRESH_SECS: Final = 30.0  # then a picture is redrawn, and the old one shown meanwhile
_OUTSIDE: Final = 6  # one of so many nodes may be outside
_LINKS: Final = "SELECT source, target, n FROM host_link"


class NodePlace(NamedTuple):
    """A circle of the picture."""

    x: float
    y: float
    radius: float


def place_nodes(sizes: Sequence[int], links: Sequence[GroupLink]) -> list[NodePlace]:
    """Return a circle for each node; the area grows with its size.

    Args:
        sizes: of the nodes.
        links: between them, by their numbers.
    """
    if not sizes:
        return []
    largest = max(1, *sizes)
    radii = [max(_LEAST, _MOST * sqrt(each / largest)) for each in sizes]
    # The mean circle has room for itself and its links.
    side = 2.5 * sum(radii) / len(radii) + 2 * _GAP
    order = sorted(range(len(sizes)), key=lambda n: -sizes[n])
    xs, ys = [0.0] * len(sizes), [0.0] * len(sizes)
    for rank, n in enumerate(order):
        distance = side * sqrt(rank)
        xs[n], ys[n] = distance * cos(rank * _GOLDEN), distance * sin(rank * _GOLDEN)
    _attract_and_repel(xs, ys, links, side)
    _move_apart(xs, ys, radii)
    return [
        NodePlace(round(_WIDER * x, 1), round(y, 1), round(radius, 1))
        for x, y, radius in zip(xs, ys, radii, strict=True)
    ]


def _attract_and_repel(
    xs: list[float], ys: list[float], links: Sequence[GroupLink], side: float
) -> None:
    n_nodes = len(xs)
    heat = side * sqrt(n_nodes) / 4
    rim = side * (sqrt(n_nodes) + 1) * 0.75
    for turn in range(_ROUNDS):
        step = heat * (1 - turn / _ROUNDS) + 1.0
        dx, dy = [0.0] * n_nodes, [0.0] * n_nodes
        for a in range(n_nodes):
            ax, ay, ux, uy = xs[a], ys[a], 0.0, 0.0
            for b in range(a + 1, n_nodes):
                vx, vy = ax - xs[b], ay - ys[b]
                square = vx * vx + vy * vy + 0.01
                force = side * side / square
                vx, vy = vx * force, vy * force
                ux, uy = ux + vx, uy + vy
                dx[b] -= vx
                dy[b] -= vy
            dx[a] += ux
            dy[a] += uy
        for link in links:
            vx = xs[link.source] - xs[link.target]
            vy = ys[link.source] - ys[link.target]
            force = hypot(vx, vy) / side * 0.5
            dx[link.source] -= vx * force
            dy[link.source] -= vy * force
            dx[link.target] += vx * force
            dy[link.target] += vy * force
        for n in range(n_nodes):
            ux, uy = dx[n] - xs[n] * 0.3, dy[n] - ys[n] * 0.3
            length = hypot(ux, uy) or 1.0
            reach = min(length, step)
            x, y = xs[n] + ux / length * reach, ys[n] + uy / length * reach
            away = max(1.0, hypot(x, y) / rim)  # unlinked nodes do not drift off
            xs[n], ys[n] = x / away, y / away


def _move_apart(xs: list[float], ys: list[float], radii: list[float]) -> None:
    """Push overlapping circles away from each other, until none overlap."""
    for _ in range(_APART_ROUNDS):
        is_moved = False
        for a in range(len(xs)):
            for b in range(a + 1, len(xs)):
                vx, vy = xs[b] - xs[a], ys[b] - ys[a]
                wanted = radii[a] + radii[b] + _GAP
                if abs(vx) >= wanted or abs(vy) >= wanted:
                    continue
                distance = hypot(vx, vy)
                if distance >= wanted:
                    continue
                if distance < 0.01:
                    vx, vy, distance = cos(b), sin(b), 1.0
                push = (wanted - distance) / 2 / distance + 0.001
                xs[a] -= vx * push
                ys[a] -= vy * push
                xs[b] += vx * push
                ys[b] += vy * push
                is_moved = True
        if not is_moved:
            return


_HOSTS: Final = """
SELECT id, host, domain, n_documents FROM web_host WHERE n_documents > 0 AND {}
ORDER BY n_documents DESC, host
"""
_NEIGHBOURS: Final = """
SELECT id FROM (
    SELECT target AS id, n FROM host_link WHERE source = ?1
    UNION ALL SELECT source, n FROM host_link WHERE target = ?1
) JOIN web_host USING (id) WHERE n_documents > 0
GROUP BY id ORDER BY SUM(n) DESC LIMIT ?2
"""
_LINKING: Final = """
SELECT l.source FROM web_host AS t JOIN host_link AS l ON l.target = t.id
JOIN web_host AS s ON s.id = l.source
WHERE t.n_documents = 0 AND (t.domain = ?1 OR t.host = ?1) AND s.n_documents > 0
GROUP BY l.source ORDER BY SUM(l.n) DESC LIMIT ?2
"""


class PictureScope(NamedTuple):
    """Scope of a picture: all hosts, or those around a host, or of a domain or suffix.

    Attributes:
        about: `host`, `domain`, `suffix`, `vocabulary`, `linked` (a domain or host that
            was not crawled); empty: all.
        name: of it.
        most: nodes.
        has_outside: show hosts that were not crawled.
        group: `host`: the largest hosts alone, `domain` or `vocabulary`.
    """

    about: str
    name: str
    most: int
    has_outside: bool = True
    group: str = "host"


@dataclass(frozen=True, slots=True)
class PictureNode:
    """A circle.

    Attributes:
        name: of the host or group.
        kind: host, domain, suffix, vocabulary or rest of crawled hosts; `linked` or
            `elsewhere` of others.
        n_hosts: in it.
        n_documents: fetched from these.
        n_links: between it and the other nodes.
        x: of the centre.
        y: of the centre.
        radius: of the circle.
    """

    name: str
    kind: GroupKind
    n_hosts: int
    n_documents: int
    n_links: int
    x: float
    y: float
    radius: float


@dataclass(frozen=True, slots=True)
class HostPicture:
    """Circles for hosts and groups of hosts, and lines for the links between them.

    Attributes:
        nodes: the largest first.
        links: to draw.
        n_hosts: crawled hosts within the scope.
        n_links: pairs of linked nodes, drawn or not.
        n_outside: linked hosts that were not crawled.
        is_drawing: it is not ready; request it again.
    """

    nodes: tuple[PictureNode, ...] = ()
    links: tuple[GroupLink, ...] = ()
    n_hosts: int = 0
    n_links: int = 0
    n_outside: int = 0
    is_drawing: bool = False


class PictureService:
    """Draws pictures in threads, one for each scope at a time, and caches the latest.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._kept: dict[PictureScope, tuple[float, HostPicture]] = {}
        self._drawing: dict[PictureScope, asyncio.Task[HostPicture]] = {}
        self._turn = asyncio.Lock()

    async def picture(self, scope: PictureScope) -> HostPicture:
        """Return the picture of a scope; while it is redrawn, the old one."""
        known = self._kept.get(scope)
        is_fresh = known is not None and monotonic() - known[0] < _FRESH_SECS
        if not is_fresh and scope not in self._drawing:
            self._drawing[scope] = asyncio.create_task(self._draw(scope))
        if known is not None:
            return known[1]
        drawing = self._drawing[scope]
        await asyncio.wait({drawing}, timeout=_WAIT_SECS)
        return drawing.result() if drawing.done() else HostPicture(is_drawing=True)

    async def _draw(self, scope: PictureScope) -> HostPicture:
        try:
            async with self._turn:
                found = await asyncio.to_thread(draw_hosts, self._root, scope)
        finally:
            del self._drawing[scope]
        self._kept.pop(scope, None)
        self._kept[scope] = (monotonic(), found)
        while len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]
        return found


def draw_hosts(root: Path, scope: PictureScope) -> HostPicture:
    """Return the picture of a scope; an empty one while there is no index."""
    try:
        database = IndexDatabase.open(root, is_read=True)
    except sqlite3.Error:
        return HostPicture()
    try:
        return _drawn(database, scope)
    except sqlite3.Error:  # the index is being rebuilt
        return HostPicture()
    finally:
        database.close()


def _drawn(database: IndexDatabase, scope: PictureScope) -> HostPicture:
    hosts = _hosts_of(database, scope)
    outside = _outside(database, scope, {each.number for each in hosts})
    groups, of_host = _grouped(database, scope, hosts, len(outside.groups))
    led: Counter[tuple[int, int]] = Counter()
    rows = outside.take_links(_links_of(database, of_host), of_host, led)
    links = add_links(rows, of_host)
    drawn = strongest(links) + strongest(led, of_node=2)
    links += led
    sizes = [each.n_documents for each in groups]
    sizes += outside.sizes(max(sizes, default=0))
    groups += outside.groups
    places = place_nodes(sizes, drawn)
    n_links = [0] * len(groups)
    for (source, target), n in links.items():
        n_links[source] += n
        n_links[target] += n
    nodes = tuple(
        PictureNode(each.name, each.kind, each.n_hosts, each.n_documents, n, *place)
        for each, n, place in zip(groups, n_links, places, strict=True)
    )
    return HostPicture(nodes, tuple(drawn), len(hosts), len(links), outside.n_hosts)


def _grouped(
    database: IndexDatabase,
    scope: PictureScope,
    hosts: Sequence[CrawledHost],
    n_outside: int,
) -> tuple[list[HostGroup], dict[int, int]]:
    """Return nodes of crawled hosts, and the node of each host by its number."""
    most = scope.most - n_outside
    match scope.group:
        case "domain":
            return group_by_domain(hosts, most)
        case "vocabulary":
            vocabularies = main_vocabularies(database)
            return group_by_vocabulary(hosts, most, vocabularies, NO_TERMS)
        case _:
            return group_hosts(hosts, most)


def _outside(
    database: IndexDatabase, scope: PictureScope, crawled: set[int]
) -> OutsideHosts:
    """Return nodes of the hosts outside that the crawled ones of a scope link to."""
    if not (scope.has_outside and crawled):
        return OutsideHosts()
    weights = LinkWeights(database)
    weights.count(_links_of(database, crawled), crawled)
    within = scope.name if scope.about == "linked" else ""
    most = max(1, scope.most // _OUTSIDE)
    return group_outside(database, weights, most, within=within)


def _hosts_of(database: IndexDatabase, scope: PictureScope) -> list[CrawledHost]:
    match scope.about:
        case "domain":
            rows = database.rows(_HOSTS.format("domain = ?"), (scope.name,))
        case "suffix":
            like = "domain LIKE ? ESCAPE '!'"
            name = scope.name.replace("!", "!!").replace("%", "!%").replace("_", "!_")
            rows = database.rows(_HOSTS.format(like), (f"%{name}",))
        case "vocabulary":
            of_host = main_vocabularies(database)
            rows = database.rows(_HOSTS.format("1"))
            rows = [x for x in rows if of_host.get(x[0], NO_TERMS) == scope.name]
        case "host" | "linked":
            ids = _around(database, scope)
            marks = ", ".join("?" * len(ids))
            rows = database.rows(_HOSTS.format(f"id IN ({marks})"), ids)
        case _:
            rows = database.rows(_HOSTS.format("1"))
    return [CrawledHost(*row) for row in rows]


def _around(database: IndexDatabase, scope: PictureScope) -> list[int]:
    """Return the hosts with most links from or to a host, and that host if crawled."""
    if scope.about == "linked":
        rows = database.rows(_LINKING, (scope.name, scope.most))
        return [int(row[0]) for row in rows]
    found = database.rows("SELECT id FROM web_host WHERE host = ?", (scope.name,))
    if not found:
        return []
    centre = int(found[0][0])
    near = database.rows(_NEIGHBOURS, (centre, scope.most - 1))
    return [centre, *(int(row[0]) for row in near)]


def _links_of(
    database: IndexDatabase, crawled: Collection[int]
) -> Iterable[tuple[int, int, int]]:
    """Return the links from some hosts; of few, without reading all links."""
    execute = database.connection.execute
    if len(crawled) > 500:  # a safe length of a list in SQL
        return execute(_LINKS)
    marks = ", ".join("?" * len(crawled))
    return execute(f"{_LINKS} WHERE source IN ({marks})", [*crawled])
