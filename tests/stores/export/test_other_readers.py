"""Other readers of the field find in exports and stores the statements of the log."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import duckdb
import pyoxigraph as ox
import pytest

from rdfcrawl.core.formats import FORMATS
from rdfcrawl.stores.followers.verification import is_same
from tests.corpora.others import read_by_others
from tests.rdf.hdt.test_other_reader import JARS, by_hdt_java, in_hdt
from tests.support.command_forks import scrapy
from tests.support.difficult_statements import (
    DOCUMENT,
    NO_ELEMENTS,
    P,
    directed_lines,
    plain_lines,
    reifying_lines,
)
from tests.support.sparql_services import FUSEKI, require
from tests.support.written_logs import RawVersion, write_log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tests.support.store_services import StoreService

Quads = set[ox.Quad]
NAMES: Final = {
    "nq": "N-Quads",
    "nt": "N-Triples",
    "trig": "TriG",
    "ttl": "Turtle",
    "jsonld": "JSON-LD",
    "rdf": "RDF/XML",
}
TYPES: Final = {each.name: each.media_types[0] for each in FORMATS if each.media_types}
WITHOUT_GRAPHS: Final = {"nt", "ttl", "rdf", "hdt"}
NUMBERS: Final = {"number", "typed"}  # Oxigraph and TDB2 write them another way
SECOND: Final = "http://e.example/second"
_SECOND_LINE: Final = f'_:b1a <{P}node> "shared" <{SECOND}> .\n'
_N3: Final = Path(__file__).parents[2] / "support" / "n3_reader.cjs"
_MODULES: Final = Path("~/.cache/rdfcrawl-services/node_modules").expanduser()
# Kinds of statements that a reader changes, as the guide says.
CHANGED: Final = {
    ("riot", "TriG"): {"dots"},
    ("riot", "Turtle"): {"dots"},
    ("riot", "RDF/XML"): {"dots"},
    ("riot", "JSON-LD"): {"dots", "direction", "tag"},
    ("pyld", "JSON-LD"): {"direction", "iri", "typed", "number"},
    ("rdflib", "TriG"): {"number"},
    ("rdflib", "Turtle"): {"number"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the log of a crawl that is named `c`."""
    root = tmp_path_factory.mktemp("crawls")
    write_crawl(root, "".join(all_lines()))
    return root


def all_lines(*, is_rdf_11: bool = False) -> Iterator[str]:
    """Yield the statements of the first document of the crawl."""
    yield from plain_lines()
    yield from directed_lines(is_rdf_11=is_rdf_11)
    yield from reifying_lines(is_rdf_11=is_rdf_11)


def write_crawl(root: Path, first: str) -> None:
    """Write the log of a crawl of two documents."""
    versions = {DOCUMENT: first, SECOND: _SECOND_LINE}
    write_log(
        root / "c", [RawVersion(name, 1, x.encode()) for name, x in versions.items()]
    )


def wanted(*, is_rdf_11: bool = False) -> Quads:
    """Return the statements of the log."""
    lines = [*all_lines(is_rdf_11=is_rdf_11), _SECOND_LINE]
    return parsed("".join(lines).encode())


def parsed(lines: bytes) -> Quads:
    """Return the statements of N-Quads."""
    return set(ox.parse(lines, format=ox.RdfFormat.N_QUADS))


def without(quads: Iterable[ox.Quad], kinds: set[str]) -> Quads:
    """Return the statements that are not of some kinds."""
    names = {f"{P}{kind}" for kind in kinds}
    return {quad for quad in quads if quad.predicate.value not in names}


def in_format(quads: Quads, suffix: str) -> Quads:
    """Return the statements that a format can express, in their graphs if it can."""
    if suffix in ("jsonld", "rdf"):
        quads = {x for x in quads if not isinstance(x.object, ox.Triple)}
    if suffix == "rdf":
        quads = without(quads, {"control", "nul"})
        quads = {x for x in quads if x.predicate.value not in NO_ELEMENTS}
        quads = {x for x in quads if getattr(x.object, "direction", None) is None}
    if suffix in WITHOUT_GRAPHS:
        quads = {ox.Quad(*x.triple) for x in quads}
    return quads


