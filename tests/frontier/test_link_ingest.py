"""From a link to a candidate: rejected links, and bands of the others."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.records import FollowUp, Kind, Record, Urgency
from rdfcrawl.core.tasks import DumpPart
from rdfcrawl.frontier.queue.candidate import kind_of, unpack
from rdfcrawl.frontier.worker.link_ingest import (
    LATER_BAND,
    LINK_BAND,
    SEED_BAND,
)
from rdfcrawl.frontier.worker.worker_state import RecentLinks
from rdfcrawl.uri import BadUri, HostGrouping, partition_of
from rdfcrawl.uri.link_filter import CrawlExtent, LinkFilter
from rdfcrawl.uri.parse import SchemePolicy
from rdfcrawl.uri.traps import TrapLimits
from tests.frontier.test_payload import urls
from tests.support.frontier_state import scope_of
from tests.support.link_ingests import PAGE, new_ingest, taken


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
    """If only a URL is known, then the end of its name separates dumps from pages."""
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
def test_recent_links_say_what_is_new(links: list[bytes]) -> None:
    """If links come in any order, then none is called known that was not seen."""
    recent, seen = RecentLinks(slots=64), set[bytes]()
    for link in links:
        is_new = recent.unseen([link]) == [link]
        assert is_new or link in seen
        assert recent.unseen([link]) == []
        seen.add(link)


def test_recent_links_in_bounded_memory() -> None:
    """If there are many more links than slots, then most of the last are known."""
    recent = RecentLinks(slots=2**12)
    links = [b"http://a.example/%d" % i for i in range(40_000)]
    assert recent.unseen(links) == links
    assert sys.getsizeof(recent._marks) < 2**16
    assert len(recent.unseen(links[-200:])) < 40
    assert len(recent.unseen(links[:200])) > 160


def test_forgotten_links_are_new() -> None:
    """If a link is forgotten, then it is new, and the link in its slot stays known."""
    recent = RecentLinks(slots=1)
    recent.note(b"b")
    recent.forget(b"a")
    assert recent.unseen([b"b"]) == []
    recent.forget(b"b")
    assert recent.unseen([b"b"]) == [b"b"]


def test_a_seed() -> None:
    """If a seed is given, then it has no parent, depth 0, and goes before links."""
    ingest = new_ingest()
    candidate = ingest.seed(ingest.seed_url("  http://A.example/x.ttl#me "))
    assert candidate.item[:1] == SEED_BAND
    record = unpack(candidate.item[1:], candidate.key)
    assert record == Record("http://a.example/x.ttl", Kind.DUMP)


@pytest.mark.parametrize("text", ["", "a.example", "mailto:me@a.example", "http://"])
def test_a_bad_seed_is_refused(text: str) -> None:
    """If a seed is not a URL that is crawled, then it is refused by name."""
    with pytest.raises(BadUri):
        new_ingest().seed_url(text)


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
        (Kind.SPARQL, PAGE, "https://a.example/secret", False),  # part of a source
        (Kind.SITEMAP, PAGE, "https://b.example/secret", True),
    ],
)
def test_what_is_queued_may_be_denied(
    kind: Kind, parent: str, url: str, *, is_refused: bool
) -> None:
    """If a record is denied, then it is not requested, unless the operator named it."""
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
    """If Redis may have lost links, then a repeated link is sent again."""
    ingest = new_ingest()
    link = b"https://b.example/x"
    assert len(taken(ingest, link)) == 1
    assert taken(ingest, link) == []
    ingest.forget_recent()
    assert len(taken(ingest, link)) == 1


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
    (first,) = ingest.uncovered(waiting)
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
    # A source of the Web may name its documents freely.
    for url in (PAGE, "s3://b/named"):
        candidates, faults = ingest.links([link], parent=Record(PAGE), url=url)
        assert not candidates
        assert [fault.reason for fault in faults] == [Reason.BAD_URI]
    assert not ingest.links([b"file:///x"], parent=own, url=own.url).candidates
    # It was not forgotten.
    (found,) = ingest.links([link], parent=own, url=own.url).candidates
    assert found.key == "s3!b"


def test_ignored_names_are_turned_away() -> None:
    """If a page has an ignored name, then it is counted and not queued."""
    ingest = new_ingest(ignored="jpg")
    ingest.covered.replace(["https://a.example/id/"])
    base = "https://a.example"
    links = [f"{base}{x}".encode() for x in ("/id/a.jpg", "/b.jpg", "/c?d.jpg")]
    assert [x.url for x in taken(ingest, *links)] == [f"{base}/c?d.jpg"]
    assert not ingest.take_deferred()  # as the dataset has no pictures either
    listed = [
        FollowUp(Record(f"{base}/e.jpg", Kind.PAGE, 1, PAGE)),
        FollowUp(Record(f"{base}/f.jpg", Kind.DUMP, 1, PAGE)),
        FollowUp(Record(f"{base}/g.jpg", Kind.PAGE, 1, PAGE), is_part_of_source=True),
    ]
    queued = ingest.follow_ups(listed).candidates
    urls = [unpack(each.item[1:], each.key).url for each in queued]
    assert urls == [f"{base}/f.jpg", f"{base}/g.jpg"]
    assert ingest.seed(f"{base}/h.jpg").item
    assert ingest.rejected.ignored_extension == 3
    page, seed = Record(f"{base}/i", Kind.PAGE, 1, PAGE), Record(f"{base}/i")
    dump = Record(f"{base}/i", Kind.DUMP, 1, PAGE)
    assert not ingest.wants_target(page, f"{base}/j.jpg")
    assert ingest.wants_target(seed, f"{base}/j.jpg")
    assert ingest.wants_target(dump, f"{base}/j.jpg")
    assert ingest.rejected.ignored_extension == 4
