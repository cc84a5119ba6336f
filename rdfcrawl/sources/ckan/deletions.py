"""Remembered datasets that a portal has deleted.

An incomplete listing deletes nothing, and a dataset missing from a listing is requested
once more before it becomes a tombstone (`CkanStep.CONFIRM`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.source_tasks import CkanStep, CkanTask

_CONFIRM_BATCH_SIZE: Final = 20  # ids in one request
MAX_IDS_CHARS: Final = 1400  # of one task


# A portal with fewer known datasets may lose all of them: each is confirmed anyway.
SMALL: Final = 20
MAX_MISSING: Final = 0.5  # share of the remembered datasets of a larger portal
# Share of the portal's own count; both change during the harvest.
MAX_UNLISTED: Final = 0.1


def check_listing(*, n_listed: int, n_known: int, count: int | None = None) -> None:
    """Raise if a listing cannot be used to find deletions.

    Args:
        n_listed: distinct datasets in the listing.
        n_known: remembered datasets.
        count: the portal's own count in the same harvest.

    Raises:
        SourceFault: `BAD_ANSWER`: far fewer datasets than known; `INCOMPLETE`: fewer
            than the portal counts.
    """
    if count and n_listed < count * (1 - MAX_UNLISTED):
        detail = f"{n_listed} listed of {count} that the portal counts"
        raise SourceFault(Reason.INCOMPLETE, detail)
    if n_known > SMALL and n_listed < n_known * (1 - MAX_MISSING):
        detail = f"{n_listed} listed but {n_known} known: nothing is deleted"
        raise SourceFault(Reason.BAD_ANSWER, detail)


def check_missing(*, n_missing: int, n_known: int) -> None:
    """Raise if implausibly many remembered datasets are missing.

    Raises:
        SourceFault: `BAD_ANSWER`.
    """
    most = n_known if n_known <= SMALL else int(n_known * MAX_MISSING)
    if n_missing > most:
        detail = f"more than {most} of {n_known} are missing"
        raise SourceFault(Reason.BAD_ANSWER, detail)


def iter_confirmations(
    missing: Iterable[str], *, by_search: bool
) -> Iterator[CkanTask]:
    """Yield tasks that request missing datasets once more.

    Args:
        missing: ids.
        by_search: several per request, from the search index; otherwise one per
            request, from the database. The listing should be from the other source:
            `package_list` reads the database, a sweep the index.
    """
    ids: list[str] = []
    n_chars = 0
    for one in missing:
        size = 2 + sum(1 if char.isascii() else 6 for char in one)
        is_full = len(ids) == _CONFIRM_BATCH_SIZE or n_chars + size > MAX_IDS_CHARS
        if ids and (is_full or not by_search):
            yield _confirm(ids, is_alone=not by_search)
            ids, n_chars = [], 0
        ids.append(one)
        n_chars += size
    if ids:
        yield _confirm(ids, is_alone=not by_search)


def _confirm(ids: list[str], *, is_alone: bool) -> CkanTask:
    return CkanTask(step=CkanStep.CONFIRM, ids=tuple(ids), is_alone=is_alone, rows=1)
