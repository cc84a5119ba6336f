"""Filter of the seeds that may be requested, before they are queued."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.core.records import Document, Record
from rdfcrawl.frontier.arguments.seeds import BadSeed, Seed
from rdfcrawl.uri.guard.gate import refusal_of

if TYPE_CHECKING:
    from rdfcrawl.uri.guard.policy import Guard

T = TypeVar("T", "str", "Seed")


class SeedFilter:
    """Filter of seeds, which keeps the faults of refused ones."""

    MOST: Final = 10_000  # refused seeds reported one by one

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._first: dict[str, Fault] = {}
        self._more: dict[Reason, tuple[str, Fault]] = {}

    def allowed(self, seeds: Iterator[T | BadSeed]) -> Iterator[T]:
        """Yield the seeds that are URLs allowed by the guard, as far as known here."""
        for seed in seeds:
            if isinstance(seed, BadSeed):
                self.refuse(f"{seed.path.name}:{seed.line}", seed.fault)
                continue
            url = seed if isinstance(seed, str) else seed.url
            if detail := refusal_of(url, self._guard):
                fault = Fault(Reason.GUARD_BLOCKED, detail[: Fault.MAX_DETAIL])
                self.refuse(url, fault)
            else:
                yield seed

    def refuse(self, where: str, fault: Fault) -> None:
        """Keep the fault of a seed; `where` is its URL or its line."""
        if len(self._first) < self.MOST:
            self._first[where] = fault
            return
        first, known = self._more.get(fault.reason, (where, replace(fault, count=0)))
        self._more[fault.reason] = first, replace(known, count=known.count + 1)

    def refused(self) -> Iterator[Document]:
        """Yield documents with the faults of the first refused seeds.

        For each reason, one more document stands for the rest.
        """
        for where, fault in (*self._first.items(), *self._more.values()):
            yield Document(record=Record(where), url=where, faults=[fault])
