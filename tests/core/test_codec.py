"""Frozen dataclasses as short texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.analysis.refresh.domain_schedule import DomainSchedule
from rdfcrawl.core.codec import decode, encode
from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.records import Kind, Record
from rdfcrawl.core.visits import decode_record, encode_record
from rdfcrawl.downloader.parts import PartFacts
from rdfcrawl.sources.harvest.ckan import FinishedHarvest
from rdfcrawl.sources.harvest.collections import PageState
from rdfcrawl.sources.harvest.cross_host_checks import ListedDataset
from rdfcrawl.sources.harvest.known_datasets import KnownDataset
from rdfcrawl.sources.harvest.resourcesync.mirror_index import BegunRun, OwedResource
from rdfcrawl.sources.harvest.sitemap_reading import SitemapState
from rdfcrawl.sources.resourcesync.mirror import KnownResource, MirrorState, RunPart
from tests.support.task_values import tasks, values

KEPT = [
    BegunRun,
    FinishedHarvest,
    ListedDataset,
    KnownResource,
    KnownDataset,
    OwedResource,
    PageState,
    RunPart,
    PartFacts,
    SitemapState,
    MirrorState,
    DomainSchedule,
]


@pytest.mark.parametrize("schema", KEPT, ids=lambda schema: schema.__name__)
@given(data=st.data())
def test_what_is_kept_comes_back(schema: type[Any], data: st.DataObject) -> None:
    """If a state is written and read, then it is equal, and so is its text."""
    value = data.draw(values(schema))
    text = encode(value)
    assert text.isascii()
    assert decode(text, schema) == value
    assert encode(decode(text, schema)) == text


@pytest.mark.parametrize("schema", KEPT, ids=lambda schema: schema.__name__)
@pytest.mark.parametrize("text", ["", "{}", "null", "[[[]]]", '["a"', "[" * 2000])
def test_damaged_state_is_a_named_fault(schema: type[Any], text: str) -> None:
    """If a state is damaged, then that is a fault with a name."""
    with pytest.raises(SourceFault) as caught:
        decode(text, schema)
    assert caught.value.fault.reason is Reason.BAD_RECORD


@given(
    kind=st.sampled_from(Kind),
    depth=st.integers(0, 255),
    texts=st.tuples(st.text(), st.text()),
    task=st.none() | tasks(),
    profile=st.integers(0, 1000),
)
def test_record_that_waits_comes_back(
    kind: Kind, depth: int, texts: tuple[str, str], task: Any, profile: int
) -> None:
    """If a record is kept by its URL, then it is equal when read."""
    parent, change = texts
    url = "http://a.example/"
    record = Record(url, kind, depth, parent, task=task, change=change, profile=profile)
    assert decode_record(url, encode_record(record)) == record


@dataclass(frozen=True)
class Untyped:
    """A class with a field that has no text."""

    value: object


def test_field_of_an_unknown_type_is_a_mistake() -> None:
    """If a class has a field of another type, then no text is made of it."""
    with pytest.raises(TypeError, match="no texts"):
        decode("[1]", Untyped)
