"""How many statements an error costs: those of its item, or others, too."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tests.corpora.comparing import surplus
from tests.corpora.mutants import BASE, Document, mutants
from tests.corpora.others import read_by_others
from tests.corpora.readings import extract_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.corpora.comparing import Reading


def silent_drops(
    document: Document, every: int = 1
) -> tuple[int, dict[str, list[str]]]:
    """Return how many mutants were read, and statements that were lost uncounted.

    An error may cost statements of its item if there is a fault, and those of other
    items if there is one that is not a repair.
    """
    found = list(mutants(document))[::every]
    original = document.case("original", document.text)
    others = [document.without(n) for n in range(len(document.items))]
    cases = [original, *others, *(mutant.case for mutant in found)]
    readings: Mapping[str, Reading] = extract_all(
        cases, dict.fromkeys((case.name for case in cases), BASE)
    )
    all_ = readings[original.name].quads
    drops = {}
    for mutant in found:
        name = mutant.case.name
        reading = readings[name]
        lost = surplus(readings[others[mutant.item].name].quads, reading.quads)
        if len(reading.quads) < len(all_) and not reading.faults:
            lost = surplus(all_, reading.quads)
        elif reading.faults - {"repaired"}:
            lost = []
        if lost:
            drops[name] = [mutant.case.document.body.decode(), *lost]
    assert not readings[original.name].faults
    assert all(len(readings[each.name].quads) < len(all_) for each in others)
    return len(found), drops


def kept_by_others(document: Document) -> Iterator[tuple[str, str, list[str]]]:
    """Yield each mutant of which another reader keeps more of the original statements.

    Yields:
        The text of the mutant, the name of the reader, and the statements.
    """
    found = [mutant.case for mutant in mutants(document)]
    original = document.case("original", document.text)
    bases = dict.fromkeys((case.name for case in (original, *found)), BASE)
    readings = extract_all([original, *found], bases)
    all_ = readings[original.name]
    url = f"{BASE}/{original.document.path}"
    others = read_by_others([(case.document.body, all_.format, url) for case in found])
    for reader, results in others.items():
        for case, theirs in zip(found, results, strict=True):
            lost = Counter(surplus(all_.quads, readings[case.name].quads))
            more = lost - Counter(surplus(all_.quads, theirs or frozenset()))
            if theirs and more:
                yield case.document.body.decode(), reader, sorted(more)
