"""If strangers send any bytes, a parser gives statements or a named fault."""

from __future__ import annotations

import pytest

from tests.fuzz.doors import DOORS
from tests.fuzz.running import CORPUS, inputs_of, iter_defects, try_input

SECS, SOAK_SECS = 0.1, 60.0


@pytest.mark.in_turn(3, rooms=("rdf", "sources", "downloader", "uri", "middlewares"))
@pytest.mark.parametrize("door", DOORS)
def test_damaged_inputs_are_read_or_refused(door: str) -> None:
    """If an input is damaged, then nothing but named faults comes of it, in time."""
    found = [each for each in iter_defects(door, secs=SECS, seed=0) if each is not None]
    assert not found, found[0]


@pytest.mark.soak
@pytest.mark.parametrize("door", DOORS)
def test_many_damaged_inputs_are_read_or_refused(door: str) -> None:
    """If very many inputs are damaged, then still nothing else comes of them."""
    for found in iter_defects(door, secs=SOAK_SECS, seed="soak"):
        assert found is None, found


def test_each_door_has_a_corpus() -> None:
    """If a parser is tried, then it begins with inputs that it reads."""
    names = {door.removesuffix(" inline") for door in DOORS}
    assert {path.name for path in CORPUS.iterdir()} == names
    for door in DOORS:
        assert any(try_input(door, data) is None for data in inputs_of(door))
