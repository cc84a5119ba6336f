"""First steps: the capabilities of the endpoint, its graphs, and its datasets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.messages import counted
from rdfcrawl.core.source_tasks import UNKNOWN, PageSize, SparqlPart, SparqlTask
from rdfcrawl.rdf.queries import is_safe
from rdfcrawl.sources.sparql.lessons import FILL
from rdfcrawl.sources.sparql.page_ends import PageEnd
from rdfcrawl.sources.sparql.parts import (
    LISTED_ROWS,
    iter_logged,
    looks_cut,
    plan_part,
    read_count,
)
from rdfcrawl.sources.sparql.queries import n_descriptions

if TYPE_CHECKING:
    from rdfcrawl.sources.sparql.outcome import SparqlOutcome
    from rdfcrawl.sources.sparql.services import ServiceDescription
    from rdfcrawl.sources.sparql.writing import Row


_BATCH_CHARS = 1_200  # of graph names in one task
_MAX_BATCH = 200
_DATASETS_CHARS = 1_400  # of keys in one task
_MAX_DATASETS = 40
_MAX_UNORDERED = 100_000  # graphs of a list without paging
_LEAST_SHARE = 16  # of the rows of a response that broke off, in the next one
_SURE_ROWS = 50  # shorter lists are cut only at a round number of rows
_ROUND_ROWS = (10, 20, 25)


def after_description(
    task: SparqlTask,
    description: ServiceDescription | None,
    headers: Mapping[str, str],
    out: SparqlOutcome,
) -> None:
    """Continue with the blank nodes or, as a last resort, the described graphs."""
    if task.variant:
        _take_described(task, description, out)
        return
    is_virtuoso = "virtuoso" in headers.get("server", "").lower()
    has_union = is_virtuoso or (description is not None and description.has_union)
    task = replace(task, has_union=has_union, limit=out.settings.page_rows, fails=0)
    if is_virtuoso:
        # Virtuoso writes booleans as numbers in JSON, but correctly in XML. Its naming
        # of blank nodes is known; a search for one could use up the time limit.
        begin(replace(task, naming="key", as_xml=True), out)
    else:
        out.follow(task, step="probe")


def _take_described(
    task: SparqlTask, description: ServiceDescription | None, out: SparqlOutcome
) -> None:
    graphs = description.graphs if description else ()
    if not graphs:
        out.log.note(Reason.INCOMPLETE, "the named graphs cannot be listed")
    for graph in graphs:
        if out.settings.takes(graph):
            part = SparqlPart(graph=graph)
            out.follow(task, step=_count_step(out), part=part, variant=0, fails=0)


def after_probe(task: SparqlTask, rows: Iterable[Row], out: SparqlOutcome) -> None:
    """Choose the identification of blank nodes."""
    row = next(iter_logged(rows, out), None)
    if row is None or "b" not in row:
        begin(replace(task, naming=""), out)
        return
    key = row["k"].text if "k" in row else ""
    if not key:
        if task.variant == 0:
            out.follow(task, variant=1)
        else:
            out.follow(task, step="stable", variant=0, offset=0)
        return
    if task.variant == 1:
        naming = "arq"
    else:
        label = row["b"].text.removeprefix("_:")
        is_virtuoso = key.startswith("nodeID://")
        naming = "key" if key.removeprefix("_:") == label or is_virtuoso else "str"
        if naming == "str" and not key.startswith("_:"):
            out.follow(task, variant=1)  # not usable as an address
            return
    begin(replace(task, naming=naming), out)  # type: ignore[arg-type]


def after_stable(task: SparqlTask, rows: Iterable[Row], out: SparqlOutcome) -> None:
    """Compare the labels of two responses with offsets that differ by one."""
    some = islice(iter_logged(rows, out), 10)
    labels = tuple(row["b"].text[:200] for row in some if "b" in row)
    if not (labels or task.offset or out.log.all()):  # no blank nodes
        begin(replace(task, naming=""), out)
        return
    if task.offset == 0:
        out.follow(task, offset=1, seen=labels)
        return
    seen = task.seen[1:]
    is_stable = (
        bool(seen) and labels[: len(seen)] == seen and task.seen[0] not in labels
    )
    naming = "stable" if is_stable else "local"
    task = replace(task, naming=naming, seen=(), offset=0)  # type: ignore[arg-type]
    begin(task, out)


def begin(task: SparqlTask, out: SparqlOutcome) -> None:
    """List the named graphs, and test the default graph."""
    fresh = SparqlTask(
        step="graphs",
        naming=task.naming,
        has_union=task.has_union,
        as_xml=task.as_xml,
        has_answered=task.has_answered,
        limit=task.limit or out.settings.page_rows,
    )
    listed = out.settings.listed
    for name in listed:
        out.follow(fresh, step=_count_step(out), part=SparqlPart(graph=name))
    if not listed:
        out.follow(fresh)
    policy = out.settings.take_default_graph
    if policy == "always" or (policy == "auto" and not task.has_union and not listed):
        if policy == "always" or out.settings.mode == "datasets":
            out.follow(fresh, step=_count_step(out))
        else:
            out.follow(fresh, step="default")


def _count_step(out: SparqlOutcome) -> str:
    return "datasets" if out.settings.mode == "datasets" else "count"


def after_default(task: SparqlTask, rows: Iterable[Row], out: SparqlOutcome) -> None:
    """Skip the default graph if it is the union of the named graphs."""
    has_more = next(iter_logged(rows, out), None) is not None
    if has_more:
        out.follow(task, step=_count_step(out), variant=0, fails=0)
    elif task.variant == 0:
        out.follow(task, variant=1, fails=0)


def after_graphs(task: SparqlTask, rows: Iterable[Row], out: SparqlOutcome) -> None:
    """Plan the graphs of a list, small graphs together, and continue the list."""
    if task.variant in (1, 3):
        _after_unordered(task, rows, out)
        return
    if 0 < task.most < min(task.limit, LISTED_ROWS):  # the list before was cut
        task = replace(task, limit=max(out.settings.min_rows, task.most))
    batch = _Batch(task, out)
    n_rows, last = 0, task.after
    for last, size in islice(_iter_graphs(rows, out), LISTED_ROWS):
        n_rows += 1
        batch.add(last, size)
    batch.flush()
    if n_rows < out.settings.min_rows or last == task.part.high:
        return
    if last > task.after and is_safe(last):
        got, most = task.got + n_rows, max(task.most, n_rows)
        if task.size.best:
            most = task.most
        longer = _longer(task.size)
        out.follow(task, after=last, got=got, most=most, fails=0, size=longer)
    else:
        out.log.note(Reason.PAGING_LOOP, f"graphs after {task.after[:100]!r}")


def _longer(size: PageSize) -> PageSize:
    """Return the size of the next list of graphs, after one with a small LIMIT."""
    more = (size.best + size.worst) // 2 if size.worst else 4 * size.best
    return replace(size, best=more) if 4 * more > 5 * size.best else size


def _iter_graphs(rows: Iterable[Row], out: SparqlOutcome) -> Iterator[tuple[str, int]]:
    """Yield the names of a list of graphs, with their numbers of rows."""
    for row in iter_logged(rows, out):
        cell = row.get("g")
        if cell is not None and cell.kind == "iri":
            yield cell.text, read_count([row]) if "n" in row else UNKNOWN


def _after_unordered(task: SparqlTask, rows: Iterable[Row], out: SparqlOutcome) -> None:
    """Plan the graphs of a list that has no order; halve a list that may be cut."""
    found = dict(islice(_iter_graphs(rows, out), _MAX_UNORDERED))
    names = sorted(found)
    n_names = len(names)
    if task.most != UNKNOWN and _may_be_cut(n_names, task.most):
        middle = names[n_names // 2]
        if is_safe(middle) and middle > task.after and middle != task.part.high:
            lower = replace(task.part, high=middle)
            out.follow(task, part=lower, most=n_names, fails=0)
            out.follow(task, after=middle, most=n_names, fails=0)
            return
        out.log.note(Reason.INCOMPLETE, f"a list of {counted(n_names, 'graph')}")
    elif task.most == UNKNOWN and (looks_cut(n_names) or n_names in _ROUND_ROWS):
        out.log.note(Reason.INCOMPLETE, f"a list of {counted(n_names, 'graph')}")
    batch = _Batch(task, out)
    for name in names:
        batch.add(name, found[name])
    batch.flush()


def _may_be_cut(n_names: int, most: int) -> bool:
    """Return whether a list may be cut; `most` is the length of a longer list or 0."""
    if most:
        return n_names >= most
    return n_names >= _SURE_ROWS or n_names in _ROUND_ROWS


class _Batch:
    """Collects graphs that fit into one response."""

    def __init__(self, task: SparqlTask, out: SparqlOutcome) -> None:
        self._out = out
        fresh = replace(task, part=SparqlPart(), after="", got=0, most=0)
        fresh = replace(fresh, size=PageSize())
        self._task = replace(fresh, variant=0, fails=0)
        self._sizes: dict[str, int] = {}
        self._n_rows = self._n_chars = 0
        self._is_unknown, self._most = False, _MAX_BATCH

    def add(self, name: str, n_rows: int) -> None:
        if not self._out.settings.takes(name):
            return
        part = SparqlPart(graph=name)
        if self._out.settings.mode == "datasets":
            self._out.follow(self._task, step="datasets", part=part)
            return
        if (n_rows == UNKNOWN) is not self._is_unknown:
            self.flush()
            self._is_unknown = n_rows == UNKNOWN
            n_graphs = self._out.lessons.n_graphs if self._is_unknown else 0
            self._most = n_graphs or _MAX_BATCH
        n_rows = max(n_rows, 0)
        if n_rows > self._task.limit // 2:
            self.flush()  # without gaps, because the list may be repeated
            plan_part(replace(self._task, part=part, want=n_rows), self._out)
            return
        n_chars = len(json.dumps(name)) + 1
        is_full = (
            self._n_rows + n_rows > self._task.limit
            or self._n_chars + n_chars > _BATCH_CHARS
            or len(self._sizes) >= self._most
        )
        if is_full:
            self.flush()
        self._sizes[name] = n_rows
        self._n_rows += n_rows
        self._n_chars += n_chars

    def flush(self) -> None:
        names = tuple(self._sizes)
        if names and self._is_unknown:
            _read_unknown(self._task, names, self._out)
        elif names:
            task = replace(self._task, step="whole", graphs=names, want=self._n_rows)
            if len(names) > 1:
                task = replace(task, sizes=tuple(self._sizes.values()))
            self._out.follow(_of_graphs(task))
        self._sizes, self._n_rows, self._n_chars = {}, 0, 0


def _read_unknown(task: SparqlTask, names: Sequence[str], out: SparqlOutcome) -> None:
    """Add the task that reads graphs of unknown sizes; one alone is counted."""
    task = replace(task, want=UNKNOWN, fails=0)
    if len(names) > 1:
        out.follow(task, step="whole", graphs=tuple(names))
    elif names:
        part = SparqlPart(graph=names[0])
        out.follow(task, step="count", part=part, graphs=(), variant=0)


def _after_unknown(task: SparqlTask, out: SparqlOutcome, *, is_broken: bool) -> None:
    """Check whether a response with graphs of unknown sizes is complete.

    It is if it is shorter than an earlier one. If not, as many graphs at a time are
    read as probably fit into one response.
    """
    if out.n_rows < min(out.lessons.most, task.limit) and not is_broken:
        out.check(task, out.n_rows)
        return
    most = max(1, min(int(FILL * out.n_graphs), len(task.graphs) // 2))
    for start in range(0, len(task.graphs), most):
        _read_unknown(task, task.graphs[start : start + most], out)


def after_whole(
    task: SparqlTask, end: PageEnd, out: SparqlOutcome, *, is_broken: bool
) -> None:
    """Check whether the graphs are complete; if not, read each separately."""
    n_rows, task = end.n_rows, without_rest(task, out)
    if task.want == UNKNOWN and len(task.graphs) > 1:
        _after_unknown(task, out, is_broken=is_broken)
        return
    part = SparqlPart(graph=task.graphs[0])
    if not is_broken and n_rows >= task.want and not _is_miscounted(task, n_rows):
        out.check(replace(task, part=part), n_rows)
        return
    if not is_broken and n_rows >= task.want:
        _read_miscounted(task, out)
        return
    least = task.limit // _LEAST_SHARE if is_broken else out.settings.min_rows
    cap = max(out.settings.min_rows, least, n_rows)
    less = replace(task, limit=min(task.limit, cap), most=n_rows, fails=0)
    apart(less, out, is_smaller=less.limit < task.limit)


def _is_miscounted(task: SparqlTask, n_rows: int) -> bool:
    """Return whether the count of complete graphs shows nothing about their rows.

    A count that is too small is wrong, or the data have grown; one that is a common
    limit may be of the rows that the endpoint reads at most.
    """
    if len(task.graphs) > 1:  # a sum of counts
        return n_rows > 2 * task.want
    return n_rows > task.want or looks_cut(n_rows)


def _read_miscounted(task: SparqlTask, out: SparqlOutcome) -> None:
    """Read graphs by pages up to an empty one, whatever their counts."""
    out.has_miscounted = out.n_rows > 2 * task.want
    for name in task.graphs:
        part = SparqlPart(graph=name)
        one = replace(task, part=part, want=UNKNOWN, graphs=(), sizes=(), fails=0)
        plan_part(one, out, may_be_whole=False)


def fitting(task: SparqlTask) -> SparqlTask:
    """Return a step `whole` with as many graphs as fit; `seen` has the others."""
    n_graphs, total = 1, task.sizes[0]
    for size in task.sizes[1:]:
        if total + size > task.limit:
            break
        n_graphs, total = n_graphs + 1, total + size
    graphs, rest = task.graphs[:n_graphs], task.graphs[n_graphs:]
    return _of_graphs(replace(task, graphs=graphs, seen=rest, want=total))


def without_rest(task: SparqlTask, out: SparqlOutcome) -> SparqlTask:
    """Add a task for the graphs that did not fit; return the task without them."""
    if task.step != "whole" or not task.seen:
        return task
    n_graphs = len(task.graphs)
    sizes = task.sizes[n_graphs:]
    rest = replace(task, graphs=task.seen, seen=(), sizes=sizes, want=sum(sizes))
    out.follow(_of_graphs(rest), fails=0)
    return replace(task, seen=(), sizes=task.sizes[:n_graphs])


def _of_graphs(task: SparqlTask) -> SparqlTask:
    """Return a step `whole` whose part is its graph if it has only one.

    The rows of one graph have no column for it.
    """
    graph = task.graphs[0] if len(task.graphs) == 1 else ""
    return replace(task, part=SparqlPart(graph=graph))


def apart(task: SparqlTask, out: SparqlOutcome, *, is_smaller: bool) -> None:
    """Read the graphs of a step `whole` in smaller parts.

    With `is_smaller`, fewer graphs are read together; otherwise each is counted.
    """
    names = task.graphs or (task.part.graph,)
    if len(names) > 1 and task.want == UNKNOWN:
        middle = len(names) // 2
        _read_unknown(task, names[:middle], out)
        _read_unknown(task, names[middle:], out)
        return
    if len(names) > 1 and is_smaller and task.sizes:
        batch = _Batch(replace(task, graphs=(), sizes=(), want=UNKNOWN), out)
        for name, n_rows in zip(names, task.sizes, strict=True):
            batch.add(name, n_rows)
        batch.flush()
        return
    if len(names) > 1:
        single = replace(task, graphs=(), sizes=(), want=UNKNOWN, fails=0)
        for name in names:
            out.follow(single, step="count", part=SparqlPart(graph=name))
        return
    part = SparqlPart(graph=names[0])
    # The complete graph was too large, so the request is not repeated.
    plan_part(replace(task, part=part), out, may_be_whole=False)


def after_datasets(task: SparqlTask, rows: Iterable[Row], out: SparqlOutcome) -> None:
    """Request the datasets of a list in batches, and continue the list."""
    batch: list[str] = []
    n_chars, n_rows, last = 0, 0, task.after
    about = replace(task, step="about", after="", want=UNKNOWN, got=0, fails=0)
    for row in islice(iter_logged(rows, out), LISTED_ROWS):
        if "k" not in row:
            continue
        last, n_rows = row["k"].text, n_rows + 1
        size = len(json.dumps(last)) + 1
        if batch and (n_chars + size > _DATASETS_CHARS or len(batch) >= _MAX_DATASETS):
            out.follow(about, graphs=tuple(batch))
            batch, n_chars = [], 0
        batch.append(last)
        n_chars += size
    if batch:
        out.follow(about, graphs=tuple(batch))
    _list_on(task, n_rows, last, out)


def _list_on(task: SparqlTask, n_rows: int, last: str, out: SparqlOutcome) -> None:
    total = task.got + n_rows
    if not n_rows or total == task.want:
        out.check(task, total)
    elif last > task.after and is_safe(last):
        out.follow(task, after=last, got=total, fails=0)
    else:
        out.log.note(Reason.PAGING_LOOP, f"datasets after {task.after[:100]!r}")
        out.check(task, total, is_sure=False)


def after_about(
    task: SparqlTask, end: PageEnd, out: SparqlOutcome, *, is_broken: bool
) -> None:
    """Request less at a time if a response may be truncated."""
    n_rows = end.n_rows
    if task.variant and n_rows and end.mark == task.after:
        out.log.note(Reason.PAGING_LOOP, f"rows after {task.offset}")
        out.check(task, task.offset, is_sure=False)
        return
    if task.variant:
        if n_rows:
            offset = task.offset + n_rows
            out.follow(task, offset=offset, after=end.mark, fails=0)
        return
    if not is_broken and not (n_rows >= task.limit or looks_cut(n_rows)):
        return
    most = max(task.most, n_rows)
    about_less(replace(task, most=most), out)


def about_less(task: SparqlTask, out: SparqlOutcome) -> None:
    """Request half as many datasets, or one pattern at a time of a single dataset."""
    keys = task.graphs
    if len(keys) > 1:
        middle = len(keys) // 2
        for some in (keys[:middle], keys[middle:]):
            out.follow(task, graphs=some, fails=0)
    elif not task.variant:
        if task.naming == "local":
            out.check(task, task.most, is_sure=False)
        for variant in range(1, n_descriptions(out.settings.depth) + 1):
            out.follow(task, variant=variant, offset=0, fails=0)
    elif task.fails < out.settings.max_fails and task.limit > out.settings.min_rows:
        less = max(out.settings.min_rows, task.limit // 2)
        out.follow(task, limit=less, fails=task.fails + 1)
    else:
        out.check(task, task.offset, is_sure=False)
