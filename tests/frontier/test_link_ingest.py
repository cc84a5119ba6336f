"""From a link to a candidate: what is turned away, and where the rest goes."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.errors import Reason
from rdfcrawl.frontier.link_ingest import (
    LATER_BAND,
    LINK_BAND,
    SEED_BAND,
    LinkIngest,
    RecentLinks,
)
from rdfcrawl.frontier.payload import unpack
from rdfcrawl.frontier.url_kind import kind_of
from rdfcrawl.links.filter import CrawlExtent, CrawlScope, LinkFilter, UrlPatterns
from rdfcrawl.records import FollowUp, Kind, Record, Urgency
from rdfcrawl.tasks.pages import DumpPart, SamplePage
from rdfcrawl.tasks.text import MAX_TASK_CHARS, encode_task
from rdfcrawl.uri import BadUri, HostGrouping, NormalForm, PolitenessKey, partition_of
from rdfcrawl.uri.schemes import NO_SCHEMES, SchemePolicy
from rdfcrawl.uri.traps import NO_TRAPS, TrapLimits
from tests.frontier.test_payload import urls
from tests.support.frontier_state import scope_of

PAGE = "https://a.example/page"


def new_ingest(
    *,
    scope: CrawlScope | None = None,
    allow: str | None = None,
    deny: str | None = None,
    max_depth: int = 255,
    partitions: int = 16,
    grouping: HostGrouping = HostGrouping.HOST,
    trap_limits: TrapLimits = NO_TRAPS,
    schemes: SchemePolicy = NO_SCHEMES,
) -> LinkIngest:
    """Return an ingest that takes all that its arguments do not turn away."""
    allowed = UrlPatterns((re.compile(allow),)) if allow else UrlPatterns()
    denied = UrlPatterns((re.compile(deny),)) if deny else UrlPatterns()
    return LinkIngest(
        keys=PolitenessKey(grouping),
        normal_form=NormalForm(),
        link_filter=LinkFilter(
            scope or CrawlScope(), allowed, denied, traps=trap_limits, schemes=schemes
        ),
        partitions=partitions,
        max_depth=max_depth,
    )


def taken(ingest: LinkIngest, *links: bytes, depth: int = 0) -> list[Record]:
    """Return the records of the candidates among some links of a page."""
    parent = Record(PAGE, depth=depth)
    found = ingest.links(links, parent=parent, url=PAGE).candidates
    assert all(candidate.item[:1] == LINK_BAND for candidate in found)
    return [unpack(candidate.item[1:], candidate.key) for candidate in found]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("", Kind.PAGE),
        ("resource", Kind.PAGE),
        ("resource.html", Kind.PAGE),
        ("resource.xml", Kind.PAGE),
        ("x.nt", Kind.DUMP),
        ("x.NT.GZ", Kind.DUMP),
        ("x.nt.gz?v=2", Kind.DUMP),
        ("x.gz", Kind.DUMP),
        ("page?file=x.nt", Kind.PAGE),
        ("x.nt/page", Kind.PAGE),
        ("2024.05.01.ttl", Kind.DUMP),
        ("2024.05.01.ttl.bz2", Kind.DUMP),
        ("x.rdf", Kind.DUMP),
        ("x.hdt", Kind.DUMP),
        ("x.tar.gz", Kind.DUMP),
        ("x.tgz", Kind.DUMP),
        ("x.tar", Kind.DUMP),
        ("x.jsonld.zst", Kind.DUMP),
        ("x.ttl.exe", Kind.PAGE),
        ("x.zip", Kind.DUMP),
        ("x.xml.tar.xz", Kind.DUMP),
        ("x.tbz2", Kind.DUMP),
        ("x.trix", Kind.DUMP),
        ("x.hext.gz", Kind.DUMP),
        ("gz", Kind.PAGE),
        ("x.gz.html", Kind.PAGE),
        (".nt", Kind.DUMP),
    ],
)
def test_kind_by_name(name: str, kind: Kind) -> None:
    """If only a URL is known, then the end of its file name tells dumps from pages."""
    assert kind_of(f"https://a.example/d/{name}") is kind


def test_a_link_becomes_a_record() -> None:
    """If a link is wanted, then its record has depth, parent and kind."""
    (record,) = taken(new_ingest(), b"http://b.example/x.nt", depth=4)
    assert record == Record("http://b.example/x.nt", Kind.DUMP, 5, PAGE)


def test_a_link_lies_with_its_key() -> None:
    """If a link is taken, then key and partition are those of its host."""
    ingest = new_ingest(partitions=7)
    links = [b"https://b.example/x"]
    (one,) = ingest.links(links, parent=Record(PAGE), url=PAGE).candidates
    assert one.key == "b.example"
    assert one.partition == partition_of("b.example", 7)


@given(urls=st.lists(urls(), max_size=8), grouping=st.sampled_from(HostGrouping))
def test_links_are_queued_as_their_records_are(
    urls: list[str], grouping: HostGrouping
) -> None:
    """If URLs are linked to, then they are queued as records of these URLs."""
    ingest = new_ingest(grouping=grouping)
    links = list(dict.fromkeys(url.encode() for url in urls))
    found = ingest.links(links, parent=Record(PAGE), url=PAGE).candidates
    records = [Record(x.decode(), kind_of(x.decode()), 1, PAGE) for x in links]
    other = new_ingest(grouping=grouping)
    assert found == [other.candidate(record, LINK_BAND) for record in records]


def test_grouping_by_domain() -> None:
    """If hosts are grouped by domain, then two hosts share a key, and URLs differ."""
    ingest = new_ingest(grouping=HostGrouping.DOMAIN)
    links = [b"https://x.b.example/", b"https://y.b.example/"]
    found = ingest.links(links, parent=Record(PAGE), url=PAGE).candidates
    assert {candidate.key for candidate in found} == {"b.example"}
    urls = [unpack(candidate.item[1:], candidate.key).url for candidate in found]
    assert [url.encode() for url in urls] == links


@pytest.mark.parametrize(
    "link",
    [
        b"mailto:me@a.example",
        b"urn:isbn:1",
        b"not a uri",
        b"http://",
        b"https://a.example:99999/",
        b"javascript:alert(1)",
        b"http://a.example/" + b"x" * 100_000,
        b"\xff\xfe",
        b"",
    ],
)
def test_bad_links_are_counted(link: bytes) -> None:
    """If a link cannot be crawled, then it is counted, and the next one goes on."""
    ingest = new_ingest()
    (record,) = taken(ingest, link, b"https://b.example/")
    assert record.url == "https://b.example/"
    assert ingest.rejected.bad == 1


def test_links_beyond_the_depth_are_counted() -> None:
    """If a page is as deep as allowed, then none of its links is taken."""
    ingest = new_ingest(max_depth=2)
    assert len(taken(ingest, b"https://b.example/1", depth=1)) == 1
    assert taken(ingest, b"https://b.example/2", b"https://b.example/3", depth=2) == []
    assert ingest.rejected.too_deep == 2


def test_links_that_were_too_deep_are_not_remembered() -> None:
    """If a link was too deep and is found again higher up, then it is taken."""
    ingest = new_ingest(max_depth=2)
    assert taken(ingest, b"https://b.example/", depth=2) == []
    assert len(taken(ingest, b"https://b.example/", depth=0)) == 1


def test_links_out_of_scope_are_counted() -> None:
    """If a link is out of scope or denied, then it is counted; seeds are not asked."""
    scope = scope_of(CrawlExtent.HOST, [PAGE])
    ingest = new_ingest(scope=scope, deny="secret")
    links = [b"https://a.example/1", b"https://b.example/", b"https://a.example/secret"]
    assert [r.url for r in taken(ingest, *links)] == ["https://a.example/1"]
    assert ingest.rejected.filtered == 2
    assert ingest.seed("https://b.example/secret").key == "b.example"


def test_a_wider_scope_takes_what_was_turned_away() -> None:
    """If the scope widens, then links that were found before are wanted now."""
    ingest = new_ingest(scope=scope_of(CrawlExtent.HOST, [PAGE]))
    assert taken(ingest, b"https://b.example/1") == []
    both = scope_of(CrawlExtent.HOST, [PAGE, "https://b.example/"])
    ingest.set_filter(LinkFilter(both))
    assert len(taken(ingest, b"https://b.example/1")) == 1


def test_repeats_cost_nothing() -> None:
    """If a link is found again, then it is counted and makes no candidate."""
    ingest = new_ingest()
    assert len(taken(ingest, b"https://b.example/1", b"https://b.example/1")) == 1
    assert taken(ingest, b"https://b.example/1") == []
    assert ingest.rejected.recent == 2


@given(st.lists(st.binary(max_size=3)))
def test_recent_links_say_once_what_is_new(links: list[bytes]) -> None:
    """If links come in any order, then each is new once, as long as they fit."""
    recent = RecentLinks(size=1000)
    middle = len(links) // 2
    told = recent.unseen(links[:middle]) + recent.unseen(links[middle:])
    assert told == list(dict.fromkeys(links))


def test_recent_links_forget_the_oldest() -> None:
    """If more links come than are remembered, then the oldest are forgotten."""
    recent = RecentLinks(size=100)
    for start in range(0, 10_000, 50):
        recent.unseen(b"%d" % i for i in range(start, start + 50))
        assert len(recent._young) + len(recent._old) <= 2 * 100 + 2 * 50
    last = [b"%d" % i for i in range(9_900, 10_000)]
    assert recent.unseen(last) == []
    assert recent.unseen([b"0"]) == [b"0"]


def test_a_seed() -> None:
    """If a seed is given, then it has no parent, depth 0, and goes before links."""
    candidate = new_ingest().seed("  http://A.example/x.ttl#me ")
    assert candidate.item[:1] == SEED_BAND
    record = unpack(candidate.item[1:], candidate.key)
    assert record == Record("http://a.example/x.ttl", Kind.DUMP)


@pytest.mark.parametrize("text", ["", "a.example", "mailto:me@a.example", "http://"])
def test_a_bad_seed_is_refused(text: str) -> None:
    """If a seed is not a URL that is crawled, then it is refused by name."""
    with pytest.raises(BadUri):
        new_ingest().seed(text)


def test_a_redirect_target_keeps_its_chain() -> None:
    """If another host is redirected to, then the chain is kept."""
    record = Record("https://b.example/x", Kind.PAGE, 3, PAGE, ("https://a.example/1",))
    candidate = new_ingest().candidate(record, LINK_BAND)
    assert unpack(candidate.item[1:], candidate.key) == record


@pytest.mark.parametrize(
    ("kind", "target", "is_wanted"),
    [
        (Kind.PAGE, "https://b.example/data/x", True),
        (Kind.PAGE, "http://b.example:8080/data/x", True),
        (Kind.PAGE, "https://c.example/data/x", False),  # out of scope
        (Kind.PAGE, "https://b.example/x", False),  # not allowed
        (Kind.PAGE, "https://b.example/data/secret", False),  # denied
        (Kind.SITEMAP, "https://b.example/x", True),  # `allow` is about pages
        (Kind.SITEMAP, "https://b.example/secret", False),
        (Kind.SITEMAP, "https://c.example/x", False),
        (Kind.SITEMAP, "https://a.example/x", True),  # on the host of the source
    ],
)
def test_where_a_redirect_may_lead(kind: Kind, target: str, *, is_wanted: bool) -> None:
    """If a target is out of scope, not allowed or denied, then it is counted."""
    scope = scope_of(CrawlExtent.HOST, ["https://b.example/"])
    ingest = new_ingest(scope=scope, allow="/data/", deny="secret")
    record = Record("https://a.example/1", kind)
    assert ingest.wants_target(record, target) is is_wanted
    assert ingest.rejected.filtered == (not is_wanted)


@pytest.mark.parametrize(
    ("kind", "parent", "url", "is_refused"),
    [
        (Kind.PAGE, PAGE, "https://a.example/secret", True),
        (Kind.PAGE, PAGE, "https://a.example/x", False),
        (Kind.PAGE, "", "https://a.example/secret", False),  # named by the operator
        (Kind.SPARQL, PAGE, "https://a.example/secret", False),  # part of what was
        (Kind.SITEMAP, PAGE, "https://b.example/secret", True),
    ],
)
def test_what_is_queued_may_be_denied(
    kind: Kind, parent: str, url: str, *, is_refused: bool
) -> None:
    """If a record is denied, then nobody asks for it, unless the operator named it."""
    ingest = new_ingest(deny="secret")
    assert ingest.refuses(Record(url, kind, parent=parent)) is is_refused
    assert not new_ingest().refuses(Record(url, kind, parent=parent))


def test_seen_only_has_the_same_fingerprint() -> None:
    """If a URL is marked as seen, then it is the same URI as a link to it."""
    ingest = new_ingest()
    mark = ingest.seen_only("https://b.example/%7ex")
    link = ingest.candidate(Record("https://b.example/~x"), LINK_BAND)
    assert (mark.partition, mark.key, mark.fingerprint) == link[:3]
    assert mark.item == b"k"


@pytest.mark.parametrize("spelled", ["https://b.example/%7ex", "HTTPS://b.example/~x"])
def test_a_link_has_the_fingerprint_of_its_normal_form(spelled: str) -> None:
    """If a link is not in its normal form, then it is the same URI as one that is."""
    links = [spelled.encode()]
    (link,) = new_ingest().links(links, parent=Record(PAGE), url=PAGE).candidates
    plain = new_ingest().candidate(Record("https://b.example/~x"), LINK_BAND)
    assert link.fingerprint == plain.fingerprint


def test_a_forgotten_link_is_offered_again() -> None:
    """If Redis may have lost what it took, then a repeated link goes on once more."""
    ingest = new_ingest()
    link = b"https://b.example/x"
    assert len(taken(ingest, link)) == 1
    assert taken(ingest, link) == []
    ingest.forget_recent()
    assert len(taken(ingest, link)) == 1


def task_of(text: str) -> SamplePage:
    """Return a task that has a text in it."""
    return SamplePage("", text)


def test_two_tasks_of_one_source_are_two_records() -> None:
    """If two records differ in their task alone, then a source has both."""
    records = [
        Record(PAGE, Kind.SPARQL, task=task_of(task)) for task in ("0 a", "0 b", "0 a")
    ]
    first, second, third = new_ingest().follow_ups(map(own, records)).candidates
    assert first.fingerprint == third.fingerprint != second.fingerprint


def test_task_of_a_page_does_not_make_another_page() -> None:
    """If two records of pages differ in their task alone, then they are the same."""
    records = [Record(PAGE, task=task_of(task)) for task in ("a", "b")]
    first, second = new_ingest().follow_ups(map(own, records)).candidates
    assert first.fingerprint == second.fingerprint


def test_children_are_queued_by_their_urgency() -> None:
    """If a child is wanted soon or later, then its band says so."""
    children = [FollowUp(Record(PAGE), urgency=urgency) for urgency in Urgency]
    found = new_ingest().follow_ups(children).candidates
    bands = b"".join(candidate.item[:1] for candidate in found)
    assert bands == b"14562783"  # as `lua/claim.lua` takes them


def test_filters_judge_what_a_source_lists_but_not_its_own_pages() -> None:
    """If a child is denied or too deep, then only a page of the source is kept."""
    ingest = new_ingest(deny="page", max_depth=3)
    record = Record(PAGE, Kind.CKAN, depth=9)
    listed = [FollowUp(record), FollowUp(Record(PAGE, depth=9))]
    of_source = ingest.follow_ups([own(record)])
    assert ingest.follow_ups([*listed, own(record)]) == of_source
    assert ingest.rejected.too_deep == 2
    assert new_ingest(deny="page").follow_ups([FollowUp(Record(PAGE))]).candidates == []


def test_child_without_a_url_is_a_fault_of_its_document() -> None:
    """If a source lists what is not a URL, then the document has one fault, counted."""
    children = [FollowUp(Record(url)) for url in ("http://[", "no", PAGE)]
    candidates, faults = new_ingest().follow_ups(children)
    assert len(candidates) == 1
    assert [(fault.reason, fault.count) for fault in faults] == [(Reason.BAD_URI, 2)]


def own(record: Record) -> FollowUp:
    """Return a page of the source itself."""
    return FollowUp(record, is_part_of_source=True)


def test_changed_document_is_queued_once_for_each_change() -> None:
    """If a document was seen before, then each of its changes is another record."""
    ingest = new_ingest()
    changes = ["", "2026-01-01", "2026-01-02", "2026-01-02"]
    children = [FollowUp(Record(PAGE), change=x) for x in changes]
    found = ingest.follow_ups(children).candidates
    marks = [candidate.fingerprint for candidate in found]
    assert len(set(marks)) == 3
    assert marks[2] == marks[3]
    assert marks[0] == ingest.seen_only(PAGE).fingerprint


def test_redirect_target_of_a_changed_document_is_fetched_again() -> None:
    """If a changed document is redirected elsewhere, then its target has changed."""
    ingest = new_ingest()
    changed = FollowUp(Record(PAGE), change="2026-01-02 é")
    (found,) = ingest.follow_ups([changed]).candidates
    record = unpack(found.item[1:], found.key)
    assert record.change
    target = replace(record, url="https://b.example/", chain=(PAGE,))
    again = ingest.candidate(target, LINK_BAND)
    assert unpack(again.item[1:], again.key) == target
    assert again.fingerprint != ingest.seen_only(target.url).fingerprint


def test_task_that_no_record_holds_is_a_fault() -> None:
    """If a task is too long, then the others are queued."""
    records = [
        Record(PAGE, Kind.CKAN, task=task_of(each))
        for each in ("x" * MAX_TASK_CHARS, "0")
    ]
    (found,), faults = new_ingest().follow_ups(map(own, records))
    assert unpack(found.item[1:], found.key) == records[1]
    assert [fault.reason for fault in faults] == [Reason.TOO_LARGE]


@pytest.mark.parametrize("text", ["a\0b", "a\nb", "é", "\ud800", '\\"'])
def test_task_with_any_character_comes_back(text: str) -> None:
    """If a task has characters that URLs have not, then it is queued as it is."""
    record = Record(PAGE, Kind.CKAN, 0, "https://b.example/", task=task_of(text))
    (found,) = new_ingest().follow_ups([own(record)]).candidates
    assert unpack(found.item[1:], found.key) == record


def test_longest_task_comes_back() -> None:
    """If a task is as long as it may be, then it is queued as it is."""
    n = len(encode_task(task_of("")))
    record = Record(PAGE, Kind.SPARQL, task=task_of("x" * (MAX_TASK_CHARS - n)))
    (found,) = new_ingest().follow_ups([own(record)]).candidates
    assert unpack(found.item[1:], found.key) == record


@pytest.mark.parametrize(
    ("parent", "held"),
    [
        ("http://p.example/žena", "http://p.example/%C5%BEena"),
        ("http://p.example/a\0b", "http://p.example/a%00b"),
        ("urn:žena", ""),
    ],
)
def test_parent_that_is_no_url_is_held_as_one(parent: str, held: str) -> None:
    """If a document is named by any IRI, then what it leads to is queued."""
    children = [FollowUp(Record("https://b.example/", parent=parent))]
    found = new_ingest().follow_ups(children).candidates
    links = [b"https://b.example/"]
    found += new_ingest().links(links, parent=Record(PAGE), url=parent).candidates
    assert [unpack(x.item[1:], x.key).parent for x in found] == [held, held]


def test_covered_links_are_deferred() -> None:
    """If a dataset covers links and children, they wait; when it does not, they go."""
    ingest = new_ingest()
    ingest.covered.replace(["https://a.example/id/", "https://a.example/id/x/"])
    assert taken(ingest, b"https://a.example/id/1", b"https://a.example/2") == [
        Record("https://a.example/2", Kind.PAGE, 1, PAGE)
    ]
    child = FollowUp(Record("https://a.example/id/x/3", depth=1), urgency=Urgency.SOON)
    part = FollowUp(
        Record("https://a.example/id/all.nt", Kind.DUMP, 1, task=DumpPart("d", 0, 0))
    )
    (own,) = ingest.follow_ups([child, part]).candidates
    assert unpack(own.item[1:], own.key).url == "https://a.example/id/all.nt"
    ((prefix, waiting),) = ingest.take_deferred().items()
    assert prefix == "https://a.example/id/"
    assert [each.record.url[-1] for each in waiting] == ["1", "3"]
    ingest.covered.replace(["https://a.example/id/x/"])
    (first,) = ingest.again(waiting)
    assert unpack(first.item[1:], first.key).url == "https://a.example/id/1"
    assert list(ingest.take_deferred()) == ["https://a.example/id/x/"]
    assert ingest.rejected.covered == 3


def test_no_more_is_put_off_than_there_is_room_for() -> None:
    """If enough waits below a prefix, then what else it covers is only counted."""
    ingest = new_ingest()
    ingest.covered.replace(["https://a.example/id/", "https://a.example/x/"])
    ingest.full = {"https://a.example/id/"}
    child = FollowUp(Record("https://a.example/id/2", depth=1))
    assert ingest.follow_ups([child]).candidates == []
    assert not taken(ingest, b"https://a.example/id/1", b"https://a.example/x/1")
    assert list(ingest.take_deferred()) == ["https://a.example/x/"]
    assert ingest.rejected.covered == 3
    ingest.full = frozenset()  # as for a page, which may name more than a dump
    assert not taken(ingest, b"https://a.example/id/1", b"https://a.example/x/1")
    assert list(ingest.take_deferred()) == ["https://a.example/id/"]


def test_what_is_queued_already_need_not_be_offered() -> None:
    """If a record was claimed, then links to its URL are known, but no other's."""
    ingest = new_ingest()
    ingest.note(Record("http://a.example/1"))
    ingest.note(Record("http://a.example/2", kind=Kind.SITEMAP))
    ingest.note(Record("http://a.example/3", change="c"))
    links = [b"http://a.example/%d" % n for n in (1, 2, 3)]
    assert [record.url[-1] for record in taken(ingest, *links)] == ["2", "3"]
    assert ingest.rejected.recent == 1


