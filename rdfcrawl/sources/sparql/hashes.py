"""Cuts of a partition by a hash of its rows: in any number of parts, without an order.

Neither a subject of many statements nor the limits of sorting matter to such parts. One
table has the counts of many; neighbours together fill one response each.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.source_tasks import UNKNOWN, SparqlPart, SparqlTask
from rdfcrawl.sources.sparql.queries import free_variables
from rdfcrawl.sources.sparql.sizes import restored

if TYPE_CHECKING:
    from rdfcrawl.sources.sparql.outcome import SparqlOutcome

_MAX_COUNTS: Final = 1_000  # rows of a table
_DIGITS: Final = 8  # rows that are equal in these are not cut
_CHARS_DIGITS: Final = 4  # of the hash of characters
_FULL: Final = 0.8  # of a page; less at the end of a table joins the next table
_GUESS: Final = 128  # parts of a partition of unknown size


def can_hash(task: SparqlTask) -> bool:
    """Return whether the rows of a part have different hashes."""
    part = task.part
    is_one = part.rows == "blank" and task.naming == "stable"  # no STR
    return task.can_hash and not (is_one and free_variables(part) == ("s",))


def cut_by_hash(
    task: SparqlTask, out: SparqlOutcome, *, n_expected: int = UNKNOWN
) -> None:
    """Add the tasks that count a part by hashes.

    Args:
        task: of the part.
        out: takes the tasks.
        n_expected: rows of a part whose number is unknown.
    """
    limit = max(1, task.limit)
    known = n_expected if task.want == UNKNOWN else task.want
    want = _GUESS * limit if known == UNKNOWN else known
    low, high = _bits(task.part)
    least = max(map(_n_bits, (low, high)))
    most_counts = max(16, min(_MAX_COUNTS, task.most or limit))
    width = high - low
    n_bits = min(
        range(least, max(least, _most_bits(task.part)) + 1),
        key=lambda n: _n_requests(
            width >> (4 * _DIGITS - n), want, limit=limit, most_counts=most_counts
        ),
    )
    unit = 1 << (4 * _DIGITS - n_bits)
    most = unit * most_counts
    fresh = replace(task, step="hashes", got=0, after="", fails=0, order="s")
    fresh = replace(fresh, offset=n_bits // 4, variant=n_bits % 4, graphs=())
    if high - low > most:  # this table is followed by others
        fresh = replace(fresh, seen=(task.part.hash_high,), want=UNKNOWN)
        high = low + most
    out.follow(fresh, part=_between(task.part, low, high))


def _n_requests(n_cells: int, want: int, *, limit: int, most_counts: int) -> float:
    """Estimate the requests for tables of cells, and for the pages that these fill.

    A page lacks half a cell, as cells are not cut.
    """
    if not n_cells:
        return math.inf
    n_rows = want / n_cells
    pages = want / (limit - n_rows / 2) if n_rows < limit else math.inf
    return max(1.0, n_cells / most_counts) + pages


def uncut(task: SparqlTask) -> SparqlTask:
    """Return a task for the rest of a part that hashes should have cut."""
    part = task.part
    if task.seen:
        part = replace(part, hash_high=task.seen[0])
    return replace(task, part=part, seen=(), offset=0, variant=0)


def _next_table(task: SparqlTask, n_rows: int, start: int, out: SparqlOutcome) -> None:
    """Add the task of the next table, from the rows that fill no page of this one.

    Its rows are as dense as the `n_rows` of this table.
    """
    (low, end), last = _bits(task.part), task.seen[0]
    _, high = _bits(replace(task.part, hash_high=last))
    rest = replace(task, part=_between(task.part, start, high), seen=(), want=UNKNOWN)
    n_expected = n_rows * (high - start) // (end - low)
    cut_by_hash(restored(rest), out, n_expected=max(1, n_expected))


def after_hashes(
    task: SparqlTask, counts: Iterable[tuple[str, int]], out: SparqlOutcome
) -> Iterator[SparqlTask]:
    """Add the tasks that read the parts; yield those that hashes do not cut."""
    table: Counter[int] = Counter()
    for key, n_rows in counts:
        if n_rows > 0 and (number := _number(key)) is not None:
            table[number] += n_rows
    total = table.total()
    less = max(out.settings.min_rows, len(table))
    if total < task.want and less < (task.most or task.limit):  # at most so long
        limit = min(task.limit, max(less, out.lessons.most))
        cut_by_hash(replace(restored(task), limit=limit, most=less), out)
        return
    ranges = list(_packed(task.part, table, task.limit))
    if task.seen:
        is_short = len(ranges) > 1 and ranges[-1][2] < _FULL * task.limit
        start = ranges.pop()[0] if is_short else ranges[-1][1]
        _next_table(task, total, start, out)
        task = replace(task, seen=())
    if not total:
        out.check(task, 0)
        return
    read = restored(replace(task, step="page", order="", offset=0, variant=0, fails=0))
    width = 1 << (4 * _DIGITS - 4 * task.offset - task.variant)  # of a row of the table
    for start, end, n_rows in ranges:
        one = replace(read, part=_between(task.part, start, end), want=n_rows)
        if n_rows <= task.limit:
            out.follow(one)
        elif n_rows == total and len(table) == 1 and _is_fine(task):
            yield one
        else:  # these rows have one hash, which the next table has to cut
            number = next(x for x in sorted(table) if start <= x < end)
            cell = _between(task.part, number, min(number + width, end))
            cut_by_hash(replace(one, part=cell), out)


def _packed(
    part: SparqlPart, table: Counter[int], most: int
) -> Iterator[tuple[int, int, int]]:
    """Yield (low, high, rows) of adjacent ranges without gaps, as large as possible."""
    start, end = _bits(part)
    n_rows = 0
    for number, n_more in sorted(table.items()):
        if n_rows and n_rows + n_more > most:
            yield start, number, n_rows
            start, n_rows = number, 0
        n_rows += n_more
    yield start, end, n_rows


def _most_bits(part: SparqlPart) -> int:
    return 4 * (_CHARS_DIGITS if part.hashing == "chars" else _DIGITS)


def _is_fine(task: SparqlTask) -> bool:
    """Return whether rows with equal hashes in a table are probably equal."""
    return task.offset >= min(_DIGITS // 2, _most_bits(task.part) // 4)


def _n_bits(number: int) -> int:
    """Return how many first bits of a hash distinguish a limit of ranges."""
    return 4 * _DIGITS - ((number & -number).bit_length() - 1) if number else 0


def _number(key: str) -> int | None:
    """Return the first bits of a hash as a number; None for another text."""
    try:
        return int(key.ljust(_DIGITS, "0"), 16) if 0 < len(key) <= _DIGITS else None
    except ValueError:
        return None


def _bits(part: SparqlPart) -> tuple[int, int]:
    low, high = _number(part.hash_low), _number(part.hash_high)
    return low or 0, 16**_DIGITS if high is None else high


def _between(part: SparqlPart, low: int, high: int) -> SparqlPart:
    """Return the rows of a part whose hashes are in a range."""
    first = f"{low:0{_DIGITS}x}".rstrip("0")
    last = "" if high >= 16**_DIGITS else f"{high:0{_DIGITS}x}".rstrip("0")
    return replace(part, hash_low=first, hash_high=last)
