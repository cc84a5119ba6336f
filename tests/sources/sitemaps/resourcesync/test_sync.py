"""A mirror that follows a source: baseline, changes, audit; killed anywhere."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.source_tasks import ResourceChange, SyncCapability, SyncMode
from rdfcrawl.sources.resourcesync.policy import DEFAULT_POLICY
from tests.support.resourcesync_source import (
    CAPABILITIES,
    SITE,
    Killed,
    Mirror,
    SourceSite,
    document,
    time_of,
)

if TYPE_CHECKING:
    from rdfcrawl.sources.resourcesync.policy import SyncPolicy

BY_DUMP = replace(
    DEFAULT_POLICY,
    snapshots=(SyncCapability.RESOURCE_DUMP,),
    changes=(SyncCapability.CHANGE_DUMP,),
)
BY_LIST = replace(
    DEFAULT_POLICY,
    snapshots=(SyncCapability.RESOURCE_LIST,),
    changes=(SyncCapability.CHANGE_LIST,),
)
WAYS = pytest.mark.parametrize("policy", [BY_LIST, BY_DUMP], ids=["lists", "dumps"])


def site(n_resources: int = 200, seed: int = 1) -> SourceSite:
    """Return a source with resources, all ways published."""
    source = SourceSite(seed=seed)
    for _ in range(n_resources):
        source.create()
    source.now += 10
    publish(source)
    return source


def publish(source: SourceSite, since: int = 0) -> None:
    """Publish in all ways."""
    ways = ("resourcelist", "resourcedump", "changelist", "changedump")
    source.publish(*ways, since=since, n_per_list=60)


def change(source: SourceSite, n: int) -> None:
    """Let the source change."""
    source.now += 1
    for _ in range(n):
        source.change()
    source.now += 1
    publish(source)


@WAYS
def test_a_mirror_becomes_and_stays_equal(policy: SyncPolicy) -> None:
    """If a source changes a thousand times, then the mirror is equal at the end."""
    source = site(400)
    mirror = Mirror(source, policy=policy)
    mirror.sync()
    assert mirror.data == source.resources
    change(source, 1000)
    assert mirror.data != source.resources
    mirror.sync("2")
    assert mirror.data == source.resources
    assert mirror.log.all() == []


@WAYS
def test_changes_in_many_steps_end_the_same(policy: SyncPolicy) -> None:
    """If the mirror follows now and then, then it is equal each time."""
    source = site(100)
    mirror = Mirror(source, policy=policy, order=random.Random(3))
    mirror.sync("0")
    for step in range(1, 9):
        change(source, 60)
        mirror.sync(str(step))
        assert mirror.data == source.resources


@WAYS
def test_killed_anywhere_it_ends_the_same(policy: SyncPolicy) -> None:
    """If the process dies over and over at any place, then the mirror is equal."""
    source = site(80)
    dice = random.Random(7)
    mirror = Mirror(source, policy=policy, order=random.Random(5))
    for run in ("1", "2", "3"):
        mirror.start(run)
        n_deaths = 0
        while mirror.queue:
            mirror.budget = dice.randrange(40, 200)
            try:
                mirror.work()
            except Killed:
                n_deaths += 1
        assert n_deaths
        assert mirror.data == source.resources
        change(source, 150)


def test_any_prefix_of_the_changes_may_come_again() -> None:
    """If steps are repeated from any place, then nothing changes."""
    source = site(60)
    mirror = Mirror(source, policy=BY_DUMP)
    mirror.sync()
    change(source, 200)
    mirror.sync("2")
    states, dice = dict(mirror.states), random.Random(2)
    for step in range(10):
        mirror.states = dict(states)
        mirror.parts.clear()
        mirror.seen.clear()
        mirror.start(f"again {step}", SyncMode.CHANGES)
        mirror.budget = dice.randrange(200)
        try:
            mirror.work()
        except Killed:
            mirror.queue.clear()
        mirror.budget = None
        mirror.sync(f"after {step}", SyncMode.CHANGES)
        assert mirror.data == source.resources


def test_closed_lists_are_not_requested() -> None:
    """If nothing changed, then a run requests the index and the open list alone."""
    source = site(300)
    mirror = Mirror(source, policy=BY_LIST)
    mirror.sync()
    change(source, 300)
    mirror.sync("2")
    mirror.requests.clear()
    mirror.sync("3")
    names = [url.rpartition("/")[2] for url in mirror.requests]
    assert names[:2] == ["capabilitylist.xml", "changelist.xml"]
    assert len(names) == 3
    assert mirror.data == source.resources


def test_what_the_mirror_has_is_not_fetched_again() -> None:
    """If an audit finds all as it should be, then no resource is requested."""
    source = site(150)
    mirror = Mirror(source, policy=BY_LIST)
    mirror.sync()
    mirror.requests.clear()
    mirror.sync("2", SyncMode.AUDIT)
    assert not [url for url in mirror.requests if "/res/" in url]
    assert mirror.data == source.resources


@pytest.mark.parametrize("seed", range(4))
def test_an_audit_finds_what_is_missing_changed_and_too_much(seed: int) -> None:
    """If a mirror is damaged, then an audit makes it equal again, in any order."""
    source = site(150)
    mirror = Mirror(source, policy=BY_LIST, order=random.Random(seed))
    mirror.sync()
    uris = sorted(mirror.data)
    for uri in uris[:10]:  # missing
        del mirror.data[uri]
        del mirror.known[uri]
    for uri in uris[10:20]:  # deleted at the source without a word
        del source.resources[uri]
    for uri in uris[20:30]:  # changed without a word
        source.resources[uri] = b"other"
    source.now += 5
    source.publish("resourcelist", n_per_list=60)
    mirror.sync("2", SyncMode.AUDIT)
    assert mirror.data == source.resources


def test_lost_changes_lead_to_an_audit() -> None:
    """If the change lists begin after the last time, then all is compared."""
    source = site(100)
    mirror = Mirror(source, policy=BY_LIST)
    mirror.sync()
    source.now += 10
    for _ in range(50):
        source.change()
    publish(source, since=source.now)  # what was before is told no more
    mirror.sync("2")
    assert mirror.log.count(Reason.INCOMPLETE) == 1
    assert mirror.data == source.resources


def test_changes_older_than_the_list_are_missed_once() -> None:
    """If the list is older than the first stated change, then one audit is enough."""
    source = site(30)
    source.publish("resourcelist", n_per_list=60)
    mirror = Mirror(source, policy=BY_LIST)
    mirror.sync()
    lists = {url: source.files[url] for url in source.files if "resourcelist" in url}
    source.now += 10
    source.create()
    publish(source, since=source.now)
    source.files |= lists
    mirror.sync("2")
    assert mirror.log.count(Reason.INCOMPLETE) == 2
    assert mirror.requests.count(CAPABILITIES) == 5


@pytest.mark.parametrize("way", ["resourcelist", "resourcedump"])
def test_without_change_lists_all_is_compared(way: str) -> None:
    """If a source offers a list or a dump alone, then each later run is an audit."""
    source = site(100)
    source.publish(way, n_per_list=60)
    mirror = Mirror(source, order=random.Random(1))
    mirror.sync()
    for _ in range(100):
        source.change()
    source.now += 1
    source.publish(way, n_per_list=60)
    mirror.sync("2")
    assert mirror.data == source.resources


def test_a_dump_that_fails_gives_way_to_the_list() -> None:
    """If an archive differs from its description, then the list is read instead."""
    source = site(100)
    for url in source.files:
        if url.endswith(".zip"):
            source.files[url] = source.files[url][:-1]
    mirror = Mirror(source)
    mirror.sync()
    assert mirror.data == source.resources
    assert mirror.log.count(Reason.BAD_FIXITY) == 2


def test_pages_of_a_long_list_are_records_of_their_own() -> None:
    """If a list is longer than a page, then a record goes on where it ended."""
    source = site(100)
    source.publish("resourcelist", "changelist", n_per_list=1000)
    policy = replace(BY_LIST, page_entries=30)
    mirror = Mirror(source, policy=policy)
    mirror.sync()
    assert mirror.data == source.resources
    # 30 resources, 30, and then as many as before: 60.
    assert mirror.requests.count(f"{SITE}/resourcelist-0.xml") == 3
    source.now += 1
    for _ in range(100):
        source.change()
    source.publish("resourcelist", "changelist", n_per_list=1000)
    mirror.sync("2")
    assert mirror.data == source.resources


def test_nothing_is_overwritten_by_other_bytes() -> None:
    """If a resource differs from its list, then the mirror keeps the old one."""
    source = site(10)
    mirror = Mirror(source, policy=BY_LIST)
    mirror.sync()
    uri = min(source.resources)
    before = source.resources[uri]
    source.now += 1
    source.put(uri, ResourceChange.UPDATED, b"what is stated")
    publish(source)
    source.resources[uri] = b"what is sent!!"
    mirror.sync("2")
    assert mirror.data[uri] == before
    assert mirror.log.count(Reason.BAD_FIXITY) == 1


def test_a_deletion_stays_when_an_older_word_comes_late() -> None:
    """If a dump from before a deletion is unpacked after it, it stays deleted."""
    source = site(20)
    mirror = Mirror(source, policy=BY_DUMP)
    mirror.sync()
    uri = min(source.resources)
    source.now += 1
    source.delete(uri)
    publish(source)
    mirror.sync("2")
    old = site(20)
    mirror.source = old
    mirror.states.clear()
    mirror.sync("3", SyncMode.BASELINE)
    assert uri not in mirror.data


def test_others_are_not_spoken_for() -> None:
    """If a list deletes a resource of another site, then the deletion is ignored."""
    source = site(5)
    mirror = Mirror(source, policy=BY_LIST)
    mirror.sync()
    mirror.data["http://other.example/a"] = b"x"
    changes = [
        (
            "http://other.example/a",
            {"change": "deleted", "datetime": time_of(source.now + 1)},
            "",
        ),
        (
            "http://other.example/b",
            {"change": "created", "datetime": time_of(source.now + 1)},
            "",
        ),
    ]
    md = {"capability": "changelist", "from": time_of(0)}
    source.files[f"{SITE}/changelist.xml"] = document(md, changes)
    mirror.sync("2")
    assert mirror.data["http://other.example/a"] == b"x"
    assert not [url for url in mirror.requests if "other" in url]
    assert mirror.log.count(Reason.CROSS_SITE) == 2


def test_documents_that_lead_to_one_another_end() -> None:
    """If indexes name each other, then following them ends."""
    source = SourceSite()
    urls = [f"{SITE}/index-{i}.xml" for i in range(3)]
    md = {"capability": "resourcelist", "at": time_of(0)}
    for url in urls:
        entries: list[tuple[str, dict[str, str], str]] = [(u, {}, "") for u in urls]
        source.files[url] = document(md, entries, is_index=True)
    source.files[CAPABILITIES] = document(
        {"capability": "capabilitylist"},
        [(urls[0], {"capability": "resourcelist"}, "")],
    )
    mirror = Mirror(source, policy=replace(DEFAULT_POLICY, depth=5))
    mirror.sync()
    assert mirror.log.count(Reason.TOO_DEEP)
    assert len(mirror.requests) < 400
    assert not mirror.states[next(iter(mirror.states))].endswith("true]")
