"""The plan of an epoch, from a URL database of real logs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.settings import Settings

from rdfcrawl.analysis.refresh.policy import STORMCRAWLER, FailureRules, FixedInterval
from rdfcrawl.analysis.urldb.building import build
from rdfcrawl.analysis.urldb.database import UrlDatabase
from rdfcrawl.core.errors import ConfigError, Reason
from rdfcrawl.core.tasks import RefreshedPage
from rdfcrawl.monitor.refreshing.options import RefreshOptions
from rdfcrawl.monitor.refreshing.planning import PlannedFetch, RefreshPlanner
from tests.support.url_events import (
    NORMAL,
    T0,
    ListedUrl,
    SitemapRead,
    UrlEvent,
    UrlFetched,
    write_events,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from rdfcrawl.analysis.measures.uri_facts import UriFacts
    from rdfcrawl.analysis.refresh.policy import RefreshEpoch

DAY = 86_400_000
NOW = T0 - T0 % DAY + 10 * DAY
ALL = RefreshOptions(policy=FixedInterval(0), host_budget=1000)
SITE = "http://a.example"


def fetched(name: str, *days: float, **more: Any) -> list[UrlEvent]:
    """Return fetches of a page so many days ago."""
    url = name if "://" in name else f"{SITE}/{name}"
    return [UrlFetched(url, round(NOW - day * DAY), **more) for day in days]


def planned(
    folder: Path, events: Iterable[UrlEvent], options: RefreshOptions = ALL
) -> dict[str, PlannedFetch]:
    """Return planned fetches, by name of the page."""
    write_events(folder, list(events))
    build(folder, NORMAL)
    with UrlDatabase(folder) as database:
        plan = list(RefreshPlanner(database, options, NOW).plan())
    return {each.url.removeprefix(f"{SITE}/"): each for each in plan}


def test_pages_that_are_due_come_first_to_last(tmp_path: Path) -> None:
    """If pages are due, then those overdue longest come first, within the budget.

    Pages fetched since the epoch began are not due, under any policy.
    """
    options = replace(ALL, policy=FixedInterval(2 * DAY), host_budget=2)
    events = [
        *fetched("old", 5),
        *fetched("older", 6),
        *fetched("third", 4),
        *fetched("new", 1),
        *fetched("http://b.example/own", 3),
    ]
    plan = planned(tmp_path, events, options)
    assert list(plan) == ["older", "old", "http://b.example/own"]
    assert plan["old"].reason.due_ms == NOW - 3 * DAY
    assert plan["old"].change == f"r{NOW - 5 * DAY:x}"


def test_sources_with_their_own_schedule_are_left_alone(tmp_path: Path) -> None:
    """If a source, a sitemap, or an immutable page was fetched, it is not planned."""
    until = (("immutableUntil", "2999-01-01T00:00:00.000Z"),)
    past = (("immutableUntil", "1999-01-01T00:00:00.000Z"),)
    events = [
        *fetched("page", 5),
        *fetched("again", 5, facts=(("task", "refreshed"),)),
        *fetched("robots.txt", 5, facts=(("task", "robots()"),)),
        *fetched("map.xml", 5, facts=(("task", "sitemap()"),)),
        *fetched("portal", 5, facts=(("task", "source(run=1)"),)),
        *fetched("ldes", 5, facts=(("task", "page(run=0, number=2)"),)),
        *fetched("part.nt", 5, facts=(("task", "dump(dataset=x)"),)),
        *fetched("lasting", 5, facts=until),
        *fetched("outlasted", 5, facts=past),
        SitemapRead(f"{SITE}/map.xml", NOW - 9 * DAY, (ListedUrl(f"{SITE}/new"),)),
    ]
    assert planned(tmp_path, events).keys() == {"page", "again", "outlasted"}


def test_failures_defer_a_page_and_410_ends_it(tmp_path: Path) -> None:
    """If a page fails, it waits twice as long each time; if it is gone, for ever.

    A `lastmod` after that says that it is there again.
    """
    rules = FailureRules(first_wait_ms=3 * DAY, least_ms=2 * DAY)
    gone = {"status": 410, "fault": Reason.GONE}
    missing = {"status": 404, "fault": Reason.NOT_FOUND}
    broken = {"status": 503, "fault": Reason.SERVER_ERROR}
    claim = "2026-09-29T00:00:00Z"
    events = [
        *fetched("once", 2, **broken),
        *fetched("twice", 5, 4, **broken),
        *fetched("twice-over", 9, 8, **broken),
        *fetched("gone", 5, **gone),
        *fetched("back", 5, **gone),
        *fetched("missing", 9, 8, 4, **missing),
        *fetched("missed", 9),
        *fetched("missed", 8.5, 7, **missing),
        *fetched("refused", 9),
        *fetched("refused", 2, status=0, fault=Reason.ROBOTS_DISALLOWED),
        SitemapRead(f"{SITE}/map.xml", NOW - DAY, (ListedUrl(f"{SITE}/back", claim),)),
    ]
    plan = planned(tmp_path, events, replace(ALL, failures=rules))
    assert plan.keys() == {"twice-over", "missed", "back"}
    assert plan["twice-over"].task.gone_from_ms == -1
    assert plan["missed"].task.gone_from_ms == NOW - 13 * DAY // 2


def test_validators_are_those_of_the_copy(tmp_path: Path) -> None:
    """If a later response is an error, then its validators are not used.

    Those of the last complete response count, and of 304 since.
    """
    url = f"{SITE}/moved"
    events = [
        *fetched("kept", 5, etag='"1"'),
        *fetched("kept", 4, status=304),
        *fetched("failed", 5, etag='"2"'),
        *fetched("failed", 4, status=500, etag='"of the error"', fault=Reason.GONE),
        *fetched("moved", 5, etag='"3"', target=f"{SITE}/there"),
        *fetched("lost", 5, etag='"4"'),
        *fetched("lost", 4, status=301),
    ]
    plan = planned(tmp_path, events, ALL)
    tasks = {name: each.task for name, each in plan.items()}
    assert tasks["kept"] == RefreshedPage(etag='"1"', is_stored=True)
    assert tasks["failed"] == RefreshedPage(is_stored=True)
    assert tasks["moved"] == RefreshedPage('"3"', "", True, url[:-5] + "there")
    assert tasks["lost"] == RefreshedPage('"4"', is_stored=True)


def test_budget_of_all_hosts_is_shared(tmp_path: Path) -> None:
    """If all hosts want more than the budget, then it goes where it is worth most.

    Here, that is to the oldest copies, as all pages change at one rate.
    """
    c = "http://c.example/"
    events = [
        *fetched("http://b.example/1", 3),
        *(each for n in range(9) for each in fetched(str(n), 20 - n)),
        *(
            each
            for n in range(9)
            for each in fetched(f"http://c.example/{n}", 19.9 - n)
        ),
    ]
    plan = planned(tmp_path, events, replace(ALL, budget=5))
    assert plan.keys() == {"0", "1", "2", f"{c}0", f"{c}1"}


class SecondPages:
    """A policy of the user's: every second page."""

    def choose(
        self, open_pages: Callable[[], Iterable[UriFacts]], _epoch: RefreshEpoch
    ) -> list[str]:
        """Return the second, the fourth, and so on."""
        return [each.url for each in open_pages()][1::2]


