"""Cut a dump into the descriptions of its URIs.

A table in a file sorts the triples by subject and by object, which may exceed memory;
then the description of each resource is looked up.

A sample is compared with the description in the dump in groups of statements connected
by blank nodes (minimal self-contained graphs), because blank nodes have no names.

Source: section 7 of the second revision (see `semantic`); P. Stickler, "CBD - Concise
Bounded Description" (W3C member submission, 2005-06-03); Tummarello et al., "Signing
individual fragments of an RDF graph" (2005) for minimal self-contained graphs.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.core.messages import counted
from rdfcrawl.core.namespaces import RDF
from rdfcrawl.rdf.blank_nodes import Triple, iter_components, signature, stable_names
from rdfcrawl.rdf.graphs import GraphRule
from rdfcrawl.sources.sitemaps.semantic import Slicing, UriPrefix

MAX_TRIPLES: Final = 100_000  # of one description, or of each side of a comparison
MEMORY_BYTES: Final = 32 * 2**20
_BLOCK_BYTES: Final = 256 * 1024

# Canonical N-Quads: subject, predicate, object (a node or a literal), graph.
TRIPLE: Final = re.compile(
    rb"^(?P<subject><[^>\n]*>|_:[^ \n]+) (?P<predicate><[^>\n]*>) "
    rb"(?:(?P<node><[^>\n]*>|_:[^ \n]+)"
    rb"|(?P<literal>\"(?:[^\"\\\n]|\\.)*\"(?:\^\^<[^>\n]*>|@[A-Za-z0-9\-]+)?))"
    rb"(?: (?P<graph><[^>\n]*>|_:[^ \n]+))? \.$",
    re.MULTILINE,
)
_RDF = f"<{RDF}".encode()
_REIFIED, _PREDICATE, _OBJECT = (
    _RDF + name for name in (b"subject>", b"predicate>", b"object>")
)
_Step = tuple[bytes, bool]  # a node, and whether it is followed forward
_Row = tuple[bytes, bytes, "bytes | None", bytes]


class DescribedResources(NamedTuple):
    """The description of the resources of one document.

    `lines` are N-Quads in the graph of the `url`, in a fixed order.
    """

    url: str
    lines: bytes


def slice_dump(
    chunks: Iterable[bytes],
    prefixes: Iterable[UriPrefix],
    *,
    slicing: Slicing,
    log: FaultLog,
    folder: Path | None = None,
    max_triples: int = MAX_TRIPLES,
) -> Iterator[DescribedResources]:
    """Yield the description of each document below the prefixes.

    A document describes all resources with URIs that differ only by a fragment. Equal
    triples are merged. Blank nodes keep their labels: they are the same nodes in all
    descriptions. `chunks` are complete lines of canonical N-Quads; their graphs are
    ignored. `slicing` is for prefixes without a slicing method; `folder` is for a
    temporary file.

    `log` receives `LITERAL_TOO_LONG` for descriptions of more than `max_triples`, and
    `FOREIGN_GRAPH` for those of other origins than the prefixes, which are all skipped;
    and `BAD_TERM` for invalid lines.

    Raises:
        sqlite3.Error: the disk refuses the file.
    """
    prefixes = tuple(prefixes)
    with closing(_Table(folder)) as table:
        table.fill(_rows(chunks, log))
        rules = [GraphRule(prefix.url) for prefix in prefixes]
        for url, resources in _documents(table, prefixes):
            if not any(rule.admits(url) for rule in rules):
                # `http://a.example` is also a prefix of `http://a.example.org/`.
                log.note(Reason.FOREIGN_GRAPH, f"a description of {url}")
                continue
            method = next((x.slicing for x in prefixes if x.covers(url)), None)
            lines: set[bytes] = set()
            reader = _Reader(table, method or slicing, max_triples)
            if all(reader.read(resource, lines) for resource in resources):
                if lines:
                    yield DescribedResources(url, _in_graph(lines, url))
            else:
                most = counted(max_triples, "triple")
                detail = f"a description of more than {most}: {url}"
                log.note(Reason.LITERAL_TOO_LONG, detail)


class _Table:
    """Triples in a file, indexed by subject and by object."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = TemporaryDirectory(prefix="slicing-", dir=folder)
        path = Path(self._folder.name, "triples")
        self._db = sqlite3.connect(path, isolation_level=None)
        for pragma in (
            "journal_mode=OFF",
            "synchronous=OFF",
            "locking_mode=EXCLUSIVE",
            f"cache_size=-{MEMORY_BYTES // 1024}",
        ):
            self._db.execute(f"PRAGMA {pragma}")
        self._db.execute("CREATE TABLE t (s BLOB, p BLOB, o BLOB, line BLOB)")

    def fill(self, rows: Iterable[_Row]) -> None:
        self._db.execute("BEGIN")
        self._db.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        self._db.execute("CREATE INDEX by_s ON t (s)")
        self._db.execute("CREATE INDEX by_o ON t (o) WHERE o IS NOT NULL")
        self._db.execute("COMMIT")

    def of_subject(self, node: bytes) -> Iterator[_Row]:
        yield from self._db.execute("SELECT s, p, o, line FROM t WHERE s = ?", (node,))

    def of_object(self, node: bytes) -> Iterator[_Row]:
        yield from self._db.execute("SELECT s, p, o, line FROM t WHERE o = ?", (node,))

    def nodes(self, begin: bytes) -> Iterator[bytes]:
        """Yield the distinct nodes with this prefix, sorted."""
        end = begin + b"\xff"
        found = self._db.execute(
            "SELECT s FROM t WHERE s >= ? AND s < ? UNION "
            "SELECT o FROM t WHERE o IS NOT NULL AND o >= ? AND o < ? ORDER BY 1",
            (begin, end, begin, end),
        )
        return (row[0] for row in found)

    def has(self, node: bytes) -> bool:
        found = self._db.execute(
            "SELECT 1 FROM t WHERE s = ?1 "
            "UNION ALL SELECT 1 FROM t WHERE o = ?1 LIMIT 1",
            (node,),
        )
        return found.fetchone() is not None

    def close(self) -> None:
        self._db.close()
        self._folder.cleanup()


