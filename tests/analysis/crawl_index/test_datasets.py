"""Datasets that the index finds in documents."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.analysis.crawl_index.datasets import DatasetTally
from rdfcrawl.analysis.crawl_index.members import LogMember
from rdfcrawl.stores.provenance.blocks import ActivityBlock, encode_block
from rdfcrawl.stores.provenance.records import Activity
from tests.support.described_documents import WORKER

if TYPE_CHECKING:
    from collections.abc import Iterator

_VOID = "http://rdfs.org/ns/void#"
_DCAT = "http://www.w3.org/ns/dcat#"
_DCT = "http://purl.org/dc/terms/"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_DOCUMENT = "http://a.example/void"


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    """Return an index with the tables of the tally."""
    with sqlite3.connect(":memory:") as found:
        found.executescript(DatasetTally.schema)
        yield found
    found.close()


def _take(connection: sqlite3.Connection, *statements: tuple[str, str, str]) -> None:
    lines = "".join(f"{s} <{p}> {o} <{_DOCUMENT}> .\n" for s, p, o in statements)
    DatasetTally().take(connection, LogMember("quads", "w", 0, 1, lines.encode()))


def _rows(connection: sqlite3.Connection, columns: str) -> list[Any]:
    return connection.execute(f"SELECT {columns} FROM dataset").fetchall()


def test_void_is_understood(connection: sqlite3.Connection) -> None:
    """If a document describes a dataset by VoID, then its facts are kept."""
    name = "<http://a.example/d>"
    _take(
        connection,
        (name, _TYPE, f"<{_VOID}Dataset>"),
        (name, f"{_VOID}triples", '"12"'),
        (name, f"{_DCT}title", '"A \\"set\\""@en'),
        (name, f"{_DCT}license", "<http://l.example/>"),
        (name, f"{_DCT}modified", '"2026-01-02"'),
        ("<http://a.example/page>", f"{_DCT}title", '"no dataset"'),
    )
    columns = "name, kinds, n_stated, title, licence, modified, document"
    said = 'A "set"', "http://l.example/", "2026-01-02", _DOCUMENT
    assert _rows(connection, columns) == [("http://a.example/d", "VoID", 12, *said)]


def test_distributions_are_parts_of_datasets(connection: sqlite3.Connection) -> None:
    """If a dataset of DCAT has distributions, then these are no datasets."""
    _take(
        connection,
        ("<http://a.example/d>", _TYPE, f"<{_DCAT}Dataset>"),
        ("<http://a.example/d>", f"{_DCAT}distribution", "_:b0"),
        ("_:b0", f"{_DCAT}downloadURL", "<http://a.example/d.nt>"),
    )
    assert _rows(connection, "name, kinds") == [("http://a.example/d", "DCAT")]
    found = connection.execute("SELECT subject, value FROM dataset_said").fetchall()
    assert (f"_:b0 {_DOCUMENT}", "http://a.example/d.nt") in found


@pytest.mark.parametrize("value", ['"-5"', '"1e9"', '"' + "9" * 40 + '"', "<urn:x>"])
def test_wrong_counts_are_none(connection: sqlite3.Connection, value: str) -> None:
    """If a stated count is no number of statements, then none is known."""
    _take(connection, ("<urn:d>", f"{_VOID}triples", value))
    assert _rows(connection, "name, n_stated") == [("urn:d", None)]


def _step(n: int, run: int, task: str, n_statements: int) -> LogMember:
    step = Activity(
        "http://a.example/sparql",
        run=run,
        n_statements=n_statements,
        task=f"source(run={run}, payload=sparql(step={task}))",
    )
    return LogMember(
        "provenance", "w", n, 1, encode_block(ActivityBlock(WORKER, [step]))
    )


def test_steps_of_a_run_are_added_up(connection: sqlite3.Connection) -> None:
    """If an endpoint is read in steps, then those of its last run count together."""
    steps = [("graphs", 0, 1), ("whole", 0, 100), ("whole", 0, 20)]
    for n, (task, run, n_statements) in enumerate(steps):
        DatasetTally().take(connection, _step(n, run, task, n_statements))
    assert _rows(connection, "kinds, ways, n_stored") == [("SPARQL", "endpoint", 121)]
    DatasetTally().take(connection, _step(9, 1, "whole", 7))
    assert _rows(connection, "n_stored") == [(7,)]


def test_statements_on_a_dataset_are_bounded(connection: sqlite3.Connection) -> None:
    """If documents say very much of a dataset, then only so much is kept."""
    for begin in range(0, 500, 50):
        _take(
            connection,
            *(
                ("<urn:d>", f"{_VOID}dataDump", f"<urn:{n}>")
                for n in range(begin, begin + 50)
            ),
        )
    found = connection.execute("SELECT COUNT(*) FROM dataset_said").fetchone()
    assert found == (60,)
