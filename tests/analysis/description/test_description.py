"""The figures of a description equal those of queries over the same data."""

from __future__ import annotations

import random
import tracemalloc
from typing import TYPE_CHECKING

import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import Graph, Namespace, URIRef
from rdflib.namespace import DCAT, DCTERMS, FOAF, RDF, VOID

from rdfcrawl.analysis.description import scan as scan_module
from rdfcrawl.analysis.description import table, writing
from rdfcrawl.analysis.description.scan import FigureScan
from rdfcrawl.analysis.description.table import DistinctCount, FigureTable
from rdfcrawl.analysis.description.writing import DescriptionOptions, write_descriptions
from rdfcrawl.stores.log.crawl_log import CrawlLog, iter_latest_documents
from tests.support.shapes import DCAT_AP, violations
from tests.support.shapes import VOID as VOID_SHAPES
from tests.support.written_logs import RawVersion, write_log

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RC = Namespace("urn:rdfcrawl:vocab#")
A = f"<{RDF.type}>"
OPTIONS = DescriptionOptions("people", "me")
T0 = 1_790_000_000_000


def made_documents(chance: random.Random) -> Iterator[RawVersion]:
    """Yield versions of documents of some hosts, with all that makes counting hard."""
    for number in range(60):
        host = f"h{chance.randrange(5)}.example"
        graph = f"http://{host}/{chance.randrange(30)}"
        quads = []
        for _ in range(chance.randrange(12)):
            other = f"<http://h{chance.randrange(7)}.example/{chance.randrange(9)}>"
            subject = chance.choice([f"<{graph}#a>", f"<{graph}>", "_:b", other])
            if subject == "_:b":  # labels are unique per document
                subject = f"_:b{number}x{chance.randrange(3)}"
            predicate, term = chance.choice(
                [
                    (A, f"<http://v.example/{chance.randrange(3)}#C>"),
                    (f"<http://v.example/p{chance.randrange(4)}>", other),
                    ("<http://v.example/says>", f'"a <b> . {chance.randrange(3)}"@en'),
                    ("<http://v.example/knows>", f"_:b{number}x1"),
                ]
            )
            where = chance.choice([graph, graph, graph, f"{graph}?other"])
            quads.append(f"{subject} {predicate} {term} <{where}> .\n")
        quads += quads[:2]  # some pages say things twice
        yield RawVersion(graph, T0 + number, "".join(quads).encode())


PROVENANCE = "urn:rdfcrawl:provenance"


def described(root: Path, **options: object) -> tuple[Graph, Graph]:
    """Describe a crawl; return what rdflib reads in both files."""
    write_descriptions(CrawlLog(root), OPTIONS._replace(**options))  # type: ignore[arg-type]
    return Graph().parse(root / "void.ttl"), Graph().parse(root / "dcat.ttl")


class CountedData:
    """The latest versions of the documents of a log, in a store that counts."""

    def __init__(self, root: Path) -> None:
        self._stores: dict[str, ox.Store] = {"": ox.Store()}
        self.n_documents = dict.fromkeys(self._stores, 0)
        for document in iter_latest_documents(CrawlLog(root)):
            if document.is_tombstone:
                continue
            host = document.graph.split("/")[2]
            # One graph for each document: what two of them say counts for both.
            quads = [
                ox.Quad(x.subject, x.predicate, x.object, _named(x, document.graph))
                for piece in document.pieces()
                for x in ox.parse(piece, format=ox.RdfFormat.N_QUADS)
            ]
            for each in ("", host):
                self._stores.setdefault(each, ox.Store()).extend(quads)
                self.n_documents[each] = self.n_documents.get(each, 0) + 1

    @property
    def hosts(self) -> list[str]:
        """All hosts."""
        return [host for host in self._stores if host]

    def rows(self, host: str, query: str) -> dict[str, int]:
        """Return the numbers that a query counts, by what it groups them by."""
        found = self._stores[host].query(f"SELECT {query}")
        assert isinstance(found, ox.QuerySolutions)
        return {
            " ".join(term.value for term in row[:-1] if term is not None): int(
                row[-1].value
            )
            for row in (tuple(row) for row in found)
        }

    def number(self, host: str, query: str) -> int:
        """Return the number that a query counts."""
        return self.rows(host, query)[""]