class _Reader:
    """Lookup of descriptions by one slicing method."""

    def __init__(self, table: _Table, slicing: Slicing, max_triples: int) -> None:
        self._table, self._max = table, max_triples
        self._looks_back = slicing is not Slicing.SUBJECT and slicing is not Slicing.CBD
        self._follows = slicing not in (Slicing.SUBJECT, Slicing.SUBJECT_OBJECT)
        self._is_msg = slicing is Slicing.MSG
        self._is_cbd = slicing in (Slicing.CBD, Slicing.SYMMETRIC_CBD)

    def read(self, resource: bytes, lines: set[bytes]) -> bool:
        """Add the triples of a resource; return whether they are within the limit.

        From a blank node reached as an object, the search continues to its own triples;
        from one reached as a subject, to the triples about it; and for a minimal
        self-contained graph, in both directions.
        """
        todo = [(resource, True), (resource, False)] if self._looks_back else []
        todo = todo or [(resource, True)]
        seen = set(todo)
        while todo:
            node, forward = todo.pop()
            find = self._table.of_subject if forward else self._table.of_object
            for subject, _, obj, line in find(node):
                lines.add(line)
                if len(lines) > self._max:
                    return False
                if not self._follows:
                    continue
                for step in self._steps(subject, obj, forward=forward):
                    if step not in seen:
                        seen.add(step)
                        todo.append(step)
            if self._is_cbd and forward:
                todo += self._reifications(node, lines, seen)
        return len(lines) <= self._max

    def _steps(
        self, subject: bytes, obj: bytes | None, *, forward: bool
    ) -> Iterator[_Step]:
        for node, is_forward in ((obj, True), (subject, False)):
            if node is not None and node.startswith(b"_:"):
                if self._is_msg:
                    yield node, True
                    yield node, False
                elif is_forward is forward:
                    yield node, is_forward

    def _reifications(
        self, node: bytes, lines: set[bytes], seen: set[_Step]
    ) -> Iterator[_Step]:
        """Yield the statements about the node's triples (step 3 of CBD)."""
        for statement, predicate, _, _ in self._table.of_object(node):
            if predicate != _REIFIED or (statement, True) in seen:
                continue
            parts: dict[bytes, bytes] = {}
            for subject, about, _, line in self._table.of_subject(statement):
                parts[about] = line[len(subject) + len(about) + 2 :]
            obj = parts.get(_OBJECT, b"")
            of = b"%s %s %s" % (node, parts.get(_PREDICATE, b""), obj)
            if of in lines:
                seen.add((statement, True))
                yield statement, True


