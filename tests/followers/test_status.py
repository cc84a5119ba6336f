"""How far a follower is behind the log is told while it follows, and afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.followers.options import FollowerPlan
from rdfcrawl.followers.process import ReportedFollowing
from rdfcrawl.followers.status import read_statuses, summaries
from rdfcrawl.stores.identity import is_finished, mark_finished
from tests.support.written_logs import Written, write_log

if TYPE_CHECKING:
    from pathlib import Path

A, B = "http://e/a", "http://e/b"
CLASS = "rdfcrawl.followers.oxigraph.OxigraphFollower"


def test_lag_is_told_in_documents_and_seconds(tmp_path: Path) -> None:
    """If the log grows, then a store is behind by what it has not read."""
    uri = f"oxigraph:{tmp_path / 'store'}"
    plan = FollowerPlan(uri=uri, class_path=CLASS, options={})
    write_log(tmp_path, [Written(A, 1000, [(A, "x")])], "1")
    run = ReportedFollowing(tmp_path, plan, is_over=lambda: True)
    run.open()
    (before,) = read_statuses(tmp_path)
    assert before.n_behind >= 1
    run.following.catch_up()
    run.report()
    assert summaries(tmp_path) == [f"store {uri}, up to date"]
    write_log(tmp_path, [Written(f"{B}{n}", 2000) for n in range(50)], "2")
    run.report()
    (now,) = read_statuses(tmp_path)
    assert 10 <= now.n_behind <= 100  # estimated: these are shorter
    assert now.secs_behind > 1000
    assert "documents, " in now.summary()
    assert now.summary().endswith(" s behind")
    run.following.catch_up()
    run.close()
    assert [each.state for each in read_statuses(tmp_path)] == ["ended"]


def test_login_in_a_uri_is_told_to_nobody() -> None:
    """If a URI has a login, then the name of its store has none."""
    uri = "sparql+http://user:secret@127.0.0.1/sparql"
    plan = FollowerPlan(uri=uri, class_path=CLASS, options={})
    assert plan.name == "sparql+http://127.0.0.1/sparql"


def test_disk_that_takes_no_mark_ends_no_crawl(tmp_path: Path) -> None:
    """If the end of a crawl cannot be noted, then nobody is bothered with that."""
    (tmp_path / "finished").symlink_to(tmp_path / "nowhere" / "finished")
    mark_finished(tmp_path)
    mark_finished(tmp_path / "nowhere")
    assert not is_finished(tmp_path)
