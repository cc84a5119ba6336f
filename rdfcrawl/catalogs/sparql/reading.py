"""One answer being read: its statements, and then what follows from it."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, Final

from rdfcrawl.catalogs.sparql import datasets, discovery, pages, parts, queries
from rdfcrawl.catalogs.sparql.description import read_description
from rdfcrawl.catalogs.sparql.exchange import SparqlFailure, judge
from rdfcrawl.catalogs.sparql.failures import after_failure
from rdfcrawl.catalogs.sparql.graphs import GraphTerms
from rdfcrawl.catalogs.sparql.knots import KnotReader
from rdfcrawl.catalogs.sparql.outcome import OutcomeBuilder, SparqlOutcome
from rdfcrawl.catalogs.sparql.results import iter_rows
from rdfcrawl.catalogs.sparql.writing import RowWriter
from rdfcrawl.codec import encode
from rdfcrawl.errors import Fault, Reason, SourceFault
from rdfcrawl.faultlog import FaultLog
from rdfcrawl.rdf.checking import iter_checked
from rdfcrawl.rdf.labels import without_labels
from rdfcrawl.rdf.limits import ParseLimits
from rdfcrawl.rdf.parse import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.catalogs.sparql.cells import Row
    from rdfcrawl.catalogs.sparql.exchange import SparqlAnswer
    from rdfcrawl.catalogs.sparql.settings import HarvestTarget
    from rdfcrawl.tasks.sparql import SparqlTask


class AnswerReader:
    """The statements of one answer; iterate it once, over chunks of N-Quads.

    Blank nodes have their final labels: where the endpoint's hold beyond one answer
    they are equal in all answers. They must not be relabelled by document.

    Attributes:
        outcome: what follows; complete when the chunks are read.
    """

    __slots__ = ("_answer", "_faults", "_harvest", "_log", "_task", "outcome")

    def __init__(
        self, harvest: HarvestTarget, task: SparqlTask, answer: SparqlAnswer | None
    ) -> None:
        self._harvest, self._task, self._answer = harvest, task, answer
        self._log = FaultLog()
        self._faults: list[Fault] = []
        self.outcome = SparqlOutcome()

    @classmethod
    def nothing(
        cls,
        harvest: HarvestTarget,
        task: SparqlTask,
        outcome: SparqlOutcome,
        faults: list[Fault],
    ) -> AnswerReader:
        """Return the reading of an answer that is not to be read."""
        reading = cls(harvest, task, None)
        reading.outcome, reading._faults = outcome, faults
        return reading

    @property
    def faults(self) -> list[Fault]:
        """All that was wrong so far."""
        return [*self._faults, *self._log.all()]

    def __iter__(self) -> Iterator[bytes]:
        """Read the answer; nothing that is wrong with it is raised."""
        if self._answer is None:
            return
        if self._task.step == "describe":
            yield from self._describe(self._answer)
        elif self._is_graph:
            yield from self._parse(self._answer)
        else:
            yield from iter_checked(self._iter_lines(self._answer), self._log)

    @property
    def _is_graph(self) -> bool:
        query = self._harvest.settings.query
        is_query = self._task.step == "query" and query is not None
        return is_query and query is not None and query.form == "construct"

    # -- tables --------------------------------------------------------------------

    def _iter_lines(self, answer: SparqlAnswer) -> Iterator[str]:
        found = iter_rows(
            answer.body,
            media_type=answer.media_type,
            log=self._log,
            limits=self._harvest.settings.limits,
        )
        out, settings = OutcomeBuilder(self.outcome, self._log), self._harvest.settings
        task = self._task
        if task.step not in _STATEMENTS:
            try:
                found = _begun(found, is_whole=task.step == "knots")
            except SourceFault as error:
                self._log.note(error.fault.reason, error.fault.detail)
                self._after_no_table(out)
                return
        if task.step in _DISCOVERY:
            _DISCOVERY[task.step](task, found, out, settings)
            return
        match task.step:
            case "count":
                parts.after_count(task, parts.iter_whole(found, out), out, settings)
            case "group":
                pages.after_group(task, parts.iter_whole(found, out), out)
            case "split":
                parts.after_split(task, found, out, settings)
            case "pivot":
                parts.after_pivot(task, found, out, settings)
            case "datasets":
                datasets.after_datasets(task, found, out)
            case "knots":
                reader = KnotReader(self._harvest, task, out)
                yield from reader.iter_lines(parts.iter_whole(found, out))
            case _:
                yield from self._iter_statements(found, out)

    def _after_no_table(self, out: OutcomeBuilder) -> None:
        """Go on after an answer that should have told something, and has not.

        It is not an empty table: an error page that comes as 200 does not say that a
        graph has no triples. If the first question is answered so, it is put again,
        as all of what follows would be, too.
        """
        if self._task.step == "probe":
            self.outcome.again = True
            return
        failure = (
            SparqlFailure.REFUSED
            if self._task.step == "stable"
            else SparqlFailure.TIMEOUT
        )
        self.outcome.failure = failure
        after_failure(self._task, failure, out, self._harvest.settings)

    def _iter_statements(
        self, found: Iterator[Row], out: OutcomeBuilder
    ) -> Iterator[str]:
        harvest, task = self._harvest, self._task
        graphs = GraphTerms(harvest, self._log)
        writer = RowWriter(harvest.endpoint, task, graphs)
        end, last = pages.PageEnd(), ""
        is_broken = False
        # Labels of one answer: if it is not whole, their nodes come once more.
        is_held = task.step == "whole" and task.naming == "local"
        held: list[str] = []
        try:
            for row in found:
                key = row.get("k")
                n_local = writer.n_local
                line = writer.line(row)
                end.add(key.text if key else "", line)
                if task.step == "query":
                    key = key or row.get("s")
                    last = key.text if key else last
                if line and is_held and writer.n_local > n_local:
                    held.append(line)
                elif line:
                    yield line
                else:
                    self._log.note(Reason.BAD_TERM, "a row that is no statement")
        except SourceFault as error:
            is_broken = True
            self._log.note(error.fault.reason, error.fault.detail)
            if error.fault.reason is Reason.SYNTAX and task.as_xml:
                # Characters that XML has not: JSON can say them.
                self._task = replace(task, as_xml=False)
        self.outcome.n_rows = end.n_rows
        if writer.n_local and task.step in ("page", "offset"):
            detail = "blank nodes that are told apart in one answer only"
            self._log.note(Reason.INCOMPLETE, detail, writer.n_local)
        self._finish(end, last, out, is_broken=is_broken)
        if self.outcome.checks:
            yield from held

    def _finish(
        self, end: pages.PageEnd, last: str, out: OutcomeBuilder, *, is_broken: bool
    ) -> None:
        task, settings, n_rows = self._task, self._harvest.settings, end.n_rows
        match task.step:
            case "whole":
                discovery.after_whole(task, n_rows, out, settings, is_broken=is_broken)
            case "page":
                pages.after_page(task, end, out, settings, is_broken=is_broken)
            case "offset":
                pages.after_offset(task, end, out, settings, is_broken=is_broken)
            case "about":
                datasets.after_about(task, end, out, settings, is_broken=is_broken)
            case _:
                mark = end.mark if last == "" or not self._is_keyed else last
                self._after_query(n_rows, mark, out, is_broken=is_broken)

    @property
    def _is_keyed(self) -> bool:
        query = self._harvest.settings.query
        return query is not None and query.paging == "after"

    # -- graphs --------------------------------------------------------------------

    def _parse(self, answer: SparqlAnswer) -> Iterator[bytes]:
        """Read the answer of a CONSTRUCT; its blank nodes are its own."""
        settings = self._harvest.settings
        reading = parse(
            answer.body,
            url=f"{self._harvest.endpoint}#{encode(self._task)}",
            base=self._harvest.endpoint,
            graph=settings.default_graph or None,
            media_type=answer.media_type,
            trust=settings.trust,
            limits=ParseLimits(doc_bytes=settings.limits.body_bytes),
        )
        digest = blake2b(digest_size=6)
        for chunk in reading:
            digest.update(without_labels(chunk))
            yield chunk
        self._faults += reading.faults
        self.outcome.n_rows = reading.n_quads
        out = OutcomeBuilder(self.outcome, self._log)
        is_broken = reading.is_partial
        mark = digest.hexdigest()
        self._after_query(reading.n_quads, mark, out, is_broken=is_broken)

    def _after_query(
        self, n_rows: int, last: str, out: OutcomeBuilder, *, is_broken: bool
    ) -> None:
        task, query = self._task, self._harvest.settings.query
        total = task.got + n_rows
        if is_broken and not n_rows:
            out.check(task, total, is_sure=False)
        elif query is None or query.paging == "once":
            is_sure = not is_broken and not parts.looks_cut(n_rows)
            out.check(task, total, is_sure=is_sure)
        elif not n_rows:
            out.check(task, total)
        elif last == task.after or len(last) > queries.MAX_KEY_CHARS:
            self._log.note(Reason.PAGING_LOOP, f"rows after {last[:100]!r}")
            out.check(task, total, is_sure=False)
        else:
            offset = task.offset + n_rows
            out.follow(task, offset=offset, after=last, got=total, fails=0)

    # -- description ---------------------------------------------------------------

    def _describe(self, answer: SparqlAnswer) -> Iterator[bytes]:
        settings, endpoint = self._harvest.settings, self._harvest.endpoint
        chunks: list[bytes] = []
        if judge(answer) is None and "html" not in answer.media_type:
            limits = ParseLimits(doc_bytes=settings.limits.description_bytes)
            reading = parse(
                answer.body,
                url=endpoint,
                graph=f"{endpoint}#service",
                media_type=answer.media_type,
                limits=limits,
            )
            chunks = list(reading)
            self._faults += reading.faults
        description = read_description(chunks, self._log, endpoint=endpoint)
        if not description.is_service:
            chunks = []  # whatever it is, it is no description
        self.outcome.description = description
        out = OutcomeBuilder(self.outcome, self._log)
        task = self._task
        discovery.after_description(task, description, answer.headers, out, settings)
        yield from chunks


def _begun(rows: Iterator[Row], *, is_whole: bool) -> Iterator[Row]:
    """Return rows of which the first was read, or all.

    Raises:
        SourceFault: it is no table, or ends before that.
    """
    if is_whole:
        return iter(list(rows))
    first = next(rows, None)
    return iter(()) if first is None else chain((first,), rows)


# Steps whose answers are statements: they see by themselves whether these are all.
_STATEMENTS: Final = frozenset({"whole", "page", "offset", "about", "query"})
_DISCOVERY: Final = {
    "probe": discovery.after_probe,
    "stable": discovery.after_stable,
    "graphs": discovery.after_graphs,
    "default": discovery.after_default,
}