def export(folder: Path, name: str, *words: str) -> Path:
    """Run the command for a file."""
    path = folder / name
    done = scrapy("export", f"-sCRAWL_DIR={folder}", "--to", str(path), *words)
    assert done.returncode == 0, done.stderr
    return path


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        ((), 0, "Virtuoso, QLever, GraphDB, Neptune cannot read 7 statements with"),
        (("--rdf", "1.1"), 0, ""),
        (
            ("--rdf", "1.1", "--triple-terms", "omit"),
            0,
            "5 statements with a triple term left out of nq\n",
        ),
        (("--triple-terms", "omit"), 2, "--triple-terms omit: needs --rdf 1.1\n"),
        (("--rdf", "2"), 2, "--rdf 2: must be 1.1 or 1.2\n"),
    ],
)
def test_lines_say_who_cannot_read_a_file(
    words: tuple[str, ...], code: int, line: str, folder: Path
) -> None:
    """If statements of RDF 1.2 are kept or left out, then one line says so."""
    name, root = str(folder / "lines.nq"), f"-sCRAWL_DIR={folder}"
    done = scrapy("export", root, "--to", name, *words)
    assert done.returncode == code
    assert line in done.stderr
    assert done.stderr.count("\n") == bool(line)


def test_lines_say_why_statements_are_not_in_hdt(folder: Path) -> None:
    """If HDT cannot hold statements, then a line for each reason says how many."""
    name, root = str(folder / "left.hdt"), f"-sCRAWL_DIR={folder}"
    done = scrapy("export", root, "--to", name)
    assert done.returncode == 0
    assert "5 statements with a triple term left out of hdt\n" in done.stderr
    assert "1 statement with U+0000 in a literal left out of hdt\n" in done.stderr


@pytest.mark.service
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("version", ["1.1", "1.2"])
def test_others_read_the_statements_of_the_log(folder: Path, version: str) -> None:
    """If a log is exported, then each reader of a format finds all statements."""
    require(("java", "node"), (FUSEKI,))
    paths = {x: export(folder, f"{version}.{x}", "--rdf", version) for x in NAMES}
    documents = [(path.read_bytes(), NAMES[x], "x:y") for x, path in paths.items()]
    found: dict[str, list[Any]] = {**read_by_others(documents)}
    found["n3"] = [*by_n3(paths)]
    statements = wanted(is_rdf_11=version == "1.1")
    n_compared = 0
    for reader, results in found.items():
        for (suffix, name), got in zip(NAMES.items(), results, strict=True):
            if got is None or (reader == "rdflib" and version == "1.2"):
                continue
            kinds = CHANGED.get((reader, name), set())
            want = without(in_format(statements, suffix), kinds)
            same = is_same(without(got, kinds), want)
            assert same, (reader, suffix, difference(without(got, kinds), want))
            n_compared += 1
    assert n_compared >= (20 if version == "1.1" else 15)


def difference(one: Quads, other: Quads) -> set[str]:
    """Return the statements that only one side has, for messages."""
    nodes = re.compile(r"_:[^ ]+")
    first, second = ({nodes.sub("_:", str(x))[:300] for x in y} for y in (one, other))
    return first ^ second


def by_n3(paths: dict[str, Path]) -> Iterator[Quads | None]:
    """Yield the statements that N3.js finds in each file; None: not its format."""
    if not (_MODULES / "n3").is_dir():
        pytest.skip(f"without {_MODULES}/n3")
    read = [x for x in paths if x not in ("jsonld", "rdf")]
    words = [(str(paths[x]), TYPES[NAMES[x]], f"{paths[x]}.n3") for x in read]
    subprocess.run(
        ["node", str(_N3), *(word for each in words for word in each)],
        env=os.environ | {"NODE_PATH": str(_MODULES)},
        check=True,
    )
    for suffix, path in paths.items():
        yield parsed(Path(f"{path}.n3").read_bytes()) if suffix in read else None


@pytest.mark.service
def test_hdt_java_reads_the_statements_of_the_log(folder: Path) -> None:
    """If a log is exported as HDT, then hdt-java finds its statements of RDF 1.1."""
    require(["java", "javac"], JARS)
    statements = without(in_format(wanted(is_rdf_11=True), "hdt"), {"nul"})
    found = by_hdt_java(export(folder, "x.hdt", "--rdf", "1.1"))
    assert len({x for x in found if x[1] != f"{P}nul"}) == len(statements)
    texts = {x for x in statements if not isinstance(x.object, ox.BlankNode)}
    named = {x for x in texts if isinstance(x.subject, ox.NamedNode)}
    assert {tuple(map(in_hdt, x.triple)) for x in named} <= found


