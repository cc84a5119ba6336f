"""Measures get their facts from the URL database."""

from __future__ import annotations

import asyncio
from functools import partial
from string import ascii_letters, digits
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from rdfcrawl.analysis.measures.uri_facts import (
    LastmodClaim,
    UriFacts,
    UriFetch,
    UriListing,
)
from rdfcrawl.analysis.urldb.building import build
from rdfcrawl.analysis.urldb.columns import write_parquet
from rdfcrawl.analysis.urldb.database import UrlDatabase
from rdfcrawl.analysis.urldb.facts import FactReader
from rdfcrawl.core.errors import Reason
from rdfcrawl.core.namespaces import RELATIONS
from rdfcrawl.core.records import Document, DocumentFacts, FetchedResponse, Record
from rdfcrawl.pipelines.account import SameContents
from tests.support.url_events import (
    NORMAL,
    T0,
    LinksFound,
    ListedUrl,
    SitemapRead,
    ToldLater,
    UrlEvent,
    UrlFetched,
    write_events,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rdfcrawl.frontier.queue.tables import FetchedContent


def same_as(url: str, first: str) -> ToldLater:
    """Return the later statement of a worker that has compared contents."""

    async def ask(contents: Sequence[FetchedContent], _most: int) -> list[str]:
        return [first] * len(contents)

    same = SameContents(ask, 1)
    document = Document(
        record=Record(url),
        url=url,
        response=FetchedResponse(requested=(url,), started_ms=T0),
        facts=DocumentFacts("c" * 32, "f" * 32, "sketch"),
    )
    same.note(document)
    return ToldLater(tuple(asyncio.run(same.compare())))


def facts_of(root: Path, events: list[UrlEvent]) -> dict[str, UriFacts]:
    """Return the facts of all pages by URL."""
    write_events(root, events)
    build(root, NORMAL)
    with UrlDatabase(root) as database:
        reader = FactReader(database)
        found = {each.url: each for each in reader.uris()}
        for each in found.values():
            told = reader.duplicates(each.url)
            same = {x for x, y in found.items() if each.cluster == y.cluster}
            assert set(told) == (same if each.cluster else set())
            assert not told or told[0] == each.cluster
    return found


def test_clusters_are_of_sketches_redirects_and_what_pages_declare(
    tmp_path: Path,
) -> None:
    """If contents are near or redirect to each other, then one URL represents them."""
    site, other = "http://www.a.example", "http://b.example"
    near = ascii_letters + digits + "+/"
    text = f"{near[:5]}/{near[6:]}"
    declared = (("sketch", text), ("textHash", "1" * 32), ("canonical", f"{site}/long"))
    led_away = (("location", f"{other}/end"),)
    counted = (("images", "2"), ("words", "40"), ("linkedWords", "30"))
    shown = (*counted, ("errorPage", "true"), ("textHash", "3" * 32))
    events: list[UrlEvent] = [
        UrlFetched(f"{site}/a", T0, facts=declared),
        UrlFetched(f"{site}/long", T0, facts=(("sketch", near),)),
        UrlFetched(f"{site}/moved", T0, target=f"{site}/there"),
        UrlFetched(f"{site}/there", T0 + 1),
        UrlFetched(f"{site}/out", T0, 301, target=f"{site}/hop", facts=led_away),
        # What was near once is not so for ever, nor what failed or redirected.
        UrlFetched(f"{site}/b", T0, facts=(("sketch", near),)),
        UrlFetched(f"{site}/b", T0 + 9, facts=(("textHash", "2" * 32),)),
        UrlFetched(f"{site}/c", T0, facts=(("sketch", near),)),
        UrlFetched(f"{site}/c", T0 + 9, 404, fault=Reason.NOT_FOUND),
        UrlFetched(f"{site}/d", T0, target=f"{site}/there"),
        UrlFetched(f"{site}/d", T0 + 9),
        UrlFetched(f"{site}/e", T0, facts=(("sketch", near),)),
        UrlFetched(f"{site}/e", T0 + 9, 304),
        UrlFetched(f"{site}/f", T0, facts=(("sketch", "none"),)),
        UrlFetched(f"{site}/g", T0, facts=shown),
        UrlFetched(f"{other}/a", T0, facts=declared),
    ]
    found = facts_of(tmp_path, events)
    clusters = {url: each.cluster for url, each in found.items() if each.cluster}
    assert clusters == {
        **dict.fromkeys((f"{site}/a", f"{site}/long", f"{site}/e"), f"{site}/long"),
        **dict.fromkeys((f"{site}/moved", f"{site}/there"), f"{site}/there"),
    }
    assert {url: x.n_images for url, x in found.items() if x.n_images} == {
        f"{site}/g": 2
    }
    told = found[f"{site}/g"]
    assert (told.n_words, told.n_linked_words, told.is_error_page) == (40, 30, True)
    moved = {url: each.redirects_to for url, each in found.items() if each.is_redirect}
    ends = dict.fromkeys((f"{site}/out", f"{site}/hop"), f"{other}/end")
    assert moved == {f"{site}/moved": f"{site}/there", **ends}
    path = tmp_path / "urls.parquet"
    with UrlDatabase(tmp_path) as database:
        facts = FactReader(database).uris()
        write_parquet(database.records(), path, facts=facts)
    rows = pq.read_table(path, columns=["url", "cluster"]).to_pylist()
    assert {x["url"]: x["cluster"] for x in rows if x["cluster"]} == clusters


def test_what_is_linked_listed_and_dropped(tmp_path: Path) -> None:
    """If nothing leads to a request, or a sitemap drops a page, then facts say so.

    What pages only name as forms of themselves is seen once it is asked for.
    """
    site = "http://a.example"
    seed, form, void = f"{site}/seed", f"{site}/form", f"{site}/.well-known/void"
    unasked, beyond = f"{site}/unasked", "http://b.example/beyond"
    hop, refreshed = f"{site}/z-hop", (("task", "refreshed()"),)
    listed, child = f"{site}/listed", f"{site}/child.xml"
    last, emptied = f"{site}/the-last", f"{site}/emptied.xml"
    old, kept = f"{site}/z-old", f"{site}/kept.xml"
    empty = partial(UrlFetched, facts=(("sitemapFormat", "xml"),), n_quads=0)
    asked = (("task", "revisited()"),)
    found = facts_of(
        tmp_path,
        [
            UrlFetched(seed, T0, facts=asked),
            UrlFetched(void, T0, facts=(("parent", seed), *asked)),
            LinksFound(seed, T0, (form, listed, unasked), f"{RELATIONS}canonical"),
            UrlFetched(form, T0 + 1),
            SitemapRead(child, T0 + 1, (ListedUrl(listed, "2026-01-01"),)),
            SitemapRead(child, T0 + 9, (ListedUrl(seed),)),
            SitemapRead(child, T0 + 20, (ListedUrl(seed),)),
            SitemapRead(emptied, T0 + 1, (ListedUrl(last),)),
            empty(emptied, T0 + 9),
            SitemapRead(kept, T0 + 1, (ListedUrl(old),)),
            empty(kept, T0 + 9, fault=Reason.COPY_KEPT, why="no statements"),
            UrlFetched(beyond, T0 + 1, chain=(seed,), facts=refreshed),
            UrlFetched(seed, T0 + 30, target=hop, facts=refreshed),
            UrlFetched(hop, T0 + 40, facts=refreshed),
        ],
    )
    assert set(found) == {seed, form, listed, last, old, hop, beyond}
    for target in (beyond, hop):  # they are no seeds
        assert found[target].first_linked_ms is None
        assert found[target].is_linked
    assert not found[listed].is_linked
    dropped = {url for url, each in found.items() if each.is_dropped}
    assert dropped == {listed, last, old}
    assert found[form].is_linked  # otherwise it could not have been found
    first, second = found[listed].claims
    assert first.lastmod_ms is not None
    assert second == LastmodClaim(read_ms=T0 + 9, lastmod_ms=None)
    assert found[seed].claims == ()


def test_spellings_are_those_of_the_last_fetch(tmp_path: Path) -> None:
    """If links spell a URL in other ways, then it is known as it was fetched last."""
    page, spelled = "http://a.example/?a=1&b=2", "http://a.example/?b=2&a=1"
    found = []
    for n, url in enumerate((spelled, page, spelled)):
        links = LinksFound("http://a.example/", T0 + 10 * n, (spelled,))
        write_events(tmp_path, [links, UrlFetched(url, T0 + 10 * n)])
        build(tmp_path, NORMAL)
        with UrlDatabase(tmp_path) as database:
            record = database.find(page)
        assert record is not None
        found.append(record.requested_url)
    assert found == [spelled, page, spelled]


def test_dates_that_several_sitemaps_state(tmp_path: Path) -> None:
    """If sitemaps date a page, the greatest `lastmod` counts while one states it."""
    site = "http://a.example"
    dropped, back, again = f"{site}/dropped", f"{site}/back", f"{site}/again"
    early, late = "2026-01-01", "2026-01-02"
    firsts = [
        (ListedUrl(dropped, late), ListedUrl(back, early), ListedUrl(again, early)),
        (ListedUrl(dropped, late), ListedUrl(back, late)),
        (ListedUrl(back, early), ListedUrl(again, late)),
    ]
    events: list[UrlEvent] = []
    for n, entries in enumerate(firsts):
        others = ListedUrl(dropped, early), ListedUrl(back)
        events.append(SitemapRead(f"{site}/a.xml", T0 + 10 * n, entries))
        events.append(SitemapRead(f"{site}/b.xml", T0 + 10 * n + 5, others))
    found = facts_of(tmp_path, events)
    day_ms, first_ms = 86_400_000, 1_767_225_600_000
    dates = {None: None, 1: first_ms, 2: first_ms + day_ms}
    wanted: dict[str, list[tuple[int, int | None]]] = {
        dropped: [(0, 2), (20, 1)],
        back: [(0, 1), (10, 2), (20, 1)],
        again: [(0, 1), (10, None), (20, 2)],
    }
    assert {url: list(each.claims) for url, each in found.items()} == {
        url: [LastmodClaim(read_ms=T0 + ms, lastmod_ms=dates[x]) for ms, x in claims]
        for url, claims in wanted.items()
    }


def test_facts_of_measures(tmp_path: Path) -> None:
    """If pages are listed, linked and fetched, then measures are given just that.

    A sitemap that can no longer be read keeps its format and its entries.
    """
    site = "http://a.example"
    page, seed = f"{site}/page", f"{site}/seed"
    index, child = f"{site}/index.xml", f"{site}/child.xml"
    written = (("foundBy", "index"), ("sitemapFormat", "xml"))
    named = (("foundBy", "robots"), ("sitemapFormat", "xml"), ("task", "sitemap()"))
    task = "source(run=1, payload=robots())"
    unread = (("foundBy", "robots"), ("sitemapFormat", "unknown"))
    modified = "Thu, 01 Jan 1970 00:00:01 GMT"
    events: list[UrlEvent] = [
        UrlFetched(f"{site}/robots.txt", T0, facts=(("task", task),)),
        UrlFetched(index, T0, facts=named),
        SitemapRead(index, T0, (ListedUrl(child, is_sitemap=True),)),
        UrlFetched(child, T0 + 1, facts=written),
        SitemapRead(child, T0 + 1, (ListedUrl(page, "2026-01-01", None, 0.5),)),
        UrlFetched(child, T0 + 9, 304),
        SitemapRead(child, T0 + 20, (ListedUrl(seed), ListedUrl(page, "2026-01-02"))),
        UrlFetched(child, T0 + 30, facts=unread, n_quads=0, fault=Reason.EMPTY),
        LinksFound(seed, T0 + 2, (page,)),
        UrlFetched(seed, T0 + 2, facts=(("lastModified", modified),)),
        UrlFetched(page, T0 + 3, 404, fault=Reason.NOT_FOUND),
        UrlFetched(page, T0 + 4, 0, fault=Reason.ROBOTS_DISALLOWED),
        UrlFetched(page, T0 + 5, 0, fault=Reason.TIMEOUT),
    ]
    write_events(tmp_path, events)
    build(tmp_path, NORMAL)
    with UrlDatabase(tmp_path) as database:
        reader = FactReader(database)
        uris, sitemaps = list(reader.uris()), list(reader.sitemaps())
    new_year = 1_767_225_600_000
    listing = UriListing(sitemap=child, first_ms=T0 + 1, has_lastmod=True)
    assert uris == [
        UriFacts(
            domain="a.example",
            url=page,
            first_linked_ms=T0 + 2,
            linked_by=seed,
            is_led_to=True,
            listings=(listing,),
            claims=(
                LastmodClaim(read_ms=T0 + 1, lastmod_ms=new_year),
                LastmodClaim(read_ms=T0 + 20, lastmod_ms=new_year + 86_400_000),
            ),
            dated_by=child,
            fetches=(
                UriFetch(
                    started_ms=T0 + 3,
                    status="FAILED",
                    http_status=404,
                    fault="not_found",
                ),
                UriFetch(
                    started_ms=T0 + 5, status="FAILED", http_status=0, fault="timeout"
                ),
            ),
        ),
        UriFacts(
            domain="a.example",
            url=seed,
            first_linked_ms=T0 + 2,  # seeds count as links do
            listings=(UriListing(sitemap=child, first_ms=T0 + 20),),
            fetches=(
                UriFetch(started_ms=T0 + 2, n_statements=3, last_modified=modified),
            ),
        ),
    ]
    lists = {each.url: each for each in sitemaps}
    assert list(lists) == [child, index]
    assert lists[index].is_index
    assert {each.format for each in sitemaps} == {"xml"}
    first, same, last = lists[child].readings
    assert [x.started_ms - T0 for x in (first, same, last)] == [1, 9, 20]
    assert first.list_hash == same.list_hash != last.list_hash
    assert [x.n_urls for x in (first, same, last)] == [1, 1, 2]


def test_same_content_is_known_as_long_as_it_is(tmp_path: Path) -> None:
    """If a URL has the content of another one, it has it until it is another one.

    Workers tell so after the activities of other documents. An answer of 304 leaves it.
    """
    site, first = "http://a.example", "http://b.example/"
    events: list[Any] = [
        *(UrlFetched(f"{site}/{name}", T0) for name in ("same", "later", "still")),
        UrlFetched(f"{site}/other", T0),
        *(same_as(f"{site}/{name}", first) for name in ("same", "later", "still")),
        UrlFetched(f"{site}/later", T0 + 9),
        UrlFetched(f"{site}/still", T0 + 9, 304),
    ]
    write_events(tmp_path, events)
    build(tmp_path, NORMAL)
    with UrlDatabase(tmp_path) as database:
        told = {
            x.url: x.current("sameContentAs")
            for x in database.with_value("sameContentAs")
        }
        assert len(list(database.records())) > len(told)
    assert told == {f"{site}/same": first, f"{site}/later": "", f"{site}/still": first}
    path = tmp_path / "urls.parquet"
    with UrlDatabase(tmp_path) as database:
        write_parquet(database.records(), path)
    column = pq.read_table(path)["same_content_as"].to_pylist()
    assert sorted(map(str, column)) == ["None", *[first] * 3]
