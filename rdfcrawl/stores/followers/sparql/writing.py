"""Replace graphs of any length, by the methods that the store supports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Final

from rdfcrawl.stores.followers.sparql.client import RequestBody
from rdfcrawl.stores.followers.sparql.options import StoreProfile
from rdfcrawl.stores.followers.sparql.statements import (
    GraphContent,
    data_block,
    iter_parts,
)
from rdfcrawl.stores.followers.sparql.store import SparqlStore

PREFIX: Final = "urn:rdfcrawl:"
JOINT: Final = b" ;\n"


def name_of(kind: str, *names: str) -> str:
    """Return the name of a graph of rdfcrawl, derived from other names."""
    digests = (blake2b(each.encode(), digest_size=16).hexdigest() for each in names)
    return f"{PREFIX}{kind}:{':'.join(digests)}"


def drop(graph: str) -> bytes:
    """Return the update that removes a graph."""
    return b"DROP SILENT GRAPH <%s>" % graph.encode()


def copy(source: str, target: str) -> bytes:
    """Return the update that adds one graph to another; blank nodes stay the same."""
    return (
        f"INSERT {{ GRAPH <{target}> {{ ?s ?p ?o }} }}"
        f" WHERE {{ GRAPH <{source}> {{ ?s ?p ?o }} }}"
    ).encode()


def insert(contents: Iterable[tuple[str, bytes]], profile: StoreProfile) -> bytes:
    """Return the update that adds triples to graphs, which may share blank nodes.

    Stores that accept blank nodes only in templates may treat those of several graphs
    as different.
    """
    given = [(graph, lines) for graph, lines in contents if lines]
    if profile.has_blank_data:
        return _insert_data(given)
    some = [_split(graph, lines) for graph, lines in given]
    constant = [each for each, _ in some if each[1]]
    blank = [each for _, each in some if each[1]]
    inserts = [_insert_data(constant), *_inserts_of_templates(blank, constant)]
    return JOINT.join(each for each in inserts if each)


def _split(graph: str, lines: bytes) -> tuple[tuple[str, bytes], tuple[str, bytes]]:
    """Return triples without blank nodes, and those that may contain some."""
    if b"_:" not in lines:
        return (graph, lines), (graph, b"")
    each = lines.splitlines(keepends=True)
    constant = b"".join(line for line in each if b"_:" not in line)
    return (graph, constant), (graph, b"".join(x for x in each if b"_:" in x))


def _insert_data(contents: Sequence[tuple[str, bytes]]) -> bytes:
    blocks = b"".join(data_block(graph, [lines]) for graph, lines in contents)
    return b"INSERT DATA {\n%s}" % blocks if blocks else b""


def _inserts_of_templates(
    blank: Sequence[tuple[str, bytes]], constant: Sequence[tuple[str, bytes]]
) -> list[bytes]:
    """Return the updates that add triples with blank nodes.

    Virtuoso 7 inserts and reports SR002 if there are several graphs and a blank node in
    each triple. So a stored triple is added, or each graph is inserted separately.
    """
    blocks = [data_block(graph, [lines]) for graph, lines in blank]
    if blank and constant:
        graph, lines = constant[0]
        stored = data_block(graph, lines.splitlines(keepends=True)[:1])
        blocks = [b"".join([*blocks, stored])]
    return [b"INSERT {\n%s} WHERE {}" % block for block in blocks]


class GraphWriter:
    """Replaces graphs; each call can be repeated after a failure.

    Args:
        store: that contains them.
    """

    def __init__(self, store: SparqlStore) -> None:
        self._store = store
        self._options = store.options

    def is_small(self, content: GraphContent) -> bool:
        """Return whether a content fits into one update."""
        if content.n_bytes > self._options.batch_bytes:
            return False
        n_lines = sum(piece.count(b"\n") for piece in content.pieces())
        return n_lines <= self._options.batch_lines

    def replace(self, content: GraphContent) -> None:
        """Replace a graph.

        Raises:
            RefusedRequest: the store refuses the content.
            UncutGraph: the content is too long, and cannot be cut.
            StoreFault: the store accepts nothing now.
        """
        if self._options.method == "update" and self.is_small(content):
            lines = b"".join(content.pieces())
            self._replace_small([(content.graph, lines)])
            return
        part_bytes = self._options.profile.part_bytes
        if not content.n_bytes:
            self._update(drop(content.graph))
            return
        body: RequestBody = content.pieces
        if content.n_bytes <= self._options.batch_bytes:
            body = b"".join(content.pieces())
        is_too_long = part_bytes and content.n_bytes > part_bytes
        if is_too_long or not self._store.put(content.graph, body):
            self._replace_in_parts(content)

    def replace_all(self, contents: Iterable[GraphContent]) -> None:
        """Replace graphs; small ones by joint updates."""
        options = self._options
        pending: list[tuple[str, bytes]] = []
        n_bytes = n_lines = 0
        for content in contents:
            if options.method != "update" or not self.is_small(content):
                self.replace(content)
                continue
            lines = b"".join(content.pieces())
            n_bytes, n_lines = n_bytes + len(lines), n_lines + lines.count(b"\n")
            if n_bytes > options.batch_bytes or n_lines > options.batch_lines:
                self._replace_small(pending)
                pending, n_bytes, n_lines = [], len(lines), lines.count(b"\n")
            pending.append((content.graph, lines))
        self._replace_small(pending)

    def _replace_small(self, contents: list[tuple[str, bytes]]) -> None:
        profile = self._options.profile
        self._update(*(drop(graph) for graph, _ in contents), insert(contents, profile))

    def _update(self, *updates: bytes, is_repeatable: bool = True) -> None:
        if some := [each for each in updates if each]:
            self._store.update(JOINT.join(some), is_repeatable=is_repeatable)

    def _replace_in_parts(self, content: GraphContent) -> None:
        """Write a graph to a draft, then replace the graph by one update."""
        options = self._options
        graph = content.graph
        place = draft_of(graph) if options.profile.can_move else graph
        self._update(drop(place))
        self._add_to(place, content)
        if place != graph:  # not repeatable: it drops the draft
            moved = drop(graph), copy(place, graph), drop(place)
            self._update(*moved, is_repeatable=False)

    def add(self, content: GraphContent) -> None:
        """Add to a graph; blank nodes are new ones each time.

        Raises:
            RefusedRequest: the store refuses the content.
            UncutGraph: the content is too long, and cannot be cut.
            StoreFault: the store accepts nothing now.
        """
        self._add_to(content.graph, content)

    def _add_to(self, place: str, content: GraphContent) -> None:
        options = self._options
        long, many = max(options.batch_bytes, options.profile.part_bytes), 10**9
        if not self._store.has_post:
            long, many = options.batch_bytes, options.batch_lines
        for part in iter_parts(content.pieces, max_bytes=long, max_lines=many):
            if self._store.post(place, part):
                continue
            # Without POST, even the first part may be too long for an update.
            held = GraphContent.of_lines(place, part)
            for piece in iter_parts(
                held.pieces,
                max_bytes=options.batch_bytes,
                max_lines=options.batch_lines,
            ):
                update = insert([(place, piece)], options.profile)
                self._store.update(update, is_repeatable=False)


def draft_of(graph: str) -> str:
    """Return the name of the draft of a graph."""
    return name_of("new", graph)
