"""Files of machines that are incomplete, foreign or of another form are refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rdfcrawl.analysis.spark.machine_file import check_machine_files, write_machine_file
from rdfcrawl.analysis.urldb.building import build
from rdfcrawl.analysis.urldb.database import UrlDatabase
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.stores.provenance.records import Activity
from rdfcrawl.uri import NormalForm
from tests.support.url_events import LinksFound, UrlFetched, write_events

if TYPE_CHECKING:
    from pathlib import Path

A, B = "http://a.example/a", "http://b.example/b"


def written(folder: Path, normal_form: NormalForm) -> Path:
    """Return the file of a machine."""
    root, path = folder / "crawl", folder / "machine.parquet"
    write_events(root, [UrlFetched(A, 5), LinksFound(A, 5, (B, A, "urn:isbn:1"))])
    build(root, normal_form)
    with UrlDatabase(root) as database:
        assert write_machine_file(root, database, path)[:3] == (2, 1, 1)
    return path


def test_rows_of_a_machine(tmp_path: Path) -> None:
    """If a page was fetched that links to another, then there is a row for each."""
    path = written(tmp_path, NormalForm())
    rows = pq.read_table(path).to_pylist()
    assert [row["kind"] for row in rows] == ["url", "url", "links", "activity"]
    assert {row["url"] for row in rows[:2]} == {A, B}
    assert (rows[2]["version"], len(rows[2]["targets"])) == (5, 2)
    found = Activity._make(json.loads(rows[3]["content"]))
    assert (found.url, found.status, found.n_faults) == (A, "SUCCESSFUL", 0)
    assert check_machine_files([path, path]) == NormalForm()
    assert [x.name for x in tmp_path.iterdir() if "draft" in x.name] == []


def test_torn_and_foreign_files_are_refused(tmp_path: Path) -> None:
    """If a file is torn, of something else, or missing, then one line says which."""
    path = written(tmp_path, NormalForm())
    content = path.read_bytes()
    torn = tmp_path / "torn.parquet"
    for n_bytes in (0, 3, 4, 12, len(content) // 2, len(content) - 1):
        torn.write_bytes(content[:n_bytes])
        with pytest.raises(ConfigError, match=r"torn\.parquet: is incomplete, or not"):
            check_machine_files([path, torn])
    foreign = tmp_path / "foreign.parquet"
    pq.write_table(pa.table({"kind": ["url"]}), foreign)
    with pytest.raises(ConfigError, match="was not written by `urldb observe`"):
        check_machine_files([foreign])
    schema = pq.read_schema(path).with_metadata({"rdfcrawl": '{"format": 7}'})
    pq.write_table(schema.empty_table(), foreign)
    with pytest.raises(ConfigError, match="has format 7, not 3; write it again"):
        check_machine_files([foreign])
    with pytest.raises(ConfigError, match="name at least one file"):
        check_machine_files([])
    with pytest.raises(FileNotFoundError):
        check_machine_files([tmp_path / "none.parquet"])


def test_normal_forms_that_differ_are_refused(tmp_path: Path) -> None:
    """If machines leave out other parameters of sessions, then they have other URIs."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    files = [
        written(tmp_path / "a", NormalForm()),
        written(tmp_path / "b", NormalForm(("sid",))),
    ]
    with pytest.raises(ConfigError, match=r"SESSION_PARAMETERS differ: .*/a/.*/b/"):
        check_machine_files(files)
