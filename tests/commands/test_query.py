"""`scrapy query`: results, formats and refusals."""

from __future__ import annotations

import csv
import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pyoxigraph as ox
import pytest

from rdfcrawl.core.records import Record
from tests.support.command_forks import scrapy
from tests.support.described_documents import document
from tests.support.written_logs import (
    RawVersion,
    Written,
    make_newer,
    tear_log,
    write_log,
)
from tests.support.written_provenance import write_provenance

if TYPE_CHECKING:
    import subprocess

    from tests.support.crawl_fixtures import Commands

A, B = "http://e/a", "http://e/b"
ALL = "SELECT ?o { ?s <http://e/p> ?o } ORDER BY ?o"
TURTLE = ox.RdfFormat.TURTLE


def query(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return scrapy("query", f"-sCRAWL_DIR={folder}", *words)


def answered(folder: Path, *words: str) -> str:
    """Return the answer to a query."""
    done = query(folder, *words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a crawl of two documents."""
    folder = tmp_path_factory.mktemp("query")
    nasty = f'<http://e/s> <http://e/p> "\\t\\"<&\\u001B[2J\\n"@en <{B}> .\n'
    write_log(
        folder / "one",
        [Written(A, 1, [(A, "old")]), Written(A, 2, [(A, "new")]),
         RawVersion(B, 1, nasty.encode())],
    )  # fmt: skip
    return folder


def test_provenance_is_only_in_queries_that_name_it(tmp_path: Path) -> None:
    """If a query names the provenance, then it is about that, too; others are not."""
    write_log(tmp_path / "one", [Written(A, 1, [(A, "x")])])
    write_provenance(tmp_path / "one", [document(record=Record(A))])
    everything = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", "--format", "csv"
    both = "SELECT ?o ?n { ?s <http://e/p> ?o . ?a rc:links ?n }", "--format", "csv"
    for _ in range(2):
        assert answered(tmp_path, *everything).split() == ["n", "1"]
        assert answered(tmp_path, *both).split() == ["o,n", "x,5"]
    write_log(tmp_path / "one", [Written(B, 1, [(B, "y")])])
    assert answered(tmp_path, "--update-only") == ""
    for name, n_least in (("oxigraph", 2), ("oxigraph-provenance", 20)):
        store = ox.Store.read_only(str(tmp_path / "one" / name))
        assert len(store) >= n_least
        assert set(store.quads_for_pattern(None, None, ox.Literal("y")))


def test_rows_are_the_same_in_each_format(crawl: Path) -> None:
    """If a query is answered in any format, another reader finds the same in it."""
    expected = ['\t"<&\x1b[2J\n', "new"]
    (head, *rows) = csv.reader(
        answered(crawl, ALL, "--format", "csv").splitlines(keepends=True)
    )
    assert (head, [value for (value,) in rows]) == (["o"], expected)
    for name, kind in (
        ("json", ox.QueryResultsFormat.JSON),
        ("tsv", ox.QueryResultsFormat.TSV),
    ):
        solutions = ox.parse_query_results(answered(crawl, ALL, "--format", name), kind)
        assert isinstance(solutions, ox.QuerySolutions)
        assert [row["o"].value for row in solutions] == expected
    root = ET.fromstring(answered(crawl, ALL, "--format", "xml"))
    values = [each.text for each in root.iter() if each.tag.endswith("}literal")]
    assert values == ['\t"<&\N{REPLACEMENT CHARACTER}[2J\n', "new"]


def test_default_is_json_without_a_terminal(crawl: Path) -> None:
    """If standard output is no terminal, then the answer is for programs."""
    found = json.loads(answered(crawl, ALL))
    assert len(found["results"]["bindings"]) == 2
    assert json.loads(answered(crawl, "ASK { ?s ?p 'new' }"))["boolean"] is True
    triples = answered(crawl, "CONSTRUCT WHERE { ?s ?p ?o }")
    assert len(list(ox.parse(triples, format=ox.RdfFormat.N_TRIPLES))) == 2


def test_table_escapes_control_characters(crawl: Path) -> None:
    """If a literal has control characters, then a table shows them as text."""
    table = answered(crawl, ALL, "--format", "table")
    assert "\x1b" not in table
    assert r"\x09" in table
    assert table.endswith("(2 rows)\n")


def test_graphs_are_documents(crawl: Path) -> None:
    """If a query names graphs, then each is a document in its latest version."""
    text = f"SELECT ?o {{ GRAPH <{A}> {{ ?s ?p ?o }} }}"
    assert answered(crawl, text, "--format", "csv").split() == ["o", "new"]
    text = f"SELECT ?o FROM <{A}> {{ ?s ?p ?o }}"
    assert answered(crawl, text, "--format", "csv").split() == ["o", "new"]


def test_triples_are_written_in_their_formats(crawl: Path) -> None:
    """If a query makes triples, they are N-Triples or Turtle, up to the limit."""
    for name, kind in (("nt", ox.RdfFormat.N_TRIPLES), ("ttl", ox.RdfFormat.TURTLE)):
        words = ("DESCRIBE <http://e/s>", "--format", name)
        assert len(list(ox.parse(answered(crawl, *words), format=kind))) == 2
        one = answered(crawl, *words, "--limit", "1")
        assert len(list(ox.parse(one, format=kind))) == 1


def test_limit_is_of_rows(crawl: Path) -> None:
    """If a limit is given, then at most as many rows are written."""
    assert (
        len(answered(crawl, ALL, "--limit", "1", "--format", "tsv").splitlines()) == 2
    )


def test_query_may_be_in_a_file(crawl: Path, tmp_path: Path) -> None:
    """If the query is @FILE, then it is read from there."""
    path = tmp_path / "all.rq"
    path.write_text("# comment\nPREFIX e: <http://e/>\nASK { e:s e:p ?o }")
    assert '"boolean":true' in answered(crawl, f"@{path}")


def test_store_is_brought_up_to_date(tmp_path: Path) -> None:
    """If the log has grown since the last query, then the next one knows it."""
    write_log(tmp_path / "one", [Written(A, 1, [(A, "x")])], "1")
    assert answered(tmp_path, "--update-only") == ""
    assert answered(tmp_path, ALL, "--format", "csv").split() == ["o", "x"]
    write_log(tmp_path / "one", [Written(A, 2, [(A, "y")])], "2")
    assert answered(tmp_path, ALL, "--format", "csv").split() == ["o", "y"]


def test_long_query_ends_with_its_time(crawl: Path) -> None:
    """If a query takes longer than allowed, then it is stopped with one line."""
    # Some 16 million rows to count, as each star has one of four.
    stars = " ".join(f"?s{n} ?p{n} ?o{n} ." for n in range(24))
    done = query(crawl, f"SELECT (COUNT(*) AS ?n) {{ {stars} }}", "--timeout", "0.2")
    assert done.returncode == 2
    assert done.stderr == "scrapy: --timeout 0.2: the query took longer\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["SELECT"], "query: error at 1:7: expected"),
        (["INSERT DATA { <a:> <a:> <a:> }"], "query: error at"),
        ([], "query: give one query"),
        ([ALL, ALL], "query: give one query"),
        ([ALL, "--update-only"], "query: give one query"),
        (["@/nowhere"], "/nowhere"),
        ([ALL, "--format", "ttl"], "--format ttl: the result of this query can be"),
        (["ASK {}", "--format", "csv"], "--format csv: the result"),
        (["CONSTRUCT WHERE {?s ?p ?o}", "--format", "csv"], "can be nt, ttl"),
        ([ALL, "-sCRAWL_ID=two"], "; there are one"),
    ],
)  # fmt: skip
def test_wrong_words_are_reported_in_one_line(
    crawl: Path, words: list[str], told: str
) -> None:
    """If the command is used wrongly, then one line says why."""
    done = query(crawl, *words)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert told in line


def test_several_crawls_want_a_name(tmp_path: Path) -> None:
    """If there are no crawls, or several, then one line says how to choose."""
    assert "no crawl has stored anything here" in query(tmp_path, ALL).stderr
    (tmp_path / "own" / "provenance").mkdir(parents=True)
    told = "CRAWL_ID=own: this command reads only STORE=segments"
    assert told in query(tmp_path, ALL).stderr
    assert told in query(tmp_path, ALL, "-sCRAWL_ID=own").stderr
    for name in ("one", "two"):
        write_log(tmp_path / name, [Written(A, 1, [(A, name)])])
    assert "add -s CRAWL_ID=NAME; there are one, two" in query(tmp_path, ALL).stderr
    answer = answered(tmp_path, ALL, "-sCRAWL_ID=two", "--format", "csv")
    assert answer.split() == ["o", "two"]


def test_disk_that_cannot_be_read_is_reported_in_one_line(tmp_path: Path) -> None:
    """If a segment cannot be read, then the answer is one line that says so."""
    write_log(tmp_path / "one", [Written(A, 1, [(A, "x")])])
    (tmp_path / "one" / "quads" / "z-00000.nq.gz").mkdir()
    done = query(tmp_path, ALL)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("scrapy: the log cannot be read: ")
    assert "Is a directory" in line


def test_torn_log_is_queried_and_a_newer_one_refused(tmp_path: Path) -> None:
    """If a log ends in half a member, it is read so far; a newer format is refused."""
    tear_log(tmp_path / "one", Written(A, 1, [(A, "x")]), Written(B, 1, [(B, "torn")]))
    assert answered(tmp_path, ALL, "--format", "csv").split() == ["o", "x"]
    make_newer(tmp_path / "one")
    done = query(tmp_path, ALL)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert "the log has format 99" in line


NO_RESULT = [
    ("SELECT ?s { ?s a schema:Person }",
     ["schema:Person is in no statement; <https://schema.org/Person> is"]),
    ("PREFIX s: <https://schema.org/> CONSTRUCT WHERE { ?s s:name 's:x' }",
     ["s:name is in no statement; <http://schema.org/name> is"]),
    ("ASK { GRAPH <http://e/a> { ?s foaf:nick '<urn:b>'^^xsd:int } } # <urn:c>",
     ["foaf:nick is in no statement"]),
    ("PREFIX : <http://e/> SELECT * { ?s :q|:r|rdf:type ?o FILTER(STR(?o) < <urn:d>) }",
     [":q is in no statement", ":r is in no statement", "<urn:d> is in no statement"]),
    ("SELECT * { ?s schema:name 'z' ; <https://schema.org/name> ?o ; schema:age ?a }",
     ["<https://schema.org/name> is in no statement", "schema:age is in no statement"]),
    ("BASE <http://e/> PREFIX r: <r#> SELECT * { ?s r:p <a> FILTER(1 < 2 && 2 > 1) }",
     []),
    (r"SELECT * { ?s ^<urn:e>|schema:a\-b ?a, ?b FILTER(?a<foaf:nick||?b>foaf:mbox) }",
     ["<urn:e> is in no statement", "foaf:nick is in no statement",
      "foaf:mbox is in no statement"]),
]  # fmt: skip


def test_terms_that_no_statement_has_are_named(tmp_path: Path) -> None:
    """If a query has no result, then it names its terms that no statement has."""
    lines = f"<{B}> a <https://schema.org/Person> ; <http://schema.org/name> 'x' ."
    store = ox.Store()
    store.load(lines.encode(), TURTLE, to_graph=ox.NamedNode(A))
    quads = store.dump(format=ox.RdfFormat.N_QUADS)
    write_log(tmp_path / "one", [RawVersion(A, 1, quads or b"")])
    for text, expected in NO_RESULT:
        done = query(tmp_path, text)
        assert done.returncode == 0
        assert done.stderr.splitlines() == [f"query: {line}" for line in expected]
    assert answered(tmp_path, "SELECT * { ?s ?p ?o } LIMIT 0")


def test_terms_that_are_written_in_two_ways_are_named(tmp_path: Path) -> None:
    """If a term of schema.org has both schemes, a query for one says so."""
    names = [f"{scheme}://schema.org/name" for scheme in ("http", "https")]
    lines = "".join(f'<{A}> <{name}> "x" <{A}> .\n' for name in names)
    write_log(tmp_path / "one", [RawVersion(A, 1, lines.encode())])
    done = query(tmp_path, "SELECT ?o { ?s schema:name ?o }", "--format", "csv")
    assert done.stdout.split() == ["o", "x"]
    note = f"query: schema:name is in some statements; <{names[1]}> is in others\n"
    assert done.stderr == note
    assert not query(tmp_path, f"SELECT ?o {{ ?s schema:name|<{names[1]}> ?o }}").stderr


def test_prefix_that_is_not_declared_is_named(tmp_path: Path) -> None:
    """If a query has an unknown prefix, then one line names it."""
    write_log(tmp_path / "one", [Written(A, 1, [(A, "x")])])
    done = query(tmp_path, "SELECT * { ?s foaf:name 'no:x' ; shop:price ?o }")
    assert (done.returncode, done.stdout) == (2, "")
    hint = "shop: is no known prefix; declare it: PREFIX shop: <IRI>"
    assert done.stderr == f"scrapy: query: {hint}\n"


def test_watched_query_is_repeated_for_new_statements(
    tmp_path: Path, commands: Commands
) -> None:
    """If a crawl stores more, then a watched query has another answer, until Ctrl-C."""
    write_log(tmp_path / "one", [Written(A, 1, [(A, "first")])])
    words = "query", ALL, "--watch", "1", "--format", "csv"
    watching = commands.start(*words, folder=tmp_path)
    commands.wait_until(lambda: watching.stderr.count("UTC") == 1)
    write_log(tmp_path / "one", [Written(B, 1, [(B, "second")])], "other")
    commands.wait_until(lambda: watching.stderr.count("UTC") == 2)
    watching.send(signal.SIGINT)
    assert watching.wait().code == 0


def test_watching_needs_a_query_of_a_crawl(crawl: Path) -> None:
    """If a query fetches its documents, or there is none, it cannot be watched."""
    for words in (("--update-only",), (ALL, "--fetch", "1")):
        done = query(crawl, "--watch", "1", *words)
        assert done.returncode == 2
        assert "--watch needs a query" in done.stderr
