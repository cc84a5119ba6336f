"""Dumps that a verification has read at another place than their crawl: a mirror.

If a dump fails, then its mirror is read; once it works again, the mirror is left. The
statements decide whether the copy is equal, and not the place that they were read from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from rdfcrawl.analysis.verifications import MatchVerdict
from rdfcrawl.launch.verifying.held import HeldSite
from rdfcrawl.launch.verifying.statements import are_same


class OtherPlaces:
    """The dumps of a site that have moved to a mirror since the crawl, or back.

    Args:
        held: that the crawl has.
        now: that the verification has.
        scratch: folder of temporary files.

    Attributes:
        taken: documents of the verification at other places.
        verdicts: on the documents of the crawl whose statements were read there.
    """

    def __init__(self, held: HeldSite, now: HeldSite, scratch: Path) -> None:
        self._held, self._now, self._scratch = held, now, scratch
        self.taken: set[str] = set()
        self.verdicts: dict[str, tuple[MatchVerdict, str]] = {}
        for group in _groups(held, now):
            own = [name for name in group if held.document(name) is not None]
            others = [x for x in group if x not in own and x in now.units]
            if own and others:
                self.taken.update(others)
                self._judge(own, others)

    def _judge(self, own: list[str], others: list[str]) -> None:
        ones = list(filter(None, map(self._held.document, own)))
        found = {x: each for x in others if (each := self._now.document(x))}
        if not found:
            return
        same = are_same(ones, list(found.values()), self._scratch)
        verdict = MatchVerdict.EQUAL if same else MatchVerdict.STALE
        if same is None:
            verdict = MatchVerdict.UNKNOWN
        detail = "" if same else f"other statements in {min(found)}"
        self.verdicts |= dict.fromkeys(own, (verdict, detail))


def _groups(*sites: HeldSite) -> Iterable[list[str]]:
    """Return the places of each dump that has more than one.

    The failure of one of them has led to the next.
    """
    dumps: dict[str, tuple[str, str]] = {}  # place and parent, by name
    for site in sites:
        for name, unit in site.units.items():
            if place := unit.fetch.place_of_dump:
                dumps[name] = place, unit.fetch.parent
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for name, (place, _) in dumps.items():
        first, seen = name, {name}
        while (parent := dumps[first][1]) in dumps and parent not in seen:
            if dumps[parent][0] != place:
                break
            seen.add(parent)
            first = parent
        groups[first].append(name)
    return groups.values()
