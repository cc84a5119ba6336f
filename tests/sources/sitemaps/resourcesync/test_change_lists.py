"""What follows from lists of changes: their times, their order, their news."""

from __future__ import annotations

from dataclasses import replace

from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.core.times import begin_us
from rdfcrawl.sources.resourcesync.mirror import (
    DeletedResource,
    FollowStep,
    RunPart,
)
from rdfcrawl.sources.resourcesync.policy import DEFAULT_POLICY
from tests.support.resourcesync_source import (
    SITE,
    time_of,
)
from tests.support.resourcesync_steps import (
    CHANGES,
    SINCE,
    STATE,
    change,
    followed,
    steps_of,
)


def test_a_change_is_as_old_as_its_datetime_says() -> None:
    """If a list has `datetime` (1.1), then `lastmod` is not a time of a change."""
    steps = steps_of(
        CHANGES,
        [
            change("old", "updated", datetime=time_of(9)),
            change("same", "updated", datetime=time_of(10)),
            change("new", "created", datetime=time_of(11), lastmod="2000-01-01"),
            change("newer", "updated", lastmod=time_of(1)),
            change("unknown", "updated"),
        ],
    )
    names = [each.url.rpartition("/")[2] for each in followed(steps)]
    assert names == ["same", "new", "newer", "unknown"]
    times = [each.task.as_of_us for each in followed(steps)]
    assert times == [begin_us(time_of(i)) for i in (10, 11, 11, 11)]


def test_in_version_1_0_a_change_is_as_old_as_lastmod_says() -> None:
    """If a list has no `datetime`, then `lastmod` within its time is that."""
    steps = steps_of(
        CHANGES,
        [
            change("old", "updated", lastmod=time_of(9)),
            change("odd", "updated", lastmod="2000-01-01"),
            change("new", "updated", lastmod=time_of(12)),
        ],
    )
    names = [each.url.rpartition("/")[2] for each in followed(steps)]
    assert names == ["odd", "new"]


def test_several_changes_become_the_last() -> None:
    """If a resource changes often, then the last word counts, in its place."""
    steps = steps_of(
        CHANGES,
        [
            change("a", "created", datetime=time_of(11)),
            change("b", "updated", datetime=time_of(12)),
            change("a", "deleted", datetime=time_of(13)),
            change("c", "deleted", datetime=time_of(13)),
            change("c", "created", datetime=time_of(13)),
        ],
    )
    kinds = [
        (step.url if isinstance(step, FollowStep) else step.version.uri)[-1]
        for step in steps
        if isinstance(step, FollowStep | DeletedResource)
    ]
    assert kinds == ["b", "a", "c"]
    assert len([step for step in steps if isinstance(step, DeletedResource)]) == 1


def test_a_change_of_an_unknown_kind_is_not_fetched() -> None:
    """If a change is neither of three, then it is named and left alone."""
    log = FaultLog()
    steps = steps_of(CHANGES, [change("a", "renamed", datetime=time_of(12))], log=log)
    assert followed(steps) == []
    assert log.count(Reason.BAD_ANSWER) == 2


def test_times_to_come_are_not_believed() -> None:
    """If a source states times in the future, then later changes are not lost."""
    log = FaultLog()
    policy = replace(DEFAULT_POLICY, now_us=begin_us(time_of(20)))
    md = {**CHANGES, "until": "2999-01-01"}
    steps = steps_of(
        md, [change("a", "updated", datetime="2998-01-01")], log=log, policy=policy
    )
    part = steps[-1]
    assert isinstance(part, RunPart)
    assert (part.seen_us, part.closed_us) == (None, None)
    assert len(followed(steps)) == 1
    assert log.count(Reason.BAD_ANSWER)


def test_an_index_leads_to_the_lists_that_may_have_news() -> None:
    """If a list was closed before the latest change seen, it is not requested."""
    entries = [
        (f"{SITE}/{i}", {"from": time_of(i), "until": until}, "")
        for i, until in enumerate([time_of(9), time_of(10), time_of(11), ""])
    ]
    steps = steps_of(CHANGES, entries, is_index=True)
    assert [each.url[-1] for each in followed(steps)] == ["1", "2", "3"]
    assert [each.task.part for each in followed(steps)] == ["1", "2", "3"]
    state = replace(STATE, closed_us=SINCE)
    steps = steps_of(CHANGES, entries, is_index=True, state=state)
    assert [each.url[-1] for each in followed(steps)] == ["2", "3"]
