"""Cuts of a partition by a hash of its rows: in any number of parts, without an order.

Neither a subject of many statements nor the limits of sorting matter to such parts. One
table has the counts of many; neighbours together fill one response each.
"""

from __future__ import annotations

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
_SHARES: Final = 5  # counts for each part
_DIGITS: Final = 8  # rows that are equal in these are not cut
_CHARS_DIGITS: Final = 4  # of the hash of characters
_GUESS: Final = 32  # parts of a partition of unknown size


def can_hash(task: SparqlTask) -> bool:
    """Return whether the rows of a part have different hashes."""
    part = task.part
    is_one = part.rows == "blank" and task.naming == "stable"  # no STR
    return task.can_hash and not (is_one and free_variables(part) == ("s",))


def cut_by_hash(task: SparqlTask, out: SparqlOutcome) -> None:
    """Add the tasks that count a part by hashes."""
    want, limit = task.want, max(1, task.limit)
    n_parts = _GUESS if want == UNKNOWN else -(-want // limit)
    low, high = _bits(task.part)
    n_bits = max(map(_n_bits, (task.part.hash_low, task.part.hash_high)))
    most_counts = max(16, min(_MAX_COUNTS, task.most or limit))
    while (high - low) >> (4 * _DIGITS - n_bits) < max(
        _SHARES * n_parts, most_counts // 2
    ):
        if n_bits >= _most_bits(task.part):
            break
        n_bits += 1
    unit = 1 << (4 * _DIGITS - n_bits)
    most = unit * most_counts
    fresh = replace(task, step="hashes", got=0, after="", fails=0, order="s")
    fresh = replace(fresh, offset=n_bits // 4, variant=n_bits % 4, graphs=())
    if high - low > most:  # this table is followed by others
        fresh = replace(fresh, seen=(task.part.hash_high,), want=UNKNOWN)
        high = low + most
    out.follow(fresh, part=_between(task.part, low, high))


def uncut(task: SparqlTask) -> SparqlTask:
    """Return a task for the rest of a part that hashes should have cut."""
    part = task.part
    if task.seen:
        part = replace(part, hash_high=task.seen[0])
    return replace(task, part=part, seen=(), offset=0, variant=0)


def _next_table(task: SparqlTask, out: SparqlOutcome) -> SparqlTask:
    """Add the task of the next table; return that of this one alone."""
    if task.seen:
        (start, end), last = _bits(task.part), task.seen[0]
        _, high = _bits(replace(task.part, hash_high=last))
        rest = min(high, 2 * end - start)
        seen = task.seen if rest < high else ()
        out.follow(task, part=_between(task.part, end, rest), seen=seen, fails=0)
    return replace(task, seen=())


def after_hashes(
    task: SparqlTask, counts: Iterable[tuple[str, int]], out: SparqlOutcome
) -> Iterator[SparqlTask]:
    """Add the tasks that read the parts; yield those that hashes do not cut."""
    task = _next_table(task, out)
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
    if not total:
        out.check(task, 0)
        return
    read = restored(replace(task, step="page", order="", offset=0, variant=0, fails=0))
    for start, end, n_rows in _packed(task.part, table, task.limit):
        one = replace(read, part=_between(task.part, start, end), want=n_rows)
        if n_rows <= task.limit:
            out.follow(one)
        elif n_rows == total and len(table) == 1 and _is_fine(task):
            yield one
        else:
            cut_by_hash(one, out)


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


def _n_bits(key: str) -> int:
    return 4 * len(key)


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
