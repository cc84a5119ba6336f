"""The log of a document's faults."""

from __future__ import annotations

from rdfcrawl.core.errors import MAX_APART, FaultLog, Reason


def test_faults_that_are_noted_apart_have_a_bound() -> None:
    """If a document has very many different faults, then the last ones are counted."""
    log = FaultLog()
    for number in range(MAX_APART + 50):
        log.note(Reason.REPAIRED, f"script {number}", apart=True)
    log.note(Reason.SYNTAX, "one more")
    log.note(Reason.REPAIRED, "script 3", apart=True)
    found = log.all()
    assert len(found) == MAX_APART + 2
    assert sum(fault.count for fault in found) == MAX_APART + 52
    assert found[3].count == 2
