"""`scrapy store`: load, status and verify of a store, by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph as ox
import pytest

from tests.support.command_forks import scrapy
from tests.support.written_logs import RawVersion, Written, said_in, write_log

if TYPE_CHECKING:
    import subprocess

A, B, C = "http://e/a", "http://e/b", "http://e/c"


def store(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return scrapy("store", f"-sCRAWL_DIR={folder}", *words)


def test_store_is_loaded_looked_at_and_compared(tmp_path: Path) -> None:
    """If a store differs from the log, then `verify` shows it; `load` repairs it."""
    uri = f"oxigraph:{tmp_path / 'store'}"
    write_log(tmp_path / "one", [Written(g, 1, [(g, "x")]) for g in (A, B)], "1")
    done = store(tmp_path, "load", uri)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{uri}: 2 documents read, it is up to date\n"
    assert store(tmp_path, "status").stdout == f"{uri}, up to date\n"
    assert store(tmp_path, "verify", uri).returncode == 0

    more = [Written(A, 2, [(A, "y")]), Written(B, 2), Written(C, 1, [(C, "x")])]
    write_log(tmp_path / "one", more, "2")
    assert "documents behind" in store(tmp_path, "status", uri).stdout
    done = store(tmp_path, "verify", uri)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "2 graphs in the log: 1 missing, 1 stale, 1 surplus",
        f"missing: '{C}'",
        f"stale: '{A}'",
        f"surplus: '{B}'",
    ]
    assert store(tmp_path, "load", uri).returncode == 0
    done = store(tmp_path, "verify", uri)
    assert done.stdout == "2 graphs in the log: 0 missing, 0 stale, 0 surplus\n"
    found = said_in(ox.Store.read_only(str(tmp_path / "store")))
    assert found == {(A, "y"), (C, "x")}


def test_graphs_of_blank_nodes_alone_are_not_compared(tmp_path: Path) -> None:
    """If all blank nodes of a graph are linked alike, `verify` says why it cannot."""
    uri = f"oxigraph:{tmp_path / 'store'}"
    ring = "".join(f"_:b{i} <{A}> _:b{(i + 1) % 9} <{A}> .\n" for i in range(9))
    write_log(tmp_path / "one", [RawVersion(A, 1, ring.encode())])
    assert store(tmp_path, "load", uri).returncode == 0
    done = store(tmp_path, "verify", uri)
    assert done.returncode == 1
    assert done.stdout == (
        "1 graph in the log: 0 missing, 0 stale, 0 surplus, 1 not compared\n"
        f"not compared: '{A}'\n"
        "not compared: these are equal, but for the blank nodes in statements, which"
        " take too long to compare: over 100,000 statements, or many nodes linked"
        " alike\n"
    )


def test_log_is_compacted_by_hand(tmp_path: Path) -> None:
    """If versions were replaced, then the command drops and counts them."""
    for worker in "12":
        versions = [Written(g, int(worker), [(g, worker)]) for g in (A, B)]
        write_log(tmp_path / "one", versions, worker)
    done = store(tmp_path, "compact")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("2 versions dropped: 1 of 2 finished segments had ")
    names = {path.name for path in (tmp_path / "one" / "quads").glob("*.nq.gz")}
    assert names == {"1-00000.1.nq.gz", "2-00000.nq.gz"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "store: choose an action"),
        (["load", "nowhere:x"], "STORES=nowhere:x: STORE_CLASSES has no 'nowhere'"),
        (["status"], "store status: a store has not followed the crawl"),
        (["verify", "oxigraph:"], "must be oxigraph:PATH"),
    ],
)
def test_wrong_words_are_reported_in_one_line(
    tmp_path: Path, words: list[str], told: str
) -> None:
    """If the command is used wrongly, then one line says why."""
    write_log(tmp_path / "one", [Written(A, 1)])
    done = store(tmp_path, *words)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert told in line


def test_damaged_database_is_reported_in_one_line(tmp_path: Path) -> None:
    """If the folder of a store holds something else, then one line says so."""
    write_log(tmp_path / "one", [Written(A, 1)])
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "CURRENT").write_text("nonsense")
    done = store(tmp_path, "load", f"oxigraph:{tmp_path / 'store'}")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert str(tmp_path / "store") in line


def test_disk_that_cannot_be_read_is_reported_in_one_line(tmp_path: Path) -> None:
    """If a segment cannot be read, then one line says so."""
    write_log(tmp_path / "one", [Written(A, 1, [(A, "x")])])
    (tmp_path / "one" / "quads" / "z-00000.nq.gz").mkdir()
    done = store(tmp_path, "load", f"oxigraph:{tmp_path / 'store'}")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert "Is a directory" in line
