"""Tests of `rdfcrawl.frontier.queue.profiles`."""

from __future__ import annotations

import pytest

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.frontier.arguments.crawl import ArgumentSet
from rdfcrawl.frontier.queue.profiles import AgreedArguments, CrawlMember, agree


def member(takes: tuple[str, ...] = (), **given: str) -> CrawlMember:
    """Return a spider with its arguments."""
    return CrawlMember(accepts=ArgumentSet(takes), given=given)


def test_audit_is_for_one_run() -> None:
    """If a run is an audit, then it is one until it is over, and the next is not."""
    audit = member(("sources", "audit"), audit="1")
    first = agree({}, audit, "c")
    assert first == AgreedArguments({"audit": "1"})
    plain = member(("sources", "audit"))
    assert agree(first.texts, plain, "c").texts == {"audit": "1"}
    assert agree(first.texts, plain, "c", is_new_run=True).texts == {}


@pytest.mark.parametrize("text", ["object,subject", "abox", " subject , object "])
def test_same_value_in_other_words_is_no_contradiction(text: str) -> None:
    """If an argument has the same meaning as before, then it is accepted."""
    stored = {"follow": "subject,object"}
    assert agree(stored, member(follow=text), "c") == AgreedArguments(stored)


@pytest.mark.parametrize(("before", "text"), [("5", "4"), ("0", "3")])
def test_lower_budget_is_a_contradiction(before: str, text: str) -> None:
    """If less is to be taken of a host than before, then it has to be reset."""
    with pytest.raises(ConfigError, match="reset=max_per_host"):
        agree({"max_per_host": before}, member(max_per_host=text), "c")


def test_named_sources_are_added_up() -> None:
    """If sources are named later, then those named before are named still."""
    stored = {"portals": "http://a/"}
    texts = agree(
        stored, member(("portals",), portals="http://b/,http://a/"), "c"
    ).texts
    assert texts == {"portals": "http://a/,http://b/"}


def test_reset_alone_gives_the_default() -> None:
    """If an argument is reset and has no value, then it has its default again."""
    agreed = agree({"scope": "host", "depth": "3"}, member(reset="scope"), "c")
    assert agreed == AgreedArguments({"depth": "3"}, frozenset({"scope"}))
