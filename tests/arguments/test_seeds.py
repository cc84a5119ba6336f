"""Seeds that are not asked for."""

from __future__ import annotations

from rdfcrawl.arguments.seeds import RefusedSeeds
from rdfcrawl.errors import Fault, Reason


def test_all_refused_seeds_are_counted() -> None:
    """If very many seeds are refused, then the first are told, and all counted."""
    refused = RefusedSeeds()
    for n in range(refused.MOST + 7):
        reason = Reason.BAD_URI if n % 2 else Reason.GUARD_BLOCKED
        refused.add(f"seeds.txt:{n}", Fault(reason, "a detail"))
    found = list(refused)
    assert len(found) == refused.MOST + 2
    assert sum(fault.count for _, fault in found) == refused.MOST + 7
    assert [fault.count for _, fault in found[-2:]] == [4, 3]
