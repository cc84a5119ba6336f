"""From a link to a candidate: what is turned away, and where the rest goes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.frontier.intake import (
    LINK_BAND,
    SEED_BAND,
    Intake,
    RecentLinks,
    kind_of,
)
from rdfcrawl.frontier.payload import unpack
from rdfcrawl.links import Extent, LinkFilter, Patterns, Scope
from rdfcrawl.records import Kind, Record
from rdfcrawl.uri import BadUri, Grouping, NormalForm, PolitenessKey, partition_of

PAGE = "https://a.example/page"


def new_intake(
    *,
    scope: Scope | None = None,
    deny: str | None = None,
    max_depth: int = 255,
    partitions: int = 16,
    grouping: Grouping = Grouping.HOST,
) -> Intake:
    """Return an intake that takes all that its arguments do not turn away."""
    denied = Patterns((re.compile(deny),)) if deny else Patterns()
    return Intake(
        keys=PolitenessKey(grouping),
        normal_form=NormalForm(),
        link_filter=LinkFilter(scope or Scope(), Patterns(), denied),
        partitions=partitions,
        max_depth=max_depth,
    )


def taken(intake: Intake, *links: bytes, depth: int = 0) -> list[Record]:
    """Return the records of the candidates among some links of a page."""
    parent = Record(PAGE, depth=depth)
    found = intake.links(links, parent=parent, url=PAGE)
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
        ("x.gz", Kind.PAGE),
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
        (".nt", Kind.DUMP),
    ],
)
def test_kind_by_name(name: str, kind: Kind) -> None:
    """If only a URL is known, then the end of its file name tells dumps from pages."""
    assert kind_of(f"https://a.example/d/{name}") is kind


def test_a_link_becomes_a_record() -> None:
    """If a link is wanted, then its record has depth, parent and kind."""
    (record,) = taken(new_intake(), b"http://b.example/x.nt", depth=4)
    assert record == Record("http://b.example/x.nt", Kind.DUMP, 5, PAGE)


def test_a_link_lies_with_its_key() -> None:
    """If a link is taken, then key and partition are those of its host."""
    intake = new_intake(partitions=7)
    (one,) = intake.links([b"https://b.example/x"], parent=Record(PAGE), url=PAGE)
    assert one.key == "b.example"
    assert one.partition == partition_of("b.example", 7)


def test_grouping_by_domain() -> None:
    """If hosts are grouped by domain, then two hosts share a key, and URLs differ."""
    intake = new_intake(grouping=Grouping.DOMAIN)
    links = [b"https://x.b.example/", b"https://y.b.example/"]
    found = intake.links(links, parent=Record(PAGE), url=PAGE)
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
    intake = new_intake()
    (record,) = taken(intake, link, b"https://b.example/")
    assert record.url == "https://b.example/"
    assert intake.turned.bad == 1


def test_links_beyond_the_depth_are_counted() -> None:
    """If a page is as deep as allowed, then none of its links is taken."""
    intake = new_intake(max_depth=2)
    assert len(taken(intake, b"https://b.example/1", depth=1)) == 1
    assert taken(intake, b"https://b.example/2", b"https://b.example/3", depth=2) == []
    assert intake.turned.too_deep == 2


def test_links_that_were_too_deep_are_not_remembered() -> None:
    """If a link was too deep and is found again higher up, then it is taken."""
    intake = new_intake(max_depth=2)
    assert taken(intake, b"https://b.example/", depth=2) == []
    assert len(taken(intake, b"https://b.example/", depth=0)) == 1


def test_links_out_of_scope_are_counted() -> None:
    """If a link is out of scope or denied, then it is counted; seeds are not asked."""
    scope = Scope.of_seeds(Extent.HOST, [PAGE])
    intake = new_intake(scope=scope, deny="secret")
    links = [b"https://a.example/1", b"https://b.example/", b"https://a.example/secret"]
    assert [r.url for r in taken(intake, *links)] == ["https://a.example/1"]
    assert intake.turned.filtered == 2
    assert intake.seed("https://b.example/secret").key == "b.example"


def test_a_wider_scope_takes_what_was_turned_away() -> None:
    """If the scope widens, then links that were found before are wanted now."""
    intake = new_intake(scope=Scope.of_seeds(Extent.HOST, [PAGE]))
    assert taken(intake, b"https://b.example/1") == []
    both = Scope.of_seeds(Extent.HOST, [PAGE, "https://b.example/"])
    intake.narrow(LinkFilter(both))
    assert len(taken(intake, b"https://b.example/1")) == 1


def test_repeats_cost_nothing() -> None:
    """If a link is found again, then it is counted and makes no candidate."""
    intake = new_intake()
    assert len(taken(intake, b"https://b.example/1", b"https://b.example/1")) == 1
    assert taken(intake, b"https://b.example/1") == []
    assert intake.turned.recent == 2


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
    candidate = new_intake().seed("  http://A.example/x.ttl#me ")
    assert candidate.item[:1] == SEED_BAND
    record = unpack(candidate.item[1:], candidate.key)
    assert record == Record("http://a.example/x.ttl", Kind.DUMP)


@pytest.mark.parametrize("text", ["", "a.example", "mailto:me@a.example", "http://"])
def test_a_bad_seed_is_refused(text: str) -> None:
    """If a seed is no URL that is crawled, then it is refused by name."""
    with pytest.raises(BadUri):
        new_intake().seed(text)


def test_a_redirect_target_keeps_its_chain() -> None:
    """If another host is redirected to, then the chain is kept, or it is counted."""
    scope = Scope.of_seeds(Extent.HOST, ["https://b.example/"])
    intake = new_intake(scope=scope)
    record = Record("https://b.example/x", Kind.PAGE, 3, PAGE, ("https://a.example/1",))
    candidate = intake.redirected(record)
    assert candidate is not None
    assert unpack(candidate.item[1:], candidate.key) == record
    assert intake.redirected(Record("https://c.example/")) is None
    assert intake.turned.filtered == 1


def test_seen_only_has_the_same_fingerprint() -> None:
    """If a URL is marked as seen, then it is the same URI as a link to it."""
    intake = new_intake()
    mark = intake.seen_only("https://b.example/%7ex")
    link = intake.candidate(Record("https://b.example/~x"), LINK_BAND)
    assert (mark.partition, mark.key, mark.fingerprint) == link[:3]
    assert mark.item == b"k"


def test_a_forgotten_link_is_offered_again() -> None:
    """If Redis may have lost what it took, then a repeated link goes on once more."""
    intake = new_intake()
    link = b"https://b.example/x"
    assert len(taken(intake, link)) == 1
    assert taken(intake, link) == []
    intake.forget_recent()
    assert len(taken(intake, link)) == 1
