"""Seeds that are not asked for."""

from __future__ import annotations

from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.frontier.arguments.seeds import SeedFilter
from rdfcrawl.uri.guard.policy import Guard


def test_all_refused_seeds_are_counted() -> None:
    """If very many seeds are refused, then the first are reported, and all counted."""
    seeds = SeedFilter(Guard())
    for n in range(seeds.MOST + 7):
        reason = Reason.BAD_URI if n % 2 else Reason.GUARD_BLOCKED
        seeds.refuse(f"seeds.txt:{n}", Fault(reason, "a detail"))
    counts = [document.faults[0].count for document in seeds.refused()]
    assert len(counts) == seeds.MOST + 2
    assert sum(counts) == seeds.MOST + 7
    assert counts[-2:] == [4, 3]