def _named(quad: ox.Quad, document: str) -> ox.NamedNode:
    return ox.NamedNode(f"urn:x:{document}:{quad.graph_name.value}")  # type: ignore[union-attr]


GRAPH = "GRAPH ?g { ?s ?p ?o }"
COUNTS = {
    VOID.triples: f"(COUNT(*) AS ?n) {{ {GRAPH} }}",
    VOID.distinctSubjects: f"(COUNT(DISTINCT ?s) AS ?n) {{ {GRAPH} }}",
    VOID.distinctObjects: f"(COUNT(DISTINCT ?o) AS ?n) {{ {GRAPH} }}",
    VOID.properties: f"(COUNT(DISTINCT ?p) AS ?n) {{ {GRAPH} }}",
    VOID.entities: f"(COUNT(DISTINCT ?s) AS ?n) {{ {GRAPH} FILTER isIRI(?s) }}",
    VOID.classes: "(COUNT(DISTINCT ?c) AS ?n) { GRAPH ?g { ?s a ?c } }",
}
PARTS = {
    (VOID.classPartition, VOID["class"], VOID.entities): (
        "?c (COUNT(DISTINCT ?s) AS ?n) { GRAPH ?g { ?s a ?c } } GROUP BY ?c"
    ),
    (VOID.propertyPartition, VOID.property, VOID.triples): (
        f"?p (COUNT(*) AS ?n) {{ {GRAPH} }} GROUP BY ?p"
    ),
}


