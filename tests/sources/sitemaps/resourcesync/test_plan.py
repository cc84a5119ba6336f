"""What follows from single documents."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rdfcrawl.core.codec import decode, encode
from rdfcrawl.core.errors import FaultLog, Reason, SourceFault
from rdfcrawl.core.formats import Relation
from rdfcrawl.core.source_tasks import (
    ResourceChange,
    SyncCapability,
    SyncMode,
    SyncStep,
    SyncTask,
)
from rdfcrawl.core.times import begin_us
from rdfcrawl.rdf.html.page import ParsedPage
from rdfcrawl.sources.resourcesync import discovery
from rdfcrawl.sources.resourcesync.documents import DocumentEntries
from rdfcrawl.sources.resourcesync.mirror import (
    FollowStep,
    KnownResource,
    ListedResources,
    MirrorState,
    OpenedSet,
    RelatedLink,
    RunPart,
    StatedResource,
    UnfetchedResource,
    VersionAction,
    commit,
    decide,
    is_settled,
    n_outstanding,
    next_attempt,
    version_of,
)
from rdfcrawl.sources.resourcesync.plan import fallback
from rdfcrawl.sources.resourcesync.policy import DEFAULT_POLICY
from rdfcrawl.sources.resourcesync.resources import fitted, source_id
from tests.support.resourcesync_source import (
    SITE,
    Mirror,
    SourceSite,
    document,
    element,
    facts_of,
    time_of,
)
from tests.support.resourcesync_steps import (
    CHANGES,
    STATE,
    URL,
    change,
    followed,
    steps_of,
)

OFFERS = ["resourcelist", "resourcedump", "changelist", "changedump"]


@pytest.mark.parametrize(
    ("offers", "task", "state", "expected", "mode"),
    [
        (OFFERS, SyncTask(), MirrorState(), "resourcedump", SyncMode.BASELINE),
        (OFFERS[:1], SyncTask(), MirrorState(), "resourcelist", SyncMode.BASELINE),
        (
            OFFERS,
            SyncTask(without=("resourcedump",)),
            MirrorState(),
            "resourcelist",
            "baseline",
        ),
        (OFFERS, SyncTask(), STATE, "changelist", SyncMode.CHANGES),
        (OFFERS[1:2] + OFFERS[3:], SyncTask(), STATE, "changedump", SyncMode.CHANGES),
        (OFFERS[:2], SyncTask(), STATE, "resourcelist", SyncMode.AUDIT),
        (
            OFFERS[1:2],
            SyncTask(mode=SyncMode.AUDIT),
            STATE,
            "resourcedump",
            SyncMode.AUDIT,
        ),
        (["resourcelist-archive"], SyncTask(), MirrorState(), None, None),
    ],
)
def test_a_capability_list_leads_to_one_way(
    offers: list[str],
    task: SyncTask,
    state: MirrorState,
    expected: str | None,
    mode: str | None,
) -> None:
    """If a source offers several ways, then the state says which is taken."""
    log = FaultLog()
    entries = [(f"{SITE}/{way}", {"capability": way}, "") for way in offers]
    steps = steps_of(
        {"capability": "capabilitylist"}, entries, task=task, state=state, log=log
    )
    assert steps[0] == OpenedSet(source_id(URL), URL)
    records = followed(steps)
    if expected is None:
        assert log.count(Reason.BAD_ANSWER) == 1
        assert records == []
        return
    (record,) = records
    assert (record.url, record.task.expected) == (f"{SITE}/{expected}", expected)
    assert (record.task.mode, record.task.source) == (mode, source_id(URL))
    assert record.task.run


def test_a_description_leads_to_all_its_sets() -> None:
    """If a site has several sets of resources, then each is followed."""
    entries = [(f"{SITE}/{i}", {"capability": "capabilitylist"}, "") for i in range(3)]
    entries.append(("http://other.example/", {"capability": "capabilitylist"}, ""))
    log = FaultLog()
    steps = steps_of({"capability": "description"}, entries, log=log)
    assert [each.url for each in followed(steps)] == [f"{SITE}/{i}" for i in range(3)]
    assert {each.task.expected for each in followed(steps)} == {
        SyncCapability.CAPABILITY_LIST
    }
    assert log.count(Reason.CROSS_SITE) == 1
    assert log.take_refused() == [("cross_site", "http://other.example/")]


def test_a_document_of_another_kind_is_not_read() -> None:
    """If a document is not what led to it, then nothing follows from it."""
    log = FaultLog()
    entries = [change("a", "deleted", datetime=time_of(20))]
    task = SyncTask(expected=SyncCapability.RESOURCE_LIST)
    assert steps_of(CHANGES, entries, task=task, log=log) == []
    assert log.count(Reason.BAD_ANSWER) == 1
    log = FaultLog()
    assert steps_of({"capability": "unknown"}, [], log=log) == []
    assert steps_of({"capability": "changelist-archive"}, [], log=log) == []
    assert [fault.reason for fault in log.all()] == [
        Reason.BAD_ANSWER,
        Reason.UNSUPPORTED_FORMAT,
    ]


def test_a_plain_sitemap_is_a_list_of_resources() -> None:
    """If a sitemap says nothing of ResourceSync, then it is a resource list."""
    steps = steps_of(
        {}, [(f"{SITE}/a", {}, "<lastmod>2020</lastmod>")], state=MirrorState()
    )
    opened, record, part = steps
    assert isinstance(opened, OpenedSet)
    assert isinstance(record, FollowStep)
    assert record.task.modified_us == begin_us("2020")
    assert isinstance(part, RunPart)


def test_mirrors_come_first_and_the_resource_last() -> None:
    """If a resource has mirrors, then they are tried by `pri`, then the resource."""
    links = [
        ("duplicate", "http://m2.other.example/a", "2"),
        ("duplicate", f"{SITE}/m1", "1"),
        ("duplicate", "gsiftp://grid.example/a", "3"),
        ("alternate", f"{SITE}/a.ttl", ""),
        ("canonical", f"{SITE}/canon", ""),
        ("describedby", f"{SITE}/meta", ""),
        ("memento", f"{SITE}/old", ""),
    ]
    xml = "".join(
        element(
            "rs:ln",
            {
                "rel": rel,
                "href": href,
                "pri": pri,
                "type": "text/turtle" if rel == "alternate" else "",
            },
        )
        for rel, href, pri in links
    )
    md = {"capability": "resourcelist", "at": time_of(5)}
    steps = steps_of(md, [(f"{SITE}/a", facts_of(b"x"), xml)], state=MirrorState())
    related = [step.link.relation for step in steps if isinstance(step, RelatedLink)]
    assert related == [Relation.ALTERNATE, Relation.CANONICAL, Relation.DESCRIBEDBY]
    (record,) = followed(steps)
    tried = [record.url]
    attempt: tuple[str, SyncTask] | None = (record.url, record.task)
    while attempt is not None:
        assert version_of(attempt[1], attempt[0]).uri == f"{SITE}/a"
        attempt = next_attempt(attempt[1], attempt[0])
        tried += [attempt[0]] if attempt else []
    assert tried == [f"{SITE}/m1", "http://m2.other.example/a", f"{SITE}/a"]


def test_a_mirror_elsewhere_needs_a_digest() -> None:
    """If a mirror on another site has no digest, then it is not used."""
    log = FaultLog()
    link = element("rs:ln", {"rel": "duplicate", "href": "http://m.other.example/a"})
    md = {"capability": "resourcelist"}
    (record,) = followed(steps_of(md, [(f"{SITE}/a", {"length": "1"}, link)], log=log))
    assert (record.url, record.task.others) == (f"{SITE}/a", ())
    assert log.count(Reason.UNCONFIRMED_CLAIM) == 1


@pytest.mark.parametrize(
    ("patch_type", "operations", "reason"),
    [
        (
            "application/json-patch",
            b'[{"op": "add", "path": "/b/-", "value": 3}]',
            None,
        ),
        (
            "application/json-patch+json",
            b'[{"op": "add", "path": "/b/-", "value": 4}]',
            Reason.BAD_FIXITY,
        ),
        ("application/x-tiff-diff", b"x", Reason.UNSUPPORTED_PATCH),
    ],
)
def test_a_patch_is_applied_or_the_resource_fetched(
    patch_type: str, operations: bytes, reason: Reason | None
) -> None:
    """If a change has a patch, then it is used if it fits; else all is fetched."""
    source, uri = SourceSite(), f"{SITE}/res/json"
    source.put(uri, ResourceChange.CREATED, b'{"a": 1, "b": [1, 2]}')
    source.now = 5
    source.publish("resourcelist", "changelist")
    mirror = Mirror(source, policy=replace(DEFAULT_POLICY, wants_patches=True))
    mirror.sync()
    source.now = 9
    after = b'{"a": 1, "b": [1, 2, 3]}'
    source.put(uri, ResourceChange.UPDATED, after)
    source.files[f"{SITE}/patch"] = operations
    link = element(
        "rs:ln",
        {
            "rel": "http://www.openarchives.org/rs/terms/patch",
            "href": f"{SITE}/patch",
            "type": patch_type,
            **facts_of(operations),
        },
    )
    facts = {"change": "updated", "datetime": time_of(9), **facts_of(after)}
    md = {"capability": "changelist", "from": time_of(5)}
    source.files[f"{SITE}/changelist.xml"] = document(md, [(uri, facts, link)])
    mirror.requests.clear()
    mirror.sync("2")
    assert mirror.data == source.resources
    assert (uri in mirror.requests) == (reason is not None)
    assert [fault.reason for fault in mirror.log.all()] == [reason] * bool(reason)


def test_what_is_no_rdf_is_only_recorded() -> None:
    """If only RDF is wanted, then an image is recorded, and possible RDF is fetched."""
    types = ["image/tiff", "text/turtle", "", "application/xml", "text/html"]
    entries = [(f"{SITE}/{i}", {"type": kind}, "") for i, kind in enumerate(types)]
    policy = replace(DEFAULT_POLICY, only_rdf=True)
    steps = steps_of({"capability": "resourcelist"}, entries, policy=policy)
    (recorded,) = [step for step in steps if isinstance(step, UnfetchedResource)]
    assert recorded.version.media_type == "image/tiff"
    assert len(followed(steps)) == 4


def test_an_audit_lists_what_it_came_by() -> None:
    """If a list is read for an audit, then unchanged resources are not fetched."""
    entries = [(f"{SITE}/{i}", facts_of(bytes(i)), "") for i in range(3)]
    known = {
        f"{SITE}/1": KnownResource(hashes=entries[1][1]["hash"], length=1),
        f"{SITE}/2": KnownResource(hashes=entries[1][1]["hash"], length=1),
    }
    task = SyncTask(mode=SyncMode.AUDIT, source="s", run="r")
    md = {"capability": "resourcelist", "at": time_of(20)}
    steps = steps_of(md, entries, task=task, known=known)
    assert [each.url[-1] for each in followed(steps)] == ["0", "2"]
    (listed,) = [step for step in steps if isinstance(step, ListedResources)]
    assert listed == ListedResources("r", tuple(uri for uri, *_ in entries))


def test_a_list_that_is_replaced_while_it_is_read_is_begun_again() -> None:
    """If the next page is of another list, then it is read from its start."""
    md = {"capability": "resourcelist", "at": time_of(5)}
    entries: list[tuple[str, dict[str, str], str]] = [
        (f"{SITE}/{i}", {}, "") for i in range(4)
    ]
    policy = replace(DEFAULT_POLICY, page_entries=2)
    *_, last = followed(steps_of(md, entries, policy=policy))
    assert (last.url, last.task.cursor) == (URL, 2)
    again = steps_of(md, entries, policy=policy, task=last.task)
    assert [each.url[-1] for each in followed(again)] == ["2", "3"]
    other = steps_of({**md, "at": time_of(6)}, entries, policy=policy, task=last.task)
    assert [each.url[-1] for each in followed(other)][:2] == ["0", "1"]


@pytest.mark.parametrize(
    ("version", "known", "action"),
    [
        ({}, None, VersionAction.FETCH),
        ({"change": ResourceChange.DELETED}, None, VersionAction.DELETE),
        ({"as_of_us": 1}, {"as_of_us": 2}, VersionAction.STALE),
        ({"as_of_us": 2}, {"as_of_us": 2}, VersionAction.FETCH),
        ({"as_of_us": 1}, {"as_of_us": 2, "is_gone": True}, VersionAction.STALE),
        ({"as_of_us": 3}, {"as_of_us": 2, "is_gone": True}, VersionAction.FETCH),
        (
            {"as_of_us": 2, "change": ResourceChange.DELETED},
            {"as_of_us": 2, "is_gone": True},
            VersionAction.NONE,
        ),
        (
            {"as_of_us": 3, "modified_us": 1, "is_snapshot": True},
            {"modified_us": 1},
            VersionAction.NONE,
        ),
        ({"as_of_us": 3, "modified_us": 1}, {"modified_us": 1}, VersionAction.FETCH),
    ],
)
def test_a_later_word_stands(
    version: dict[str, object], known: dict[str, object] | None, action: VersionAction
) -> None:
    """If a version is stated, then its action depends on the known state."""
    stated = StatedResource(uri="http://e/", **version)  # type: ignore[arg-type]
    kept = KnownResource(**known) if known is not None else None  # type: ignore[arg-type]
    assert decide(stated, kept) is action
    if kept is not None:
        assert decode(encode(kept), KnownResource) == kept


def test_only_the_last_version_is_there_to_be_fetched() -> None:
    """If a later change was stated meanwhile, then the earlier one is not requested."""
    version = StatedResource(uri="http://e/", as_of_us=5)
    assert not is_settled(version, None)
    assert not is_settled(version, None, wanted_us=5)
    assert is_settled(version, None, wanted_us=6)


def test_a_run_is_complete_when_all_leaves_are() -> None:
    """If an announced part is missing, then the run is not complete."""
    parts = {
        "": RunPart(source="s", run="r", mode=SyncMode.CHANGES, n_children=2),
        "1": RunPart(
            source="s", run="r", mode=SyncMode.CHANGES, place="1", n_children=3
        ),
        "2": RunPart(source="s", run="r", mode=SyncMode.CHANGES, place="2", seen_us=70),
    }
    for i in range(3):
        assert n_outstanding(parts.values()) == 3 - i
        place = f"1.{i + 1}"
        made = RunPart(
            source="s", run="r", mode=SyncMode.CHANGES, place=place, closed_us=i
        )
        parts[place] = decode(encode(made), RunPart)
        assert parts[place] == made
    assert n_outstanding(parts.values()) == 0
    state, tasks = commit(MirrorState(url="u", seen_us=60), parts)
    assert (state.seen_us, state.closed_us, tasks) == (70, 2, [])
    assert decode(encode(state), MirrorState) == state


def test_a_task_is_short_and_comes_back() -> None:
    """If a task is written and read, then it is the same; a long one is shortened."""
    task = SyncTask(
        do=SyncStep.GET,
        mode=SyncMode.CHANGES,
        change=ResourceChange.CREATED,
        hashes=facts_of(b"x")["hash"],
        length=1,
        as_of_us=1_357_000_000_000_000,
        media_type="text/turtle",
        without=("a", "b"),
        has_datetime=True,
    )
    assert decode(encode(task), SyncTask) == task
    assert len(encode(task)) < 280
    assert fitted(task) is task
    long = replace(task, others=tuple(f"http://e/{i}/{'x' * 900}" for i in range(5)))
    assert fitted(long) == task
    with pytest.raises(SourceFault):
        fitted(replace(task, uri="x" * 3000))


def test_a_way_that_fails_gives_way_to_another_once() -> None:
    """If a dump and then a list fail, then nothing is left to try."""
    task = SyncTask(
        mode=SyncMode.BASELINE, expected=SyncCapability.RESOURCE_DUMP, run="r"
    )
    second = fallback(task)
    assert second is not None
    assert second.without == ("resourcedump",)
    assert fallback(replace(second, expected=SyncCapability.RESOURCE_LIST)) is None
    assert fallback(SyncTask()) is None


def test_a_source_is_found_in_all_the_ways_of_the_standard() -> None:
    """If something points to a source, then its addresses are given, in order."""
    assert discovery.of_site(f"{SITE}/a?c").url == f"{SITE}/.well-known/resourcesync"
    header = (
        '</c.xml>; rel="resourcesync", </d>; rel="next", <mailto:x>; rel=resourcesync'
    )
    assert [each.url for each in discovery.of_header(header, base=URL)] == [
        f"{SITE}/c.xml"
    ]
    html = (
        b"<html><head><base href=/b/><link rel='ResourceSync x' href=c.xml>"
        b"<link rel=resourcesync href='http://['></head>"
        b"<body><link rel=resourcesync href=no.xml>"
    )
    page = ParsedPage(html, url=URL)
    (found,) = discovery.of_page(page)
    assert (found.url, found.expected) == (
        f"{SITE}/b/c.xml",
        SyncCapability.CAPABILITY_LIST,
    )
    lines = ["/s.xml", "http://[", " /s.xml "]
    assert [each.url for each in discovery.of_sitemaps(lines, base=URL)] == [
        f"{SITE}/s.xml"
    ]
    body = document({"capability": "changelist"}, []).replace(
        b"<rs:md", b'<rs:ln rel="index" href="i.xml"/><rs:md', 1
    )
    heading = DocumentEntries(body, url=URL, log=FaultLog()).heading
    above = discovery.of_heading(heading)
    assert [(each.url, each.expected) for each in above] == [
        (f"{SITE}/i.xml", SyncCapability.CHANGE_LIST),
        (f"{SITE}/capabilitylist.xml", SyncCapability.CAPABILITY_LIST),
    ]
