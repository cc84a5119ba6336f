"""Cuts of a partition by a hash of its rows: in any number of parts, without an order.

Neither a subject of many statements nor the limits of sorting matter to such parts. One
table has the counts of many; neighbours together fill one response each. Where few rows
fit into a response, each row of a table has the counts of several.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.source_tasks import UNKNOWN, SparqlPart, SparqlTask
from rdfcrawl.sources.sparql.queries import COLUMNS_FROM, free_variables
from rdfcrawl.sources.sparql.sizes import restored

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rdfcrawl.sources.sparql.outcome import SparqlOutcome

_MAX_COUNTS: Final = 1_000  # rows of a table
_DIGITS: Final = 8  # rows that are equal in these are not cut
_CHARS_DIGITS: Final = 4  # of the hash of characters
_FULL: Final = 0.8  # of a page; less at the end of a table joins the next table
_GUESS: Final = 128  # parts of a partition of unknown size
_COLUMN_BITS: Final = 4
_FINE_BITS: Final = 16  # rows of few that are equal in these are probably equal


@dataclass(frozen=True, slots=True)
class TableForm:
    """The cells of a table of counts.

    Attributes:
        row_bits: first bits of a hash, by which the rows differ.
        column_bits: the bits after these, by which the columns differ; 0: one column.
    """

    row_bits: int
    column_bits: int = 0

    @classmethod
    def of(cls, task: SparqlTask) -> TableForm:
        """Return the form of the table that a task requests."""
        if task.variant > COLUMNS_FROM:
            return cls(4 * task.offset, task.variant - COLUMNS_FROM)
        return cls(4 * task.offset + task.variant)

    @property
    def cell_bits(self) -> int:
        """First bits of a hash, by which cells differ."""
        return self.row_bits + self.column_bits

    def request(self, task: SparqlTask) -> SparqlTask:
        """Return the task that requests a table of this form."""
        digits, bits = divmod(self.row_bits, 4)
        variant = COLUMNS_FROM + self.column_bits if self.column_bits else bits
        fresh = replace(task, step="hashes", got=0, after="", fails=0, order="s")
        return replace(fresh, offset=digits, variant=variant, graphs=())


def can_hash(task: SparqlTask) -> bool:
    """Return whether the rows of a part have different hashes."""
    part, free = task.part, free_variables(task.part)
    is_one = part.rows == "blank" and task.naming == "stable"  # no STR
    return task.can_hash and bool(free) and not (is_one and free == ("s",))


def cut_by_hash(
    task: SparqlTask,
    out: SparqlOutcome,
    *,
    n_expected: int = UNKNOWN,
    may_have_columns: bool = True,
) -> None:
    """Add the tasks that count a part by hashes.

    Args:
        task: of the part.
        out: takes the tasks.
        n_expected: rows of a part whose number is unknown.
        may_have_columns: the rows of a table may have several counts.
    """
    limit = max(1, task.limit)
    known = n_expected if task.want == UNKNOWN else task.want
    want = _GUESS * limit if known == UNKNOWN else known
    low, high = _bits(task.part)
    least = max(map(_n_bits, (low, high)))
    most_counts = max(16, min(_MAX_COUNTS, task.most or limit))
    form = min(
        _forms(
            range(least, max(least, _most_bits(task.part)) + 1),
            has_columns=may_have_columns and out.lessons.has_sums,
        ),
        key=lambda form: _n_requests(
            form, high - low, want, limit=limit, most_counts=most_counts
        ),
    )
    unit = 1 << (4 * _DIGITS - form.row_bits)
    end = (low // unit + most_counts) * unit
    fresh = form.request(task)
    if high > end:  # this table is followed by others
        fresh = replace(fresh, seen=(task.part.hash_high,), want=UNKNOWN)
        high = end
    out.follow(fresh, part=_between(task.part, low, high))


def _forms(cell_bits: range, *, has_columns: bool) -> Iterator[TableForm]:
    """Yield the forms of tables, those that most endpoints know first."""
    yield from map(TableForm, cell_bits)
    for n_bits in cell_bits if has_columns else ():
        column_bits = (n_bits - 1) % _COLUMN_BITS + 1
        if n_bits:
            yield TableForm(n_bits - column_bits, column_bits)


def _n_requests(
    form: TableForm, width: int, want: int, *, limit: int, most_counts: int
) -> float:
    """Estimate the requests for tables of cells, and for the pages that these fill.

    A page lacks half a cell, as cells are not cut. Columns have to spare a request, as
    some endpoints may not know them.
    """
    n_cells = width >> (4 * _DIGITS - form.cell_bits)
    if not n_cells:
        return math.inf
    n_rows = want / n_cells
    pages = want / (limit - n_rows / 2) if n_rows < limit else math.inf
    n_tables = (n_cells >> form.column_bits) / most_counts
    return max(1.0, n_tables) + pages + (form.column_bits > 0)


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
    task: SparqlTask, counts: Sequence[tuple[str, Sequence[int]]], out: SparqlOutcome
) -> Iterator[SparqlTask]:
    """Add the tasks that read the parts; yield those that hashes do not cut."""
    form = TableForm.of(task)
    width = 1 << (4 * _DIGITS - form.cell_bits)
    table = _cells(counts, width)
    total = table.total()
    less = max(out.settings.min_rows, len(counts))
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
    for start, end, n_rows in ranges:
        one = replace(read, part=_between(task.part, start, end), want=n_rows)
        if n_rows <= task.limit:
            out.follow(one)
        elif n_rows == total and len(table) == 1 and _is_fine(task):
            yield one
        else:  # these rows have one hash, which the next table has to cut
            number = next(x for x in sorted(table) if start <= x < end)
            cell = _between(task.part, number, min(number + width, end))
            one = replace(one, part=cell)
            if not _are_equal(n_rows, table, task.limit):
                cut_by_hash(one, out)
            elif _is_fine(task):
                yield one
            else:
                out.follow(TableForm(_fine_bits(task.part)).request(one))


def _cells(counts: Sequence[tuple[str, Sequence[int]]], width: int) -> Counter[int]:
    """Return the numbers of rows by the least hash of each cell that has some."""
    cells = Counter[int]()
    for key, numbers in counts:
        if (first := _number(key or "0")) is not None:
            for place, n_rows in enumerate(numbers):
                cells[first + place * width] += n_rows
    return +cells


def _are_equal(n_rows: int, table: Counter[int], limit: int) -> bool:
    """Return whether the rows of a cell are far more than in the others by chance."""
    n_others = (table.total() - n_rows) / max(1, len(table) - 1)
    return n_rows > limit > 4 * n_others


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
    return TableForm.of(task).cell_bits >= _fine_bits(task.part)


def _fine_bits(part: SparqlPart) -> int:
    return min(_FINE_BITS, _most_bits(part))


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
