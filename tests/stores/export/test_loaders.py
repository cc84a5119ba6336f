"""The commands that an export prints load its files, where the programs exist."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyoxigraph as ox
import pytest

from rdfcrawl.stores.export.exporting import export
from rdfcrawl.stores.export.loaders import GRAPH, loader_commands
from rdfcrawl.stores.export.plan import ExportPlan, FileFormat, ShardRule
from rdfcrawl.stores.export.selection import DocumentSelection
from rdfcrawl.stores.log.crawl_log import CrawlLog
from tests.support.pages import blocks, read_page
from tests.support.sparql_services import FUSEKI, find_jar, require, virtuoso_server
from tests.support.written_logs import RawVersion, write_log

if TYPE_CHECKING:
    from collections.abc import Iterable

BIN = Path(sys.executable).parent
LINE = '<http://e/s> <http://e/p> "{n} é\\t\\"x\\"" <http://e/{n}> .\n'
BLANKS = (
    "<http://e/s> <http://e/has> _:b{n}x <http://e/{n}> .\n"
    "_:b{n}x <http://e/in> <http://e/{n}> <http://e/{n}> .\n"
)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> CrawlLog:
    """Return a log with blank nodes in each document."""
    root = tmp_path_factory.mktemp("log")
    versions = [
        RawVersion(f"http://e/{n}", 1, (LINE + BLANKS).format(n=n).encode())
        for n in range(30)
    ]
    write_log(root, versions)
    return CrawlLog(root)


def commands(
    log: CrawlLog, target: Path, format_name: str, n_files: int = 0
) -> dict[str, str]:
    """Export to a file, or to several, and return the commands that load them."""
    if not n_files:
        target = target.with_name(f"{target.name}.{format_name}")
    plan = ExportPlan.of(
        f"{target}/" if n_files else str(target),
        format_name=format_name,
        shard_rule=ShardRule(n_files=n_files) if n_files else None,
        selection=DocumentSelection(),
    )
    report = export(log, plan)
    folder = target if n_files else target.parent
    names = [file.name for file in report.files]
    return dict(loader_commands(folder, names, plan.format))


def run(command: str, folder: Path) -> str:
    """Run a command for a shell, with the programs of the tests."""
    path = f"{BIN}{os.pathsep}{folder}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def canonical(quads: Iterable[ox.Quad]) -> set[ox.Quad]:
    """Return statements whose blank nodes have labels that depend on these alone."""
    dataset = ox.Dataset(quads)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return set(dataset)


def parsed(lines: str | bytes) -> set[ox.Quad]:
    """Return the statements of N-Quads."""
    return canonical(ox.parse(lines, format=ox.RdfFormat.N_QUADS))


def stored(log: CrawlLog) -> set[ox.Quad]:
    """Return the statements of the log."""
    (batch,) = log.read(log.begin())
    return parsed(b"".join(each.quads or b"" for each in batch.documents))


@pytest.mark.parametrize(("name", "n_files"), [("nq.gz", 3), ("jsonld", 0)])
def test_oxigraph_loads_what_is_exported(
    log: CrawlLog, name: str, n_files: int, tmp_path: Path
) -> None:
    """If the command for Oxigraph is run, then its store equals the log."""
    told = commands(log, tmp_path / "data", name, n_files)
    run(told["Oxigraph"], tmp_path)
    dumped = run("oxigraph dump --location oxigraph --format nq", tmp_path)
    assert parsed(dumped) == stored(log)


@pytest.mark.service
@pytest.mark.in_turn(2)
def test_jena_loads_what_is_exported(log: CrawlLog, tmp_path: Path) -> None:
    """If the command for Jena is run, then its store equals the log."""
    require(["java"], [FUSEKI])
    java = f"java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp {find_jar(FUSEKI)}"
    for name in ("tdb2.tdbloader", "tdb2.tdbdump"):
        program = tmp_path / name
        program.write_text(f'#!/bin/sh\nexec {java} {name} "$@"\n')
        program.chmod(0o755)
    told = commands(log, tmp_path / "it's data", "nq.gz", 3)
    run(told["Jena TDB2"], tmp_path)
    dumped = run("tdb2.tdbdump --loc tdb2", tmp_path).splitlines(keepends=True)
    lines = [line for line in dumped if line.startswith(("<", "_:"))]  # not its log
    assert parsed("".join(lines)) == stored(log)


@pytest.mark.service
@pytest.mark.in_turn(2)
def test_virtuoso_loads_what_is_exported(log: CrawlLog, tmp_path: Path) -> None:
    """If the command for Virtuoso is run, then it has the graphs of the log."""
    require(["virtuoso-t", "isql-vt"])
    told = commands(log, tmp_path / "data", "nq.gz", 3)
    server = virtuoso_server(tmp_path)
    server.start()
    try:
        command = told["Virtuoso"].replace("PASSWORD", "dba")
        run(command.replace(" 1111 ", f" {server.sql_address} "), tmp_path)
        query = (
            "SPARQL SELECT ?g COUNT(*) { GRAPH ?g { ?s <http://e/has> ?b . ?b"
            " <http://e/in> ?g } } GROUP BY ?g;"
        )
        words = ["isql-vt", server.sql_address, "dba", "dba", f"exec={query}"]
        rows = run(shlex.join(words), tmp_path).splitlines()
    finally:
        server.end()
    found = {row.split()[0]: row.split()[1] for row in rows if row.startswith("http")}
    assert found == {f"http://e/{n}": "1" for n in range(30)}


def test_guide_has_the_commands_that_are_told() -> None:
    """If the guide names a command for a file, then an export prints the same."""
    text = read_page("load-into-stores.md")
    file_format = FileFormat("nq", "gz")
    told = loader_commands(Path("/home/me"), ["data.nq.gz"], file_format)
    shown = [block.strip() for block in blocks(text, "sh")]
    assert [command for _, command in told if command not in shown] == []


def test_guide_of_several_files_checks_a_copy(log: CrawlLog, tmp_path: Path) -> None:
    """If files are checked as the guide says, then a changed one is found."""
    commands(log, tmp_path / "nightly", "nq.gz", 2)
    (check,) = (x for x in blocks(read_page("load-into-stores.md"), "sh") if "cd " in x)
    assert run(check.replace("python", sys.executable), tmp_path).count(": OK") == 2
    (tmp_path / "nightly" / "part-00001.nq.gz").write_bytes(b"")
    with pytest.raises(AssertionError, match=r"part-00001\.nq\.gz: FAILED"):
        run(check.replace("python", sys.executable), tmp_path)


def test_commands_of_others_name_the_files(log: CrawlLog, tmp_path: Path) -> None:
    """If a program is not at hand, then its command has the files and the format."""
    told = commands(log, tmp_path / "data", "nq.gz", 3)
    words = shlex.split(told["QLever"])
    assert words[words.index("--format") + 1] == "nq"
    lines = run(words[words.index("--cat-input-files") + 1], tmp_path)
    assert parsed(lines) == stored(log)
    paths = [path for path in shlex.split(told["GraphDB"]) if "data" in path]
    assert [Path(path).is_file() for path in paths] == [True] * 3
    words = shlex.split(told["Neptune"])
    request = json.loads(words[words.index("-d") + 1])
    assert (request["format"], request["source"]) == ("nquads", "s3://BUCKET/data/")


def test_many_files_are_a_pattern(log: CrawlLog, tmp_path: Path) -> None:
    """If there are many files, then the command is still short."""
    told = commands(log, tmp_path / "data", "nt", 25)
    assert told["Jena TDB2"] == f"tdb2.tdbloader --loc tdb2 {tmp_path}/data/*.nt"
    lines = run(told["Jena TDB2"].replace("tdb2.tdbloader --loc tdb2", "cat"), tmp_path)
    assert len(lines.splitlines()) == 90


def test_loaders_that_cannot_read_are_told(log: CrawlLog, tmp_path: Path) -> None:
    """If a loader cannot read a format, then it has no command."""
    told = commands(log, tmp_path / "data", "ttl.zst")
    assert [store for store, command in told.items() if command] == ["QLever"]
    told = commands(log, tmp_path / "data", "hdt")
    assert not any(told.values())
    told = commands(log, tmp_path / "data", "parquet", 2)
    assert [store for store, command in told.items() if command] == ["DuckDB"]
    query = shlex.split(told["DuckDB"])[-1]
    assert len(duckdb.connect().execute(query).fetchall()) == 10
    assert GRAPH.startswith("urn:")
