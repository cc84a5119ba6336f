"""`scrapy store`: load, status and verify of a store, by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyoxigraph as ox
import pytest

from tests.support.written_logs import Written, said_in, write_log

ROOT = Path(__file__).resolve().parents[2]
A, B, C = "http://e/a", "http://e/b", "http://e/c"


def store(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return subprocess.run(
        [sys.executable, "-m", "scrapy", "store", f"-sCRAWL_DIR={folder}", *words],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_store_is_loaded_looked_at_and_compared(tmp_path: Path) -> None:
    """If a store differs from the log, then it is told how, and `load` mends it."""
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


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "store: say what to do"),
        (["load", "nowhere:x"], "STORES=nowhere:x: STORE_CLASSES has no 'nowhere'"),
        (["status"], "store status: a store has not followed the crawl"),
        (["verify", "oxigraph:"], "must be oxigraph:PATH"),
    ],
)
def test_wrong_words_are_told_in_one_line(
    tmp_path: Path, words: list[str], told: str
) -> None:
    """If the command cannot do what it is told, then one line says why."""
    write_log(tmp_path / "one", [Written(A, 1)])
    done = store(tmp_path, *words)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert told in line


def test_damaged_database_is_told_in_one_line(tmp_path: Path) -> None:
    """If the folder of a store holds something else, then one line says so."""
    write_log(tmp_path / "one", [Written(A, 1)])
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "CURRENT").write_text("nonsense")
    done = store(tmp_path, "load", f"oxigraph:{tmp_path / 'store'}")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert str(tmp_path / "store") in line