def test_links_into_a_trap_are_one_fault() -> None:
    """If links of a page grow for ever, then they are counted, and one fault."""
    ingest = new_ingest(trap_limits=TrapLimits())
    grown = [b"https://a.example/x" + b"/y" * n for n in range(1, 10)]
    found, faults = ingest.links(grown, parent=Record(PAGE), url=PAGE)
    assert len(found) == 3
    assert [(fault.reason, fault.count) for fault in faults] == [(Reason.URL_TRAP, 6)]
    assert ingest.rejected.trap == 6
    page = Record(PAGE)
    assert not ingest.wants_target(page, "https://a.example/y/y/y/y/")
    assert ingest.wants_target(page, "https://a.example/y/y/y/")
    children = [FollowUp(Record("https://a.example/y/y/y/y/"))]
    assert ingest.follow_ups(children).candidates == []
    assert ingest.seed("https://a.example/y/y/y/y/").key == "a.example"


def test_very_many_links_of_one_form_go_behind_the_others() -> None:
    """If a host has very many links of one form, then all are taken, and come last."""
    ingest = new_ingest(trap_limits=TrapLimits(of_form=5))
    pages = [f"https://a.example/list?page={n}".encode() for n in range(30)]
    items = [b"https://a.example/item/%d/1" % n for n in range(2000, 2100)]
    links = [*pages, b"https://a.example/about", *items]
    found = ingest.links(links, parent=Record(PAGE), url=PAGE).candidates
    bands = {x.item[1:].split(b"\0")[1][1:]: x.item[:1] for x in found}
    assert len(found) == 30 + 1 + 100
    assert bands[b"/list?page=0"] == LINK_BAND
    assert bands[b"/list?page=29"] == LATER_BAND
    assert bands[b"/about"] == LINK_BAND
    assert bands[b"/item/2099/1"] == LATER_BAND


