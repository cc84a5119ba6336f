"""The status of a follower shows its lag, while it follows and afterwards."""

from __future__ import annotations

import os
from argparse import Namespace
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from scrapy.settings import Settings

from rdfcrawl.commands.workers import _options_of
from rdfcrawl.core.errors import StoreFault
from rdfcrawl.stores.crawl_folder import is_finished, mark_finished
from rdfcrawl.stores.followers.following import SetAside
from rdfcrawl.stores.followers.options import FollowerPlan
from rdfcrawl.stores.followers.oxigraph import OxigraphFollower
from rdfcrawl.stores.followers.process import ReportedFollowing
from rdfcrawl.stores.followers.protocol import Follower
from rdfcrawl.stores.followers.status import (
    FollowerStatus,
    read_status,
    read_statuses,
    status_path,
    summaries,
    write_status,
)
from rdfcrawl.stores.followers.supervision import FollowerProcesses
from rdfcrawl.stores.options import StoreOptions
from tests.support.written_logs import RawVersion, Written, said_in, write_log

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

A, B, C = "http://e/a", "http://e/b", "http://e/c"
CLASS = "rdfcrawl.stores.followers.oxigraph.OxigraphFollower"


def test_lag_is_told_in_documents_and_seconds(tmp_path: Path) -> None:
    """If the log grows, then a store is behind by the unread documents."""
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


def test_set_aside_and_damage_outlive_the_process(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """If a document was refused and a segment is damaged, then a restart knows both."""
    bad = RawVersion(B, 1, f'<{B}> <{B}> "\\x" <{B}> .\n'.encode())
    write_log(tmp_path, [Written(A, 1, [(A, "x")]), bad, Written(C, 1, [(C, "x")])])
    (path,) = (tmp_path / "quads").glob("*.nq.gz")
    content = bytearray(path.read_bytes())
    content[40] ^= 1  # within the member of A
    path.write_bytes(content)
    plan = FollowerPlan(
        uri=f"oxigraph:{tmp_path / 'store'}", class_path=CLASS, options={}
    )
    for n_refused in (1, 0):
        run = ReportedFollowing(tmp_path, plan, is_over=lambda: True)
        run.open()
        run.following.catch_up()
        assert isinstance(run.follower, OxigraphFollower)
        assert said_in(run.follower.store) == {(C, "x")}
        run.close()
        assert caplog.text.count("set aside, since") == n_refused
        caplog.clear()
        (status,) = read_statuses(tmp_path)
        set_aside, damage = status.details()
        assert set_aside.startswith(f"set aside: '{B}': ")
        assert damage.startswith("damaged segment quads/w-00000.nq.gz: ")
        assert damage.endswith(" bytes from byte 0 cannot be read")
        assert status.summary().endswith("1 set aside, 1 damage of the log")
    write_log(tmp_path, [Written(B, 2, [(B, "y")])], "later")
    run = ReportedFollowing(tmp_path, plan, is_over=lambda: True)
    run.open()
    run.following.catch_up()
    run.close()
    (status,) = read_statuses(tmp_path)
    assert not status.set_aside


def test_login_in_a_uri_is_told_to_nobody() -> None:
    """If a URI has a login, then the name of its store has none."""
    uri = "sparql+http://user:secret@127.0.0.1/sparql"
    plan = FollowerPlan(uri=uri, class_path=CLASS, options={})
    assert plan.name == "sparql+http://127.0.0.1/sparql"


def test_disk_that_takes_no_mark_ends_no_crawl(tmp_path: Path) -> None:
    """If the end of a crawl cannot be noted, then that is ignored."""
    (tmp_path / "finished").symlink_to(tmp_path / "nowhere" / "finished")
    mark_finished(tmp_path)
    mark_finished(tmp_path / "nowhere")
    assert not is_finished(tmp_path)


class TellingFollower(Follower):
    """A follower with a summary."""

    def __init__(self, _uri: str, _options: object) -> None:
        """Take anything."""
        self._n_applied = 0

    def open(self, log: object) -> None:
        """Start without a checkpoint."""

    def apply(self, documents: Sequence[object]) -> None:
        """Count documents."""
        self._n_applied += len(documents)

    def commit(self, checkpoint: object) -> None:
        """Keep nothing."""

    def summary(self) -> str:
        """Return the counts."""
        return f"{self._n_applied} found"


def test_what_a_follower_finds_is_told_meanwhile(tmp_path: Path) -> None:
    """If a follower has a summary, then the progress shows it while it follows."""
    write_log(tmp_path, [Written(A, 1)])
    path = f"{TellingFollower.__module__}.{TellingFollower.__qualname__}"
    plan = FollowerPlan(uri="telling:", class_path=path, options={})
    run = ReportedFollowing(tmp_path, plan, is_over=lambda: True)
    run.open()
    run.following.catch_up()
    assert summaries(tmp_path) == ["store telling:, up to date, 1 found"]
    run.close()


class ClosedFollower(Follower):
    """A follower that cannot be opened, nor be closed then."""

    def __init__(self, uri: str, options: object) -> None:
        """Take anything."""

    def open(self, log: object) -> None:
        """Refuse."""
        del log
        raise StoreFault("is away")

    def apply(self, documents: object) -> None:
        """Take nothing."""

    def commit(self, checkpoint: object) -> None:
        """Keep nothing."""

    def close(self) -> None:
        """Fail, as there is nothing to close."""
        raise AttributeError("db")


def test_store_that_cannot_even_be_closed_is_told_why(tmp_path: Path) -> None:
    """If `close` fails after `open` has failed, then the first reason is reported."""
    write_log(tmp_path, [Written(A, 1)])
    path = f"{ClosedFollower.__module__}.{ClosedFollower.__qualname__}"
    plan = FollowerPlan(uri="away:", class_path=path, options={})
    run = ReportedFollowing(tmp_path, plan, is_over=lambda: True)
    with pytest.raises(StoreFault, match="is away"):
        run.open()
    run.close("failed", "is away")
    assert summaries(tmp_path) == [
        "store away:, about 1 document behind, failed: is away"
    ]


def test_follower_that_cannot_be_started_has_not_caught_up(tmp_path: Path) -> None:
    """If the process of a follower does not come to be, then the crawl says so."""
    uri = f"oxigraph:{tmp_path / 'store'}"
    name = status_path(tmp_path, uri).stem
    (tmp_path / "logs" / f"follower-{name}.log").mkdir(parents=True)
    processes = FollowerProcesses.begin(
        tmp_path,
        StoreOptions.from_settings(Settings({"STORES": {uri: {}}})),
        dumps=False,
    )
    assert not processes.finish()


def test_workers_are_not_told_of_logins() -> None:
    """If `STORES` is on the command line, then it is in that of no worker."""
    given = ["STORES={'fuseki+http://u:s3cret@h/ds': {}}", "DOWNLOAD_DELAY=0"]
    opts = Namespace(set=given, output=["o.nq"], overwrite_output=None)
    assert _options_of(opts) == ["-sDOWNLOAD_DELAY=0", "-oo.nq"]


def test_status_is_synced_only_if_it_names_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If nothing was set aside, then no disk is waited for; else for the names."""
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    status = FollowerStatus(name="trig:x", state="following", checkpoint={})
    write_status(tmp_path, status)
    assert not synced
    named = replace(status, set_aside={A: SetAside(1, "refused")}, damages=[])
    write_status(tmp_path, named)
    assert len(synced) == 1
    assert read_status(tmp_path, "trig:x") == named
