"""Facts that later requests of any kind leave as they are."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.analysis.measures.coverage import has_statements
from rdfcrawl.analysis.measures.first_seen import came_by_ping
from rdfcrawl.analysis.urldb.building import build
from rdfcrawl.analysis.urldb.database import UrlDatabase
from rdfcrawl.analysis.urldb.facts import FactReader
from rdfcrawl.core.errors import Reason
from tests.support.url_events import (
    NORMAL,
    T0,
    LinksFound,
    ListedUrl,
    SitemapRead,
    UrlEvent,
    UrlFetched,
    write_events,
)

if TYPE_CHECKING:
    from pathlib import Path

SITE, OTHER = "http://a.example", "http://b.example"
SEED, FORM, LISTED = f"{SITE}/seed", f"{SITE}/form", f"{SITE}/listed"
ENDED, REFUSED = f"{OTHER}/end", f"{SITE}/refused"
INDEX, CHILD, LATER = f"{SITE}/i.xml", f"{SITE}/m.xml", f"{SITE}/z.xml"
AFTER = T0 + 1000
XML = ("sitemapFormat", "xml")
LED = (("parent", SEED),)
BY_LIST = (("parent", CHILD), ("source", "sitemap"))


def first_run() -> list[UrlEvent]:
    """Return the events of a run; no log of links names the pages."""
    content = ("contentHash", "1" * 32)
    return [
        UrlFetched(SEED, T0, facts=(content,)),
        UrlFetched(FORM, T0 + 1, facts=LED),
        UrlFetched(ENDED, T0 + 2, chain=(f"{SITE}/moved",), facts=LED),
        UrlFetched(REFUSED, T0 + 2, 0, fault=Reason.ROBOTS_DISALLOWED),
        UrlFetched(INDEX, T0 + 3, facts=(("foundBy", "robots"), XML)),
        SitemapRead(INDEX, T0 + 3, (ListedUrl(CHILD, is_sitemap=True),)),
        UrlFetched(CHILD, T0 + 4, facts=(("foundBy", "index"), XML)),
        SitemapRead(CHILD, T0 + 4, (ListedUrl(LISTED, "2026-01-01"), ListedUrl(SEED))),
        UrlFetched(LISTED, T0 + 5, facts=BY_LIST),
    ]


def later_runs() -> list[UrlEvent]:
    """Return requests by refreshes, sources, sitemaps and pings, and refusals."""
    again = (("task", "refreshed"),)
    source = (("task", "source(run=1, payload=search())"), *LED)
    pages = (SEED, ()), (FORM, LED), (ENDED, LED), (LISTED, BY_LIST[:1])
    events: list[UrlEvent] = [
        UrlFetched(url, AFTER + n, 304, facts=(*again, *led))
        for n in range(60)
        for url, led in pages
    ]
    events += [
        UrlFetched(LISTED, AFTER + n, 0, fault=Reason.ROBOTS_DISALLOWED, facts=again)
        for n in range(60, 120)
    ]
    events += [UrlFetched(url, AFTER + 200, 304, facts=source) for url, _ in pages]
    events += [
        UrlFetched(SEED, AFTER + 210, 304, facts=BY_LIST),
        UrlFetched(INDEX, AFTER + 300, facts=(("foundBy", "ping"), XML)),
        UrlFetched(CHILD, AFTER + 301, facts=(("foundBy", "index"), XML)),
        SitemapRead(CHILD, AFTER + 301, (ListedUrl(LISTED), ListedUrl(ENDED))),
    ]
    # of more sitemaps than are kept, with names before that of the first
    for n in range(20):
        early = f"{SITE}/a{n}.xml"
        events.append(SitemapRead(early, AFTER + 400 + n, (ListedUrl(LISTED),)))
    return events


def facts_of(root: Path) -> dict[str, tuple[Any, ...]]:
    """Return the facts of each page that later requests must leave."""
    build(root, NORMAL)
    with UrlDatabase(root) as database:
        return {
            each.url: (
                *(each.first_linked_ms, each.first_listed_ms, each.is_linked),
                *(each.is_crawled, has_statements(each), came_by_ping(each)),
            )
            for each in FactReader(database).uris()
        }


def test_later_requests_leave_the_sets(tmp_path: Path) -> None:
    """If pages are requested in any way again, then measures know them as before.

    A page that a ping lists for the first time counts as found by it, although it was
    known by links.
    """
    write_events(tmp_path, first_run())
    before = facts_of(tmp_path)
    assert before == {
        SEED: (T0, T0 + 4, True, True, True, False),
        FORM: (None, None, True, True, True, False),
        f"{SITE}/moved": (None, None, True, False, False, False),
        ENDED: (None, None, True, True, True, False),
        REFUSED: (None, None, True, False, False, False),
        LISTED: (None, T0 + 4, False, True, True, False),
    }
    write_events(tmp_path, later_runs())
    assert facts_of(tmp_path) == before | {
        ENDED: (None, AFTER + 301, True, True, True, True),
    }


def test_targets_that_replace_no_page(tmp_path: Path) -> None:
    """If a redirect leads to a front page, then its failure is that of the page only.

    The front page has its own schedule and outcome.
    """
    failed = partial(UrlFetched, fault=Reason.COPY_KEPT, n_quads=0)
    pages = [
        UrlFetched(SEED, T0),
        UrlFetched(FORM, T0 + 1),
        UrlFetched(LISTED, T0 + 2),
        failed(FORM, AFTER, target=SEED, why="redirected: to the front page"),
        failed(LISTED, AFTER + 1, target=ENDED, why="cut"),
    ]
    write_events(tmp_path, pages)
    build(tmp_path, NORMAL)
    with UrlDatabase(tmp_path) as database:
        found = {each.url: each.has_failed for each in FactReader(database).uris()}
    assert found == {SEED: False, FORM: True, LISTED: True, ENDED: True}


@pytest.mark.parametrize(
    "task",
    [
        "revisited(run=1)",
        "dump(dataset=http://a.example/d, way=0, part=0)",
        "file(run=1)",
        "sample(dataset=http://a.example/d, uri=http://a.example/seed)",
        "page(run=1, number=2, root=http://a.example/)",
        "source(run=1, payload=search())",
    ],
)
def test_targets_of_requests_for_sources(tmp_path: Path, task: str) -> None:
    """If a part of a source redirects, then its target has a fetch as well.

    The target counts as a page only if something else led there.
    """
    facts = (("task", task), *LED)
    pages = [
        UrlFetched(SEED, T0),
        UrlFetched(LISTED, T0 + 1, facts=LED),
        UrlFetched(FORM, AFTER, target=LISTED, facts=facts),
        UrlFetched(FORM, AFTER + 1, target=ENDED, facts=facts),
    ]
    write_events(tmp_path, pages)
    build(tmp_path, NORMAL)
    with UrlDatabase(tmp_path) as database:
        found = {each.url: each.fetches for each in database.records()}
        pages_of = {each.url for each in FactReader(database).uris()}
    assert [each.started_ms for each in found[LISTED]] == [T0 + 1, AFTER]
    assert [each.started_ms for each in found[ENDED]] == [AFTER + 1]
    assert pages_of - {FORM} == {SEED, LISTED}


def test_readings_of_large_histories(tmp_path: Path) -> None:
    """If a sitemap is read very often, then the origins of its first readings stay."""
    found = ["ping" if n % 3 else "robots" for n in range(1100)]
    events: list[UrlEvent] = [LinksFound(SEED, T0, (LISTED,))]
    events.append(SitemapRead(CHILD, T0 + 1, (ListedUrl(LISTED),)))
    for n, way in enumerate(found):
        events.append(UrlFetched(CHILD, T0 + n, 304, facts=(("foundBy", way), XML)))
    write_events(tmp_path, events)
    assert facts_of(tmp_path)[LISTED][-1]