def test_own_schemes_are_reached_from_themselves() -> None:
    """If a link is of a scheme of the user's, then who was asked for it decides."""
    ingest = new_ingest(schemes=SchemePolicy(frozenset({"s3", "file"})))
    link, own = b"s3://b/x", Record("s3://b/")
    # A source of the Web may call its documents what it likes.
    for url in (PAGE, "s3://b/named"):
        candidates, faults = ingest.links([link], parent=Record(PAGE), url=url)
        assert not candidates
        assert [fault.reason for fault in faults] == [Reason.BAD_URI]
    assert not ingest.links([b"file:///x"], parent=own, url=own.url).candidates
    # It was not forgotten.
    (found,) = ingest.links([link], parent=own, url=own.url).candidates
    assert found.key == "s3!b"


@pytest.mark.parametrize(
    ("asked", "n_taken"), [("", 1), ("s3://b/", 1), (PAGE, 0), ("file:///a", 0)]
)
def test_follow_ups_of_own_schemes(asked: str, n_taken: int) -> None:
    """If a source names a scheme of the user's, then it has to be of it itself."""
    ingest = new_ingest(schemes=SchemePolicy(frozenset({"s3", "file"})))
    follow_up = FollowUp(Record("s3://b/x", parent="s3://b/"), is_part_of_source=True)
    found = ingest.follow_ups([follow_up], asked=asked)
    assert len(found.candidates) == n_taken
