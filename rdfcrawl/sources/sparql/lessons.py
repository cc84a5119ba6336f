"""Limits of an endpoint that the requests of one partition have met, for the others.

A partition still finds its own size and order: lessons are where it begins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from rdfcrawl.core.source_tasks import BlankNaming, PageSize, SparqlTask

FILL: Final = 0.9  # of a response, by graphs of unknown sizes
ENOUGH: Final = 2  # failures at different requests, which no chance explains
_MOST_TRIES: Final = 5  # of a request that is not too large, as others have shown


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointLessons:
    """Lessons of the requests to an endpoint so far."""

    naming: BlankNaming | None = None  # of blank nodes, in all tasks; None: unknown
    most: int = 0  # rows of the longest result
    is_capped: bool = False  # longer results are cut
    worst: int = 0  # rows of the shortest unsorted result that failed twice; 0: none
    limit: int = 0  # LIMIT of the page after the last that succeeded; 0: unknown
    size: PageSize = field(default_factory=PageSize)  # with this limit
    n_failed: int = 0  # sorted pages that failed since the last that succeeded
    n_refused: int = 0  # sorted pages that were refused since the last that succeeded
    n_least: int = 0  # those of them with a LIMIT that cannot be the cause
    hashing: Literal["md5", "chars", ""] = "md5"  # the best that is not refused
    has_counts: bool = True  # COUNT is not refused, and not wrong
    has_sums: bool = True  # tables with several columns of counts have not failed
    has_values: bool = True  # the clause VALUES is not refused
    sorts_groups: bool = True  # no page in the order "so" failed at its beginning
    n_graphs: int = 0  # of unknown sizes that fit into one result; 0: unknown
    listing: int = 0  # variant of the query that listed graphs

    @property
    def can_sort(self) -> bool:
        """Whether partitions can be sorted, as far as known."""
        is_listed_unsorted = self.listing in (1, 3)  # as the list in order had failed
        return self.n_least + is_listed_unsorted < ENOUGH

    def is_proven(self, task: SparqlTask) -> bool:
        """Return whether a request is no larger than others that succeeded."""
        if task.step == "hashes":  # after another table of the partition
            return task.part.hash_low > "0"
        is_sorted = task.step != "whole" and bool(task.order)
        if is_sorted and not task.got:
            return False
        return 0 < (task.limit if is_sorted else task.want) <= self.most

    def is_repeated(self, task: SparqlTask) -> bool:
        """Return whether chance is the likely cause of another failure of a task."""
        return task.fails + 1 < _MOST_TRIES and self.is_proven(task)

    def is_too_much(self, task: SparqlTask) -> bool:
        """Return whether the rows of a partition are too many for one response."""
        is_failing = 0 < self.worst <= task.want
        return task.want > self.most > 0 and (self.is_capped or is_failing)
