"""The places for slow visits: who has them, and who is known to need one."""

from __future__ import annotations

import pytest

from rdfcrawl.frontier.engine import SlowHosts, SlowPlaces


@pytest.mark.parametrize("is_active", [True, False])
def test_neither_kind_takes_the_half_of_the_other(*, is_active: bool) -> None:
    """If one kind has all places, then the other gets half of them back."""
    places = SlowPlaces[str](4)
    many = [f"many{n}" for n in range(5)]
    assert [places.give(each, is_active=is_active) for each in many] == [
        *[None] * 4,
        many[4],
    ]
    few = [f"few{n}" for n in range(3)]
    gone = [places.give(each, is_active=not is_active) for each in few]
    assert gone == [many[3], many[2], few[2]]
    assert set(places) == {*many[:2], *few[:2]}


def test_places_of_what_has_ended_are_free() -> None:
    """If a visit has ended, then its place is free."""
    places = SlowPlaces[str](2)
    assert not places.give("a", is_active=False)
    assert not places.give("b", is_active=False)
    assert places.is_full
    assert not places.has_room
    places.keep({"b"})
    assert list(places) == ["b"]
    assert places.has_room


def test_slow_hosts_are_remembered_until_they_are_quick() -> None:
    """If a host was slow, then it is known for that until a quick visit of it."""
    hosts = SlowHosts()
    hosts.note_slow("h.example")
    hosts.end("h.example")
    assert "h.example" in hosts
    hosts.end("h.example")
    assert "h.example" not in hosts