def parts_of(data: Graph, dataset: URIRef, *terms: URIRef) -> dict[str, int]:
    """Return the numbers of the parts of a dataset, by what they are about."""
    part, about, number = terms
    return {
        str(data.value(node, about)): int(str(data.value(node, number)))
        for node in data.objects(dataset, part)
    }


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a crawl of made documents."""
    root = tmp_path_factory.mktemp("described") / "people"
    write_log(root, made_documents(random.Random(3)))
    return root


def test_figures_are_what_queries_count(crawl: Path) -> None:
    """If a crawl is small, then all figures equal those of SPARQL queries."""
    void, _ = described(crawl)
    counted = CountedData(crawl)
    (everything,) = void.objects(
        URIRef((crawl / "void.ttl").as_uri()), FOAF.primaryTopic
    )
    datasets = {host: URIRef(f"{everything}:host:{host}") for host in counted.hosts}
    assert len(datasets) == 5
    for host, dataset in {"": URIRef(str(everything)), **datasets}.items():
        for term, query in COUNTS.items():
            assert int(str(void.value(dataset, term))) == counted.number(host, query)
        assert (
            int(str(void.value(dataset, VOID.documents))) == counted.n_documents[host]
        )
        for terms, query in PARTS.items():
            assert parts_of(void, dataset, *terms) == counted.rows(host, query)
        assert (everything, VOID.subset, dataset) in void or not host
    assert not list(void.subject_objects(RC.estimated))


def test_linksets_are_the_links_between_hosts(crawl: Path) -> None:
    """If statements of a host have IRIs of others as objects, they are its links."""
    void, _ = described(crawl)
    found = {
        tuple(
            str(void.value(node, term)).rpartition(":host:")[2]
            for term in (VOID.subjectsTarget, VOID.objectsTarget, VOID.linkPredicate)
        ): int(str(void.value(node, VOID.triples)))
        for node in void.subjects(RDF.type, VOID.Linkset)
    }
    counted = CountedData(crawl)
    expected = {
        (host, *row.split()): number
        for host in counted.hosts
        for row, number in counted.rows(
            host,
            """?host ?p (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } FILTER isIRI(?o)
            BIND(STRBEFORE(STRAFTER(STR(?o), "//"), "/") AS ?host)
            FILTER(?p != <http://www.w3.org/1999/02/22-rdf-syntax-ns#type>) }
            GROUP BY ?host ?p""",
        ).items()
        if row.split()[0] != host
    }
    assert found == expected


def test_descriptions_are_as_their_shapes_have_them(crawl: Path) -> None:
    """If a crawl is described, the shapes of VoID and DCAT-AP find nothing wrong."""
    void, dcat = described(crawl)
    assert violations(void, VOID_SHAPES) == []
    assert violations(dcat, DCAT_AP) == []
    assert len(list(dcat.subjects(RDF.type, DCAT.Catalog))) == 1
    assert len(list(dcat.subjects(RDF.type, DCAT.Dataset))) == 6
    (name,) = dcat.objects(None, DCAT.downloadURL)
    assert (crawl / str(name).rpartition("people/")[2]).is_file()


def test_shapes_of_void_notice() -> None:
    """If a description violates the note, then the shapes report it."""
    text = f"""@prefix void: <{VOID}> . <urn:x:d> a void:Dataset ; void:triples "many" ;
    void:uriSpace <http://e/> ; void:classPartition [ void:entities 1 ] .
    <urn:x:l> a void:Linkset ; void:triples 1 ; void:subjectsTarget <urn:x:d> ."""
    assert len(violations(Graph().parse(data=text, format="turtle"), VOID_SHAPES)) >= 5


def test_order_and_memory_change_nothing(
    crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If documents come in another order, into less memory, nothing else is said."""
    described(crawl)
    expected = (crawl / "void.ttl").read_bytes(), (crawl / "dcat.ttl").read_bytes()
    documents = list(made_documents(random.Random(3)))
    random.Random(5).shuffle(documents)
    other = tmp_path / "people"
    (other / "quads").mkdir(parents=True)
    identity = (crawl / "quads" / "log.json").read_bytes()
    (other / "quads" / "log.json").write_bytes(identity)
    write_log(other, documents[:20], "a")
    write_log(other, documents[20:], "b")
    monkeypatch.setattr(table, "_HELD", 40)
    monkeypatch.setattr(table, "_FILES", 3)
    described(other)
    found = (other / "void.ttl").read_bytes(), (other / "dcat.ttl").read_bytes()
    assert [_without_files(x) for x in found] == [_without_files(x) for x in expected]


@given(st.randoms(use_true_random=False), st.integers(5, 400), st.integers(2, 40))
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_figures_depend_on_no_order(
    crawl: Path, chance: random.Random, held: int, exact: int
) -> None:
    """If documents come in any order, into any memory, all figures are the same."""
    documents = list(iter_latest_documents(CrawlLog(crawl)))

    def figures() -> dict[bytes, object]:
        with FigureTable() as figure_table:
            scan = FigureScan(figure_table)
            for document in documents:
                scan.add(document)
            scan.flush()
            return {
                key: x.to_bytes() if isinstance(x, DistinctCount) else x
                for key, x in figure_table.items()
            }

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "MAX_EXACT", exact)
        expected = figures()
        patch.setattr(table, "_HELD", held)
        patch.setattr(scan_module, "_MAX_HELD_BYTES", held)
        chance.shuffle(documents)
        assert figures() == expected


def _without_files(text: bytes) -> list[bytes]:
    """Return the lines of a description but for those about segments."""
    return [x for x in text.splitlines() if b"quads/" not in x]


