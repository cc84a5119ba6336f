"""Datasets of a host: named by URLs of the host, or first described there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rdfcrawl.monitor.page.dataset_table import COLUMNS, DatasetRow

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

_IN_RANGE: Final = (
    "SELECT * FROM (SELECT rowid FROM dataset WHERE {0} >= ? AND {0} < ?"
    " ORDER BY {0} LIMIT ?)"
)
_ROWS: Final = (
    f"SELECT {COLUMNS} FROM dataset WHERE rowid IN ({{}})"  # noqa: S608
    " ORDER BY n_stored DESC, name LIMIT ?"
)


async def read_host_datasets(
    indexed: Callable[[str, Sequence[Any]], Awaitable[list[Any]]],
    names: Sequence[str],
    most: int,
) -> list[DatasetRow]:
    """Return datasets of some hosts, those with most statements first.

    If there are too many, those with the first names, or documents, are chosen.

    Args:
        indexed: queries the index.
        names: of the hosts, 20 at most.
        most: datasets.
    """
    ranges = [each for name in names for each in ranges_of(name)]
    selects = [_IN_RANGE.format(x) for x in ("name", "document") for _ in ranges]
    values = [x for first, end in [*ranges, *ranges] for x in (first, end, most)]
    rows = await indexed(_ROWS.format(" UNION ".join(selects)), [*values, most])
    return [DatasetRow(*row) for row in rows]


def ranges_of(host: str) -> list[tuple[str, str]]:
    """Return the ranges of strings of a host's URLs, with and without port.

    >>> ranges_of("e.org")[:2]
    [('http://e.org/', 'http://e.org0'), ('http://e.org:', 'http://e.org;')]
    """
    starts = [f"{scheme}://{host}{x}" for scheme in ("http", "https") for x in "/:"]
    return [(start, start[:-1] + chr(ord(start[-1]) + 1)) for start in starts]
