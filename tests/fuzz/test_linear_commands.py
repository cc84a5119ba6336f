"""Crawls of n things, followers and commands take CPU that grows as n does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.bench.bench_things import AFTER, MEDIA_TYPES, REDIRECTS, costs_of

if TYPE_CHECKING:
    from pathlib import Path

_THINGS: Final = 2000  # of a document of few; the other has eight times more
_FACTOR: Final = 8
_MOST: Final = 20.0  # a square makes it 64
_NOISE_SECS: Final = 2.0


@pytest.mark.soak
@pytest.mark.parametrize("name", [*MEDIA_TYPES, REDIRECTS])
def test_commands_are_linear(name: str, tmp_path: Path) -> None:
    """If a crawl has eight times as many things, then commands take that longer."""
    costs = []
    for n_things in (2, _THINGS, _FACTOR * _THINGS):
        folder = tmp_path / str(n_things)
        folder.mkdir()
        costs.append(costs_of(folder, name, n_things, AFTER))
    start, few, many = costs
    slow = {
        command: (start[command], few[command], many[command])
        for command in start
        if many[command] - start[command]
        > _MOST * max(0.0, few[command] - start[command]) + _NOISE_SECS
    }
    print(name, *((x, start[x], few[x], many[x]) for x in start), sep="\n")
    assert not slow, slow