def test_estimates_are_marked(crawl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If counts would not fit, they are estimates, and each one is marked as such."""
    monkeypatch.setattr(table, "MAX_EXACT", 4)
    void, _ = described(crawl)
    assert violations(void, VOID_SHAPES) == []
    (everything,) = void.objects(None, FOAF.primaryTopic)
    marked = {VOID.entities, VOID.distinctSubjects, VOID.distinctObjects}
    assert set(void.objects(everything, RC.estimated)) == marked
    counted = CountedData(crawl)
    for term in marked:  # an estimate of so few is right
        number = int(str(void.value(everything, term)))
        assert number == counted.number("", COUNTS[term])
    error = void.value(everything, RC.standardError)
    assert 0 < float(str(error)) < 0.01


def test_lists_are_cut_where_they_would_be_long(
    crawl: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If there is more than is listed, the largest are, and the counts are of all."""
    whole, _ = described(crawl)
    monkeypatch.setattr(writing, "LISTED_OF_CRAWL", 2)
    monkeypatch.setattr(writing, "LISTED_OF_HOST", 1)
    void, dcat = described(crawl, n_hosts=2)
    assert violations(void, VOID_SHAPES) == violations(dcat, DCAT_AP) == []
    (everything,) = void.objects(None, FOAF.primaryTopic)
    terms = VOID.propertyPartition, VOID.property, VOID.triples
    parts = parts_of(whole, URIRef(str(everything)), *terms)
    largest = sorted(parts.items(), key=lambda item: (-item[1], item[0]))[:2]
    assert parts_of(void, URIRef(str(everything)), *terms) == dict(largest)
    for term in (VOID.properties, VOID.classes, VOID.entities, RC.hosts, RC.linksets):
        assert void.value(everything, term) == whole.value(everything, term)
    assert int(str(void.value(everything, RC.listsAtMost))) == 2
    assert len(list(void.objects(everything, VOID.subset))) == 2


def test_hostile_terms_take_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a document has very long terms, they are counted and not kept."""
    monkeypatch.setattr(table, "_HELD", 10_000)  # about 1 MB
    monkeypatch.setattr(scan_module, "_MAX_HELD_BYTES", 1024 * 1024)
    graph, long = "http://e.example/", "x" * 150_000
    lines = [
        f"<{graph}?{long}{number}> <http://p.example/{long}{number}>"
        f" <http://{long}{number}> <{graph}> .\n"
        for number in range(80)
    ]
    root = tmp_path / "people"
    write_log(root, [RawVersion(graph, T0, "".join(lines).encode())])
    tracemalloc.start()
    void, dcat = described(root)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert violations(void, VOID_SHAPES) == violations(dcat, DCAT_AP) == []
    assert (root / "void.ttl").stat().st_size < 10_000
    (everything,) = void.objects(None, FOAF.primaryTopic)
    assert int(str(void.value(everything, VOID.properties))) == 80
    assert int(str(void.value(everything, VOID.entities))) == 80
    assert peak < 12 * 1024 * 1024  # of 36 MB


def test_graphs_without_host_count_for_the_crawl(tmp_path: Path) -> None:
    """If a document has no host, then it is in the figures of the crawl alone."""
    quad = b'<urn:x:s> <urn:x:p> "a" <urn:x:g> .\n'
    root = tmp_path / "people"
    write_log(root, [RawVersion("urn:x:g", T0, quad)])
    void, dcat = described(root)
    assert violations(void, VOID_SHAPES) == violations(dcat, DCAT_AP) == []
    (everything,) = void.objects(None, FOAF.primaryTopic)
    assert int(str(void.value(everything, VOID.triples))) == 1
    assert not list(void.objects(everything, VOID.subset))


def test_terms_that_turtle_1_1_cannot_say_are_left_out(tmp_path: Path) -> None:
    """If a document has terms of RDF 1.2, or cuts a name, then it is described."""
    graph, root = "http://e.example/", tmp_path / "people"
    lines = [
        f'<{graph}> <{DCTERMS.publisher}> "Ada"@ar--rtl <{graph}> .',
        f"<{graph}> <{DCTERMS.license}> <<( <{graph}> <{graph}> _:b )>> <{graph}> .",
        f"<{graph}> <{DCTERMS.publisher}> <<( <{graph}> <{graph}> _:b )>> <{graph}> .",
        # A name of a host that is cut, within a character.
        f"<{graph}> <{graph}p> <http://x{'ä' * 200}> <{graph}> .",
    ]
    quads = "".join(f"{line}\n" for line in lines).encode()
    write_log(root, [RawVersion(graph, T0, quads)])
    void, dcat = described(root)
    assert violations(void, VOID_SHAPES) == violations(dcat, DCAT_AP) == []
    names = {str(name) for name in dcat.objects(None, FOAF.name)}
    assert names == {"me", "Ada"}
    assert not list(dcat.objects(None, DCTERMS.license))