def test_own_policy_is_used(tmp_path: Path) -> None:
    """If the setting has the path of a class, then it chooses."""
    path = f"{SecondPages.__module__}.{SecondPages.__name__}"
    settings = Settings({"REFRESH_POLICY": path})
    options = RefreshOptions.from_settings(settings)
    events = [each for n in range(5) for each in fetched(str(n), 3)]
    assert list(planned(tmp_path, events, options)) == ["1", "3"]


def test_policies_by_name() -> None:
    """If the setting has a name, then it is that policy."""
    settings = Settings({"REFRESH_POLICY": "stormcrawler"})
    assert RefreshOptions.from_settings(settings).policy == STORMCRAWLER
    settings.set("REFRESH_POLICY", "fixed")
    settings.set("REFRESH_INTERVAL_SECS", 5)
    assert RefreshOptions.from_settings(settings).policy == FixedInterval(5000)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"REFRESH_POLICY": "often"}, "REFRESH_POLICY=often: must be one of fixed"),
        ({"REFRESH_POLICY": "no.such"}, "REFRESH_POLICY: 'class'"),
        ({"REFRESH_POLICY": "pathlib.Path"}, "has no method `choose`"),
        ({"REFRESH_EPOCH_SECS": 0}, "REFRESH_EPOCH_SECS=0: must be 1 to"),
    ],
)
def test_wrong_settings_are_reported(settings: dict[str, Any], told: str) -> None:
    """If a setting is wrong, then one line names it."""
    with pytest.raises(ConfigError, match=told):
        RefreshOptions.from_settings(Settings(settings))
