"""The representative of a cluster (section 6.2)."""

from __future__ import annotations

from itertools import permutations

import pytest

from rdfcrawl.analysis.duplicates.clusters import CanonicalCandidate as Candidate
from rdfcrawl.analysis.duplicates.clusters import choose_canonical

# Each loses by the next rule to what stands before it, and wins by all later rules.
ORDER = (
    Candidate(url="https://a.example/long/listed", is_listed=True, priority=0.9),
    Candidate(url="https://a.example/listed", is_listed=True, is_declared=True),
    Candidate(url="https://a.example/list", is_listed=True, is_redirect_target=True),
    Candidate(url="https://a.example/lis", is_listed=True, pagerank=0.5),
    Candidate(url="https://a.example/li", is_listed=True, priority=0.4),
    Candidate(url="https://a.example/declared", is_declared=True, priority=1.0),
    Candidate(url="https://a.example/target", is_redirect_target=True),
    Candidate(url="https://a.example/ranked", pagerank=0.5),
    Candidate(url="https://a.example/b"),
    Candidate(url="https://a.example/c"),
    Candidate(url="https://a.example/aa"),
)


@pytest.mark.parametrize("place", range(len(ORDER)))
def test_each_rule_decides_among_those_that_are_left(place: int) -> None:
    """If earlier rules do not distinguish members, then the next one decides."""
    assert choose_canonical(ORDER[place:][::-1]) == ORDER[place].url


def test_order_of_members_makes_no_difference() -> None:
    """If members come in another order, then the representative is the same."""
    members = ORDER[3:8]
    found = {choose_canonical(each) for each in permutations(members)}
    assert found == {ORDER[3].url}


def test_canonical_link_breaks_the_tie_of_listed_urls() -> None:
    """If two are listed with one priority, then `rel=canonical` decides."""
    members = [
        Candidate(url="https://a.example/", is_listed=True, priority=0.5),
        Candidate(url="https://a.example/x?a=1", is_listed=True, is_declared=True),
    ]
    assert choose_canonical(members) == members[1].url


def test_no_members_have_no_representative() -> None:
    """If there are no members, then that is a mistake."""
    with pytest.raises(ValueError, match="empty"):
        choose_canonical([])