def test_duckdb_reads_the_statements_of_the_log(folder: Path) -> None:
    """If a log is exported as Parquet, then DuckDB finds all of its statements."""
    path = export(folder, "x.parquet")
    assert is_same(set(by_duckdb(path)), wanted())


def by_duckdb(path: Path) -> Iterator[ox.Quad]:
    """Yield the statements in a file of Parquet."""
    columns = "subject, predicate, object, object_kind, datatype, language, direction"
    with duckdb.connect() as db:
        query = f"SELECT {columns}, graph FROM read_parquet('{path}')"
        for subject, predicate, value, kind, datatype, *tag, graph in db.execute(
            query
        ).fetchall():
            yield ox.Quad(
                resource(subject),
                ox.NamedNode(predicate),
                literal(value, datatype, *tag)
                if kind == "literal"
                else triple(value)
                if kind == "triple"
                else resource(value),
                ox.NamedNode(graph),
            )


def resource(name: str) -> ox.NamedNode | ox.BlankNode:
    """Return an IRI or a blank node."""
    is_blank = name.startswith("_:")
    return ox.BlankNode(name[2:]) if is_blank else ox.NamedNode(name)


def literal(
    value: str, datatype: str, language: str | None, direction: str | None
) -> ox.Literal:
    """Return a literal by its columns."""
    if not language:
        return ox.Literal(value, datatype=ox.NamedNode(datatype))
    base = ox.BaseDirection(direction) if direction else None
    return ox.Literal(value, language=language, direction=base)


def triple(text: str) -> ox.Triple:
    """Return a triple term by its text."""
    (quad,) = parsed(f"<x:s> <x:p> {text} .\n".encode())
    assert isinstance(quad.object, ox.Triple)
    return quad.object


def in_files(path: Path) -> Quads:
    """Return the statements in the files of a folder, as pyoxigraph reads them."""
    found: Quads = set()
    for file in path.rglob("*.*"):
        kind = ox.RdfFormat.from_extension(file.suffix[1:])
        if file.is_file() and kind is not None and ".rdfcrawl" not in file.parts:
            found |= set(ox.parse(path=file, format=kind))
    return found


def in_parquet(path: Path) -> Quads:
    """Return the statements in the files of a folder of Parquet."""
    return set(by_duckdb(path / "**" / "*.parquet"))


def in_oxigraph(path: Path) -> Quads:
    """Return the statements in a database, without those of the crawl."""
    store = ox.Store.read_only(str(path))
    return {x for x in store if not x.graph_name.value.startswith("urn:rdfcrawl:")}


@pytest.mark.parametrize(
    ("scheme", "suffix", "read"),
    [
        ("nquads", "nq", in_files),
        ("ntriples", "nt", in_files),
        ("turtle", "ttl", in_files),
        ("trig", "trig", in_files),
        ("jsonld", "jsonld", in_files),
        ("parquet", "parquet", in_parquet),
        ("oxigraph", "nq", in_oxigraph),
    ],
)
def test_stores_hold_the_statements_of_the_log(
    scheme: str, suffix: str, read: Callable[[Path], Quads], folder: Path
) -> None:
    """If a store follows a log, then others read the same, and `verify` finds it."""
    loaded_and_verified(f"{scheme}:{folder}/{scheme}", folder)
    want = in_format(wanted(), suffix)
    got = read(folder / scheme)
    if scheme == "oxigraph":
        got, want = without(got, NUMBERS), without(want, NUMBERS)
    assert is_same(got, want), difference(got, want)


def loaded_and_verified(uri: str, folder: Path) -> None:
    """Fill a store from the log, and compare both."""
    for action in ("load", "verify"):
        done = scrapy("store", f"-sCRAWL_DIR={folder}", action, uri)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.service
@pytest.mark.parametrize("name", ["fuseki_store", "oxigraph_store"])
def test_servers_of_rdf_12_hold_the_statements_of_the_log(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """If a server reads RDF 1.2, then it has all statements, and `verify` finds it."""
    store: StoreService = request.getfixturevalue(name)
    store.clear()
    # Fuseki removes dot segments from the IRIs of updates.
    write_crawl(tmp_path, "".join(x for x in all_lines() if f"{P}dots" not in x))
    loaded_and_verified(store.uri, tmp_path)
    got, want = (without(x, {"dots"} | NUMBERS) for x in (store.quads(), wanted()))
    assert is_same(got, want), difference(got, want)
