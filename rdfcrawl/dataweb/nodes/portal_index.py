"""The search index of a portal: queries and orders, cached until it changes."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdfcrawl.dataweb.nodes.portal_datasets import (
    N_GROUPS,
    N_ORGANIZATIONS,
    N_TAGS,
    ckan_time,
    id_of_section,
    name_of,
)
from rdfcrawl.dataweb.nodes.portal_search import parse_order, parse_query

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from rdfcrawl.dataweb.nodes.portal_datasets import PortalDatasets

MAX_REMEMBERED = 4  # searches whose rows are kept
_BY_TIME = "metadata_modified asc"
_SINCE = re.compile(r"\+?metadata_modified:\[(\S+) TO \*\]\Z")

# Fields of the search index that are known; others have no values.
_FIELDS: dict[str, Callable[[PortalDatasets, int], Sequence[str]]] = {
    "metadata_modified": lambda all_, n: (_indexed(all_.modified(n)),),
    "metadata_created": lambda all_, n: (_indexed(all_.created(n)),),
    "id": lambda all_, n: (all_.id_of(n),),
    "name": lambda _, n: (name_of(n),),
    "title": lambda all_, n: (all_.title(n),),
    "title_string": lambda all_, n: (all_.title(n),),
    "text": lambda all_, n: (all_.title(n), name_of(n)),
    "": lambda all_, n: (all_.title(n), name_of(n)),
    "organization": lambda _, n: (f"organization-{n % N_ORGANIZATIONS}",),
    "owner_org": lambda _, n: (id_of_section(f"organization-{n % N_ORGANIZATIONS}"),),
    "groups": lambda _, n: (f"group-{n % N_GROUPS}",),
    "tags": lambda _, n: (f"tag-{n % N_TAGS}",),
    "state": lambda *_: ("active",),
    "type": lambda *_: ("dataset",),
    "dataset_type": lambda *_: ("dataset",),
    "capacity": lambda *_: ("public",),
}


class DatasetIndex:
    """The search for datasets; `forget` drops its cache after a change."""

    def __init__(self, datasets: PortalDatasets) -> None:
        self._datasets = datasets
        self._found: dict[tuple[str, str, str], list[int]] = {}
        self._orders: dict[str, list[int]] = {}
        self._indexes: dict[str, list[str]] = {}

    def forget(self) -> None:
        """Clear the cache."""
        for remembered in (self._found, self._orders, self._indexes):
            remembered.clear()

    def search(self, q: str, fq: str, sort: str) -> list[int]:
        """Return the numbers of the datasets found, in order.

        Args:
            q: a query; an empty one holds for all.
            fq: one more that must hold.
            sort: an order.

        Raises:
            BadQuery: one of them is none.
        """
        key = (q, fq, sort)
        if key in self._found:
            return self._found[key]
        order = self._order(sort)
        since = _SINCE.match(fq)
        if since and q.strip() in ("", "*:*") and sort.startswith(_BY_TIME):
            values = self._index("metadata_modified")
            start = bisect_left(order, since[1], key=values.__getitem__)
            found = order[start:]
        else:
            found = list(order)
            for text in filter(str.strip, (q, fq)):
                test = parse_query(text)
                found = [one for one in found if test.holds(_Row(self, one).values)]
        while len(self._found) >= MAX_REMEMBERED:
            del self._found[next(iter(self._found))]
        self._found[key] = found
        return found

    def _order(self, sort: str) -> list[int]:
        """Return all datasets in an order, cached until a change."""
        if sort not in self._orders:
            numbers = list(self._datasets.iter_there())
            for field, descends in reversed(parse_order(sort)):
                if field != "score":
                    values = self._index(field)
                    numbers.sort(key=values.__getitem__, reverse=descends)
            if len(self._orders) >= MAX_REMEMBERED:
                self._orders.clear()
            self._orders[sort] = numbers
        return self._orders[sort]

    def _index(self, field: str) -> list[str]:
        """Return the value of every dataset in a field, cached until a change."""
        if field not in self._indexes:
            self._indexes[field] = [
                "".join(self._values(number, field)[:1])
                if self._datasets.is_there(number)
                else ""
                for number in range(self._datasets.n_ever)
            ]
        return self._indexes[field]

    def values_of(self, number: int, field: str) -> Sequence[str]:
        """Return the values of a dataset's field in the search index."""
        if field in ("metadata_modified", "id"):
            return (self._index(field)[number],)
        return self._values(number, field)

    def _values(self, number: int, field: str) -> Sequence[str]:
        read = _FIELDS.get(field)
        return read(self._datasets, number) if read else ()


def _indexed(when: datetime) -> str:
    """Return a time in the format of the search index: milliseconds and Z."""
    return ckan_time(when)[:-3] + "Z"


@dataclass(frozen=True, slots=True)
class _Row:
    """One dataset with its fields in the search index."""

    index: DatasetIndex
    number: int

    def values(self, field: str) -> Sequence[str]:
        """Return the values of a field in the index."""
        return self.index.values_of(self.number, field)
