"""The example of the guide follows a crawl, and a broken one is reported."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

from tests.support.command_forks import ROOT, shared_forks
from tests.support.pages import blocks, read_page
from tests.support.written_logs import Written, write_log

if TYPE_CHECKING:
    from pathlib import Path

A, B = "http://e/a", "http://e/b"


def test_example_of_the_guide_keeps_the_latest_versions(tmp_path: Path) -> None:
    """If the guide's follower loads two logs, then it has the latest of both."""
    _, module = blocks(read_page("own-followers.md"), "python")
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "followers.py").write_text(module)

    def load(log: str) -> str:
        classes = json.dumps({"sqlite": "lab.followers.SqliteFollower"})
        done = shared_forks().run(
            *("-m", "rdfcrawl", "store", "load"),
            *(f"sqlite:{tmp_path}/latest.db", f"-sCRAWL_DIR={tmp_path}"),
            *(f"-sCRAWL_ID={log}", f"-sSTORE_CLASSES={classes}"),
            folder=tmp_path,
            env={"PYTHONPATH": f"{ROOT}:{tmp_path}", "PATH": "/usr/bin:/bin"},
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    write_log(tmp_path / "one", [Written(A, 3, [(A, "3")]), Written(B, 1, [(B, "1")])])
    write_log(tmp_path / "two", [Written(A, 2, [(A, "2")]), Written(B, 2)])
    assert "2 documents read" in load("one")
    assert "2 documents read" in load("two")
    assert "0 documents read" in load("one")
    with sqlite3.connect(tmp_path / "latest.db") as db:
        rows = dict(db.execute("SELECT graph, quads FROM documents"))
    db.close()
    assert rows == {A: Written(A, 3, [(A, "3")]).quads, B: b""}
