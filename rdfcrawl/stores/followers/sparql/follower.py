"""Follow a crawl with a SPARQL store, such as `fuseki+http://localhost:3030/ds`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import pyoxigraph as ox

from rdfcrawl.core.batches import in_batches
from rdfcrawl.core.errors import RdfcrawlError, StoreFault, UnusableStore
from rdfcrawl.core.messages import counted
from rdfcrawl.stores.followers.protocol import DocumentRefused, Follower, StoreForgot
from rdfcrawl.stores.followers.sparql.documents import (
    GroupWriter,
    PlainDocument,
    SharingWriter,
    grouped,
)
from rdfcrawl.stores.followers.sparql.failures import RefusedRequest
from rdfcrawl.stores.followers.sparql.lease import StoreLease
from rdfcrawl.stores.followers.sparql.options import SparqlStoreOptions
from rdfcrawl.stores.followers.sparql.records import (
    DocumentRecord,
    DocumentRecords,
    StoredVersion,
    change,
    checkpoint_text,
    parse_checkpoint,
)
from rdfcrawl.stores.followers.sparql.statements import (
    GraphContent,
    UncutGraph,
    by_graph,
    is_iri,
)
from rdfcrawl.stores.followers.sparql.store import SparqlStore
from rdfcrawl.stores.followers.sparql.writing import PREFIX, GraphWriter
from rdfcrawl.stores.followers.statements import file_of, iter_foreign_graphs
from rdfcrawl.stores.log.documents import Checkpoint, LogDocument, latest_versions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rdfcrawl.stores.crawl_folder import LogIdentity


_PROVENANCE: Final = f"{PREFIX}provenance"


class SparqlFollower(Follower):
    """Store with a SPARQL interface; see `protocol.Follower`.

    Args:
        options: of the store.
    """

    def __init__(self, options: SparqlStoreOptions) -> None:
        self._options = options
        self._noted: list[str] = []  # checkpoints, as the store has them
        self._is_open = False

    @classmethod
    def from_options(cls, uri: str, options: Mapping[str, object]) -> SparqlFollower:
        """Return the store of a URI.

        Raises:
            ConfigError: the URI or an option is wrong.
        """
        read = SparqlStoreOptions.read(uri, options)
        return (ProvenanceSparqlFollower if read.has_provenance else cls)(read)

    def open(self, log: LogIdentity) -> Checkpoint | None:
        """Open the store; return its checkpoint.

        Raises:
            UnusableStore: the URI or the login is wrong.
            StoreFault: the store does not respond.
        """
        self._log = log
        self._store = SparqlStore(self._options)
        self._records = DocumentRecords(self._store)
        self._writer = GraphWriter(self._store)
        self._groups = GroupWriter(self._store, self._writer, self._records)
        self._sharing = SharingWriter(self._store, self._writer, self._records)
        self._lease = StoreLease(self._store)
        self._store.before_write = self._lease.keep
        self._pool = ThreadPoolExecutor(self._options.concurrency)
        self._is_open = True
        try:
            found = self._records.checkpoints(log.log)
            read = sorted(
                (parse_checkpoint(log.log, text) for text in found),
                key=lambda each: (-each.generation, each.quads_bytes),
            )
        except BaseException as error:
            self.close()
            if isinstance(error, (RefusedRequest, ValueError)):
                raise _final_fault(
                    error, "does not respond like a SPARQL store"
                ) from None
            raise
        self._noted = found
        return read[0] if read else None

    def apply(self, documents: Sequence[LogDocument]) -> None:
        """Replace documents with these versions, unless the store has later ones.

        Raises:
            DocumentRefused: the store refuses documents; it has the others.
            StoreFault: the store accepts nothing now.
        """
        with self._leased():
            refused = self._apply(documents)
            if refused:
                first, *others = refused
                raise DocumentRefused(first.graph, first.detail, others)

    @contextmanager
    def _leased(self) -> Iterator[None]:
        """Hold the lease of the store; keep it until the next commit or failure."""
        try:
            self._lease.acquire()
            self._check_noted()
            yield
        except BaseException as error:
            with suppress(StoreFault):
                self._lease.release()
            if isinstance(error, RefusedRequest):
                raise _final_fault(error, "refuses updates") from None
            raise

    def _apply(self, documents: Sequence[LogDocument]) -> list[DocumentRefused]:
        latest = latest_versions(documents)
        refused = [
            DocumentRefused(graph, "its name is not an IRI")
            for graph in latest
            if not is_iri(graph)
        ]
        for refusal in refused:
            del latest[refusal.graph]
        return refused + self._replace(latest)

    def _check_noted(self) -> None:
        """Check that the store is as the last commit left it."""
        if sorted(self._records.checkpoints(self._log.log)) != sorted(self._noted):
            raise StoreForgot(
                f"{self._options.name}: was emptied, or another process follows the"
                " same log into it"
            )

    def _replace(self, latest: Mapping[str, LogDocument]) -> list[DocumentRefused]:
        """Replace documents; return the refusals."""
        records = self._records.of(latest)
        none = DocumentRecord()
        wanted = [
            each
            for each in latest.values()
            if records.get(each.graph, none).lacks(each)
        ]
        same = [x for x in wanted if records.get(x.graph, none).has_content_of(x)]
        self._note_versions(same, records)
        names = {each.graph for each in same}
        wanted = [each for each in wanted if each.graph not in names]
        foreign = {each.graph: set(iter_foreign_graphs(each)) for each in wanted}
        not_plain = self._not_plain(foreign, records)
        plain = [
            PlainDocument(
                each, records.get(each.graph, none), StoredVersion.of(each, self._log)
            )
            for each in wanted
            if each.graph not in not_plain
        ]
        refused = self._write_groups(plain)
        for each in wanted:
            if each.graph in not_plain:
                refused += self._write_shared(each, foreign[each.graph])
        return refused

    def _note_versions(
        self, same: Iterable[LogDocument], records: Mapping[str, DocumentRecord]
    ) -> None:
        """Note the versions of unchanged documents."""
        pairs = []
        for document in same:
            old = records[document.graph].versions[0]
            new = StoredVersion.of(document, self._log, old.n_graphs)
            pairs.append((old.lines_for(document.graph), new.lines_for(document.graph)))
        n_most = min(1000, self._options.batch_lines // 4 or 1)
        for some in in_batches(pairs, n_most):
            self._store.update(change((x for x, _ in some), (x for _, x in some)))

    def _not_plain(
        self, foreign: Mapping[str, set[str]], records: Mapping[str, DocumentRecord]
    ) -> set[str]:
        """Return the documents that write several graphs, or shared ones."""
        named = {graph for graphs in foreign.values() for graph in graphs}
        written: set[str] = set()
        if self._records.has_foreign():  # rarely; one query tests it
            written = self._records.shared(foreign)
            written |= self._records.writers(foreign.keys() - written).keys()
        return {
            graph
            for graph, graphs in foreign.items()
            if graphs
            or graph in named
            or graph in written
            or any(x.n_graphs for x in records.get(graph, DocumentRecord()).versions)
        }

    def _write_groups(self, plain: Sequence[PlainDocument]) -> list[DocumentRefused]:
        groups = grouped(plain, self._options)
        futures = [self._pool.submit(self._write_group, each) for each in groups]
        errors = [error for each in futures if (error := each.exception())]
        if errors:
            raise errors[0]
        return [refusal for each in futures for refusal in each.result()]

    def _write_group(self, group: Sequence[PlainDocument]) -> list[DocumentRefused]:
        """Write documents; find refused ones by bisection."""
        try:
            self._groups.write(group)
        except (RefusedRequest, UncutGraph) as refusal:
            if len(group) == 1:
                return [self._refused(group[0].document, refusal)]
            middle = len(group) // 2
            halves = group[:middle], group[middle:]
            return [found for half in halves for found in self._write_group(half)]
        return []

    def _write_shared(
        self, document: LogDocument, graphs: set[str]
    ) -> list[DocumentRefused]:
        bad = next((graph for graph in graphs if not is_iri(graph)), None)
        if bad is not None:
            return [DocumentRefused(document.graph, f"{bad!a}: is not an IRI")]
        try:
            self._sharing.replace(document, self._log, graphs)
        except (RefusedRequest, UncutGraph) as refusal:
            return [self._refused(document, refusal)]
        return []

    def _refused(self, document: LogDocument, refusal: StoreFault) -> DocumentRefused:
        """Return the refusal of a document, if the store accepts other writes.

        Raises:
            StoreFault: it accepts none.
        """
        try:
            self._lease.renew()
        except RefusedRequest as error:
            raise StoreFault(
                f"refuses all updates: {error}", may_pass=True
            ) from refusal
        return DocumentRefused(document.graph, str(refusal))

    def commit(self, checkpoint: Checkpoint) -> None:
        """Note the checkpoint; the store has everything before it.

        Raises:
            StoreForgot: the store is not as the last commit left it.
            StoreFault: the store accepts nothing now.
        """
        self._lease.keep()
        self._check_noted()
        text = checkpoint_text(checkpoint)
        self._records.put_checkpoint(self._log.log, self._noted, text)
        self._noted = [text]
        self._lease.release()

    def close(self) -> None:
        """Close the connections."""
        if self._is_open:
            self._is_open = False
            self._pool.shutdown()
            try:
                with suppress(RdfcrawlError):
                    self._lease.release()
            finally:
                self._store.close()

    def earlier_documents(self, log: LogIdentity) -> Iterator[tuple[str, int]]:
        """Yield documents of earlier generations of a log, and their versions.

        Raises:
            StoreForgot: the store is not as the last commit left it.
        """
        self._check_noted()
        return self._records.earlier(log)

    def checkpoints(self) -> Iterable[Checkpoint]:
        """Return the checkpoints of all logs in the store.

        Raises:
            StoreFault: the store does not respond.
        """
        return list(self._records.all_checkpoints())

    def graphs(self) -> Iterator[str]:
        """Yield the names of all graphs, except those of our records.

        Raises:
            StoreFault: the store does not respond.
        """
        foreign = self._options.profile.own_graphs
        foreign = foreign - self._records.of(sorted(foreign)).keys()
        last = ""
        while True:
            after = f'FILTER(STR(?g) > "{last}")' if last else ""
            # One query, since each is a scan; but some stores limit a response.
            names = self._store.values(
                "SELECT ?g WHERE { { SELECT DISTINCT ?g WHERE {"
                f" GRAPH ?g {{ ?s ?p ?o }} }} }} {after} }} ORDER BY STR(?g)"
            )
            before = last
            for last in names:
                is_ours = last.startswith(PREFIX) and last != _PROVENANCE
                if not is_ours and last not in foreign:
                    yield last
            if last == before:
                return

    def read_graph(self, graph: str) -> Iterator[bytes]:
        """Yield the statements of a graph as N-Quads.

        Raises:
            StoreFault: the store does not respond, or truncates its response.
        """
        n_read = 0
        name = ox.NamedNode(graph)
        response = file_of(self._store.read(graph))
        try:
            # Turtle, since some stores write more than N-Triples allows.
            for triple in ox.parse(response, format=ox.RdfFormat.TURTLE, lenient=True):
                n_read += 1
                quad = ox.Quad(triple.subject, triple.predicate, triple.object, name)
                yield f"{quad} .\n".encode()
        except SyntaxError as error:
            raise StoreFault(f"{self._options.name}: {graph}: {error}") from error
        pattern = f"{{ GRAPH <{graph}> {{ ?s ?p ?o }} }}"
        n_stored = self._count(pattern)
        if n_read < n_stored:  # TDB2 counts `1` and `01` twice, and returns one
            n_stored = self._count(f"{{ SELECT DISTINCT ?s ?p ?o WHERE {pattern} }}")
        if n_read < n_stored:
            raise StoreFault(
                f"{self._options.name}: returned {n_read:,} of"
                f" {counted(n_stored, 'statement')} of {graph}: it limits its responses"
            )

    def _count(self, pattern: str) -> int:
        """Return the number of solutions of a pattern."""
        query = f"SELECT (COUNT(*) AS ?n) WHERE {pattern}"
        return int(self._store.select(query)[0]["n"])


def _final_fault(error: RefusedRequest | ValueError, what: str) -> RdfcrawlError:
    """Return the fault of a store that refuses everything: a wrong URI, if final."""
    if isinstance(error, RefusedRequest) and error.may_pass:
        return error
    return UnusableStore(f"{what}: {error}")


class ProvenanceSparqlFollower(SparqlFollower):
    """A SPARQL store that also takes the provenance."""

    def add_provenance(self, quads: Iterable[bytes]) -> None:
        """Add statements.

        Raises:
            StoreFault: the store accepts nothing now.
        """
        for piece in quads:
            for graph, lines in by_graph([piece]).items():
                self._writer.add(GraphContent.of_lines(graph, b"".join(lines)))
