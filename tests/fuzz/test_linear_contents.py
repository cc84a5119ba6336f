"""Documents of n things are read in time that grows as n does, and not faster."""

from __future__ import annotations

import pytest

from tests.fuzz.contents import CONTENTS
from tests.support.hostile_strings import growth

_FLOOR_SECS = 0.3  # of the longest document; less is noise


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", CONTENTS)
def test_contents_are_read_in_linear_time(name: str) -> None:
    """If a document has eight times as many things, then it takes that much longer."""
    content = CONTENTS[name]
    found = growth(
        content.read,
        content.make,
        n_doublings=3,
        floor_secs=_FLOOR_SECS,
        first_chars=12_000,
    )
    assert not found, found


@pytest.mark.soak
@pytest.mark.parametrize("name", CONTENTS)
def test_large_contents_are_read_in_linear_time(name: str) -> None:
    """If a document of megabytes is eight times as long, it takes that much longer."""
    content = CONTENTS[name]
    found = growth(
        content.read,
        content.make,
        n_doublings=3,
        floor_secs=_FLOOR_SECS,
        first_chars=800_000,
        patience_secs=300.0,
    )
    assert not found, found
