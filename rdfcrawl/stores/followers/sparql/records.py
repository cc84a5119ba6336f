"""Records of documents in a store: versions, graphs, checkpoints.

They are in one graph, `urn:rdfcrawl:documents`:

    <document> rc:stored "1790000000000 6f7a... <log> 1 0 whole"
    <document> rc:storedIn <urn:rdfcrawl:log:<log>:1>    log and generation of the same
    <document> rc:writes <graph>            a graph other than its own
    <part> rc:partOf <graph>                see `sharing`
    <urn:rdfcrawl:log:...> rc:checkpoint "{...}"

**Versions only rise**: the noted version of a document is never replaced by a lower
one, and its statements are written only by the process that has replaced the version,
or is about to. Before the statements of a known document are changed, its new version
is noted as *begun*; it is *whole* when they are stored. So after a crash, a document
that does not match its version is known.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import quote, unquote

from rdfcrawl.core.batches import in_batches
from rdfcrawl.core.errors import StoreFault
from rdfcrawl.core.messages import counted
from rdfcrawl.core.namespaces import RC
from rdfcrawl.stores.log.documents import Checkpoint, LogDocument

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdfcrawl.stores.crawl_folder import LogIdentity
    from rdfcrawl.stores.followers.sparql.store import SparqlStore

RECORDS: Final = "urn:rdfcrawl:documents"
_LOG: Final = "urn:rdfcrawl:log:"
_STORED, _WRITES = f"<{RC}stored>", f"<{RC}writes>"
_STORED_IN: Final = f"<{RC}storedIn>"
_PART_OF, _CHECKPOINT = f"<{RC}partOf>", f"<{RC}checkpoint>"
_PAGE: Final = 1000
_TEXT: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredVersion:
    """The version of a document that a store has, or is about to have.

    Attributes:
        version_ms: start of its fetch.
        digest: of its statements.
        log: that contains it.
        generation: of the log.
        n_graphs: number of graphs that it writes other than its own.
        is_whole: whether the store has exactly its statements.
    """

    version_ms: int
    digest: bytes
    log: str
    generation: int
    n_graphs: int = 0
    is_whole: bool = True

    @classmethod
    def of(cls, document: LogDocument, log: LogIdentity, n_graphs: int = 0) -> Self:
        """Return the version of a document in a log."""
        return cls(
            version_ms=document.version_ms,
            digest=document.digest,
            log=log.log,
            generation=log.generation,
            n_graphs=n_graphs,
        )

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the version of a text.

        Raises:
            ValueError: the text is not a version.
        """
        version_ms, digest, log, generation, n_graphs, state = text.split(" ")
        return cls(
            version_ms=int(version_ms),
            digest=bytes.fromhex(digest),
            log=unquote(log),
            generation=int(generation),
            n_graphs=int(n_graphs),
            is_whole=state == "whole",
        )

    def __str__(self) -> str:
        state = "whole" if self.is_whole else "begun"
        first = f"{self.version_ms} {self.digest.hex()} {quote(self.log, safe='')}"
        return f"{first} {self.generation} {self.n_graphs} {state}"

    @property
    def version(self) -> tuple[int, bytes]:
        """Order of the versions, as that of a `LogDocument`."""
        return self.version_ms, self.digest

    @property
    def begun(self) -> StoredVersion:
        """The same version, before the store has all of its statements."""
        return replace(self, is_whole=False)

    def lines_for(self, document: str) -> str:
        """Return the statements that note this version of a document."""
        generation = _generation(self.log, self.generation)
        return (
            f'<{document}> {_STORED} "{self}" .\n'
            f"<{document}> {_STORED_IN} {generation} .\n"
        )


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A store's record of one document.

    Attributes:
        versions: all noted versions; more than one after a crash.
    """

    versions: tuple[StoredVersion, ...] = ()

    @property
    def latest(self) -> StoredVersion | None:
        """The highest version."""
        return max(self.versions, key=lambda each: each.version, default=None)

    @property
    def is_whole(self) -> bool:
        """Whether the store has exactly the latest version."""
        return len(self.versions) == 1 and self.versions[0].is_whole

    @property
    def is_whole_or_new(self) -> bool:
        """Whether the store has no remains of an interrupted write."""
        return not self.versions or self.is_whole

    def lacks(self, document: LogDocument) -> bool:
        """Return whether a version must be written or noted."""
        latest = self.latest
        if latest is None or document.version > latest.version:
            return True
        return document.version == latest.version and not self.is_whole

    def has_content_of(self, document: LogDocument) -> bool:
        """Return whether the store has the statements of a version."""
        latest = self.latest
        return latest is not None and self.is_whole and latest.digest == document.digest


def change(removed: Iterable[str], added: Iterable[str]) -> bytes:
    """Return the update that replaces statements of the records."""
    parts = []
    for name, lines in (("DELETE", removed), ("INSERT", added)):
        if text := "".join(lines):
            parts.append(f"{name} DATA {{ GRAPH <{RECORDS}> {{\n{text}}} }}")
    return " ;\n".join(parts).encode()


def writes(document: str, graph: str) -> str:
    """Return the statement that a document writes a graph other than its own."""
    return f"<{document}> {_WRITES} <{graph}> .\n"


def part_of(part: str, graph: str) -> str:
    """Return the statement that a graph has a part."""
    return f"<{part}> {_PART_OF} <{graph}> .\n"


class DocumentRecords:
    """The records in one store.

    Args:
        store: that contains them.
    """

    def __init__(self, store: SparqlStore) -> None:
        self._store = store
        self._names_per_query = store.options.profile.names_per_query

    def of(self, documents: Iterable[str]) -> dict[str, DocumentRecord]:
        """Return the records of documents; unknown ones are left out."""
        found: dict[str, DocumentRecord] = {}
        for row in self._about("d", documents, f"?d {_STORED} ?x ."):
            try:
                version = StoredVersion.parse(row["x"])
            except ValueError as error:
                raise StoreFault(
                    f"{self._store.options.name}: the graph {RECORDS} was changed"
                    f" by another program: {row['x']!a}"
                ) from error
            known = found.get(row["d"], DocumentRecord())
            found[row["d"]] = DocumentRecord((*known.versions, version))
        return found

    def has_foreign(self) -> bool:
        """Return whether any document has written a graph other than its own."""
        query = (
            f"SELECT ?x WHERE {{ GRAPH <{RECORDS}> {{"
            f" {{ ?x {_WRITES} ?g }} UNION {{ ?x {_PART_OF} ?g }} }} }} LIMIT 1"
        )
        return bool(self._store.select(query))

    def writers(self, graphs: Iterable[str]) -> dict[str, set[str]]:
        """Return the documents that write each graph, except its own one."""
        found: dict[str, set[str]] = {}
        for row in self._about("g", graphs, f"?x {_WRITES} ?g ."):
            found.setdefault(row["g"], set()).add(row["x"])
        return found

    def shared(self, graphs: Iterable[str]) -> set[str]:
        """Return the graphs that have parts; a graph may have very many."""
        rows = self._about("g", graphs, f"?part {_PART_OF} ?g .", "DISTINCT ?g")
        return {row["g"] for row in rows}

    def graphs_of(self, document: str, n_graphs: int) -> set[str]:
        """Return the graphs that a document writes other than its own.

        Raises:
            StoreFault: the store returns fewer than `n_graphs`.
        """
        found: set[str] = set()
        where = f"GRAPH <{RECORDS}> {{ <{document}> {_WRITES} ?x }}"
        last = ""
        while True:
            after = f'FILTER(STR(?x) > "{last}")' if last else ""
            n_before = len(found)
            # One query, since each is a scan; but some stores limit a response.
            for last in self._store.values(
                f"SELECT ?x WHERE {{ {where} {after} }} ORDER BY STR(?x)"
            ):
                found.add(last)
            if len(found) - n_before < _PAGE:
                break
        if len(found) < n_graphs:
            raise StoreFault(
                f"{self._store.options.name}: returned {counted(len(found), 'graph')}"
                f" of {n_graphs:,} that {document} writes"
            )
        return found

    def _about(
        self, variable: str, names: Iterable[str], pattern: str, wanted: str = ""
    ) -> Iterator[dict[str, str]]:
        where = f"GRAPH <{RECORDS}> {{ {pattern} }}"
        return self._rows(variable, names, wanted or f"?{variable} ?x", where)

    def _rows(
        self, variable: str, names: Iterable[str], wanted: str, where: str
    ) -> Iterator[dict[str, str]]:
        """Yield the rows for some names, a few hundred in one query."""
        for some in in_batches(dict.fromkeys(names), self._names_per_query):
            given = " ".join(f"<{name}>" for name in some)
            yield from self._store.select(
                f"SELECT {wanted} WHERE {{ VALUES ?{variable} {{ {given} }} {where} }}"
            )

    def missing(self, graphs: Iterable[str]) -> set[str]:
        """Return the graphs without a statement."""
        wanted = list(graphs)
        where = "FILTER EXISTS { GRAPH ?g { ?s ?p ?o } }"
        rows = self._rows("g", wanted, "DISTINCT ?g", where)
        return set(wanted) - {row["g"] for row in rows}

    def earlier(self, log: LogIdentity) -> Iterator[tuple[str, int]]:
        """Yield documents of earlier generations; the caller replaces them in between.

        Stores have an index of the documents of a generation, so a page is cheap.
        """
        for generation in range(1, log.generation):
            yield from self._of_generation(_generation(log.log, generation))

    def _of_generation(self, generation: str) -> Iterator[tuple[str, int]]:
        seen: set[str] = set()
        limit = _PAGE
        while True:
            rows = self._store.select(
                f"SELECT ?d ?x WHERE {{ GRAPH <{RECORDS}> {{"
                f" ?d {_STORED_IN} {generation} . ?d {_STORED} ?x }} }} LIMIT {limit}"
            )
            fresh = {row["d"]: row["x"] for row in rows if row["d"] not in seen}
            for document, text in fresh.items():
                yield document, StoredVersion.parse(text).version_ms
            if len(rows) < limit and not fresh:
                return
            # Documents that the store refused stay, and may fill the page.
            seen = {row["d"] for row in rows}
            limit = len(rows) - len(fresh) + _PAGE

    def checkpoints(self, log: str) -> list[str]:
        """Return the checkpoints of a log; more than one text after a crash."""
        pattern = f"GRAPH <{RECORDS}> {{ {_log(log)} {_CHECKPOINT} ?x }}"
        rows = self._store.select(f"SELECT ?x WHERE {{ {pattern} }}")
        return [row["x"] for row in rows]

    def all_checkpoints(self) -> Iterator[Checkpoint]:
        """Yield the checkpoints of all logs.

        Raises:
            ValueError: a text is not a checkpoint.
        """
        pattern = f"GRAPH <{RECORDS}> {{ ?log {_CHECKPOINT} ?x }}"
        for row in self._store.select(f"SELECT ?log ?x WHERE {{ {pattern} }}"):
            name = unquote(row["log"].removeprefix(_LOG))
            yield parse_checkpoint(name, row["x"])

    def put_checkpoint(self, log: str, old: Iterable[str], new: str) -> None:
        """Note a checkpoint, then remove others: a crash leaves at least one."""

        def line(text: str) -> str:
            return f'{_log(log)} {_CHECKPOINT} "{text.translate(_TEXT)}" .\n'

        added = change([], [line(new)])
        removed = change([line(each) for each in old if each != new], [])
        self._store.update(b" ;\n".join(x for x in (added, removed) if x))


def _log(log: str) -> str:
    return f"<{_LOG}{quote(log, safe='')}>"


def _generation(log: str, generation: int) -> str:
    return f"<{_LOG}{quote(log, safe='')}:{generation}>"


def checkpoint_text(checkpoint: Checkpoint) -> str:
    """Return a checkpoint as text."""
    offsets = dict(sorted(checkpoint.offsets.items()))
    return json.dumps([checkpoint.generation, offsets])


def parse_checkpoint(log: str, text: str) -> Checkpoint:
    """Return the checkpoint of a text.

    Raises:
        ValueError: the text is not a checkpoint.
    """
    generation, offsets = json.loads(text)
    return Checkpoint(
        log, int(generation), {str(k): int(v) for k, v in offsets.items()}
    )
