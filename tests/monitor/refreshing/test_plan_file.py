"""The plan of an epoch is complete or absent, and has one refresher."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.tasks import RefreshedPage
from rdfcrawl.monitor.refreshing.epochs import RefreshPlanFile, RefreshPlanHead
from rdfcrawl.monitor.refreshing.planning import PlannedFetch, RefreshReason

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEAD = RefreshPlanHead(
    log="l", generation=1, begin_ms=1000, length_ms=500, policy="fixed"
)
PAGES = [
    PlannedFetch(
        url=f"http://a.example/{n}",
        depth=n,
        parent="",
        change="r1",
        task=RefreshedPage(etag='"é"', gone_from_ms=n),
        reason=RefreshReason(
            last_ms=1,
            due_ms=None,
            n_fetches=2,
            n_content_changes=1,
            n_statement_changes=0,
            changes_per_day=0.5,
            claimed_ms=n,
        ),
    )
    for n in range(3)
]


def test_plan_is_read_unchanged(tmp_path: Path) -> None:
    """If a plan is written, then all of it is there, and replaces the one before."""
    file = RefreshPlanFile(tmp_path)
    with file.alone():
        assert file.head() is None
        assert file.write(HEAD, PAGES) == 3
        assert (file.head(), list(file.fetches())) == (HEAD, PAGES)
        assert file.write(HEAD, []) == 0
        assert list(file.fetches()) == []


def test_plan_that_breaks_off_is_none(tmp_path: Path) -> None:
    """If planning fails in between, then the plan before is still there."""

    def broken() -> Iterator[PlannedFetch]:
        yield PAGES[0]
        raise OSError("no")

    file = RefreshPlanFile(tmp_path)
    with file.alone():
        file.write(HEAD, PAGES)
        with pytest.raises(OSError, match="no"):
            file.write(replace(HEAD, begin_ms=1500), broken())
        assert (file.head(), list(file.fetches())) == (HEAD, PAGES)
    assert {path.name for path in (tmp_path / "refresh").iterdir()} == {
        *("lock", "plan.jsonl"),
    }


def test_second_refresher_is_refused(tmp_path: Path) -> None:
    """If a refresher runs, then another one says so, and the plan is unchanged."""
    file = RefreshPlanFile(tmp_path)
    with (
        file.alone(),
        pytest.raises(ConfigError, match="another refresh of this crawl is running"),
        RefreshPlanFile(tmp_path).alone(),
    ):
        pass


@pytest.mark.parametrize(
    ("other", "now_ms", "is_same"),
    [
        (HEAD, 1000, True),
        (HEAD, 1499, True),
        (HEAD, 1500, False),
        (HEAD, 999, False),
        (replace(HEAD, generation=2), 1000, False),
        (replace(HEAD, log="m"), 1000, False),
        (replace(HEAD, policy="optimal", length_ms=100), 1000, True),
    ],
)
def test_plan_is_for_one_epoch_of_one_log(
    other: RefreshPlanHead, now_ms: int, *, is_same: bool
) -> None:
    """If the epoch is over, or the crawl was restarted, then there is a new plan.

    Other settings hold from the next epoch on.
    """
    assert HEAD.is_of_epoch(other, now_ms) is is_same


@pytest.mark.parametrize("text", ["", "{}\n", "no\n", '{"log": 1}\n'])
def test_damaged_plan_is_reported(tmp_path: Path, text: str) -> None:
    """If the file is none of ours, then one line says which it is."""
    file = RefreshPlanFile(tmp_path)
    with file.alone():
        (tmp_path / "refresh" / "plan.jsonl").write_text(text)
        with pytest.raises(ConfigError, match="is not a plan of refresh"):
            file.head()