def _rows(chunks: Iterable[bytes], log: FaultLog) -> Iterator[_Row]:
    for chunk in chunks:
        n_rows = 0
        for found in TRIPLE.finditer(chunk):
            n_rows += 1
            subject, predicate, node, literal = found.group(1, 2, 3, 4)
            line = b" ".join((subject, predicate, node or literal))
            yield subject, predicate, node, line
        if n_others := chunk.count(b"\n") - n_rows:
            log.note(Reason.BAD_TERM, "lines that are not triples", max(n_others, 1))


def _documents(
    table: _Table, prefixes: tuple[UriPrefix, ...]
) -> Iterator[tuple[str, list[bytes]]]:
    """Yield documents below the prefixes, with the resources described by each."""
    done: set[str] = set()
    for prefix in sorted({text for x in prefixes for text in (x.iri, x.url)}):
        if any(prefix.startswith(x) for x in done):
            continue  # below another prefix
        done.add(prefix)
        begin = b"<" + prefix.encode()
        last = b""
        for node in table.nodes(begin):
            document, mark, _ = node[:-1].partition(b"#")
            itself = document + b">"
            # Resources with a fragment are not adjacent to their document in the order
            # of names: they are collected at the document, or else at the first
            # resource.
            if document == last or (
                mark and itself.startswith(begin) and table.has(itself)
            ):
                continue
            last = document
            resources = [*table.nodes(document + b"#")]
            if not mark:
                resources.insert(0, itself)
            yield document[1:].decode(errors="replace"), resources


def iter_file_blocks(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file in blocks."""
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            yield block + file.readline()


def _in_graph(lines: set[bytes], url: str) -> bytes:
    end = b" <" + url.encode() + b"> .\n"
    return end.join(sorted(lines)) + end


@dataclass(frozen=True, slots=True)
class SampleDifference:
    """Triples of only one side, as sorted lines of N-Triples."""

    not_in_dump: tuple[str, ...]
    not_in_sample: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.not_in_dump or self.not_in_sample)


def compare_sample(
    sample: bytes, dump: bytes, *, max_triples: int = MAX_TRIPLES
) -> SampleDifference:
    """Return the difference between a sample and the description in the dump.

    The difference is false if empty; graphs of the N-Quads are ignored. Groups with
    blank nodes count as equal if colour refinement does not distinguish them, which is
    fast for all graphs, and correct except for contrived ones. At most `max_triples` of
    each side are compared.
    """
    ours = _groups(_triples(sample, max_triples))
    theirs = _groups(_triples(dump, max_triples))
    return SampleDifference(_beyond(ours, theirs), _beyond(theirs, ours))


def _triples(lines: bytes, max_triples: int) -> list[Triple]:
    found: dict[Triple, None] = {}
    for match in TRIPLE.finditer(lines):
        if len(found) >= max_triples:
            break
        subject, predicate, node, literal = match.group(1, 2, 3, 4)
        term = node or literal
        found[subject.decode(), predicate.decode(), term.decode()] = None
    return list(found)


def _groups(triples: Iterable[Triple]) -> dict[str, list[Triple]]:
    """Return the groups of triples connected by blank nodes, by signature.

    Equal groups count once: they are equivalent in RDF.
    """
    return {
        signature(group, stable_names(group)): group
        for group in iter_components(triples)
    }


def _beyond(
    ours: dict[str, list[Triple]], theirs: dict[str, list[Triple]]
) -> tuple[str, ...]:
    """Return the triples of the groups missing in the other ones."""
    return tuple(
        sorted(
            f"{' '.join(triple)} .\n"
            for name, group in ours.items()
            if name not in theirs
            for triple in group
        )
    )
