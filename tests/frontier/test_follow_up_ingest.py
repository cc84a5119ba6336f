"""From a follow-up of a harvester to a candidate, and back to its record."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.records import FollowUp, Kind, Record, Urgency
from rdfcrawl.core.tasks import MAX_TASK_CHARS, SamplePage, encode_task
from rdfcrawl.frontier.queue.candidate import unpack
from rdfcrawl.frontier.worker.link_ingest import (
    LINK_BAND,
)
from rdfcrawl.uri.parse import SchemePolicy
from tests.support.link_ingests import PAGE, new_ingest


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
    assert bands == b"145627839"  # as `lua/claim.lua` takes them, and 9 in turns


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
    """If a source lists invalid URLs, then the document has one fault, counted."""
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
    """If a document is named by any IRI, then its follow-ups are queued."""
    children = [FollowUp(Record("https://b.example/", parent=parent))]
    found = new_ingest().follow_ups(children).candidates
    links = [b"https://b.example/"]
    found += new_ingest().links(links, parent=Record(PAGE), url=parent).candidates
    assert [unpack(x.item[1:], x.key).parent for x in found] == [held, held]


@pytest.mark.parametrize(
    ("asked", "n_taken"), [("", 1), ("s3://b/", 1), (PAGE, 0), ("file:///a", 0)]
)
def test_follow_ups_of_own_schemes(asked: str, n_taken: int) -> None:
    """If a source names a scheme of the user's, then it has to be of it itself."""
    ingest = new_ingest(schemes=SchemePolicy(frozenset({"s3", "file"})))
    follow_up = FollowUp(Record("s3://b/x", parent="s3://b/"), is_part_of_source=True)
    found = ingest.follow_ups([follow_up], source_url=asked)
    assert len(found.candidates) == n_taken
