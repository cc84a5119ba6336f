"""Run queries of visitors: few in parallel, each with a time limit.

Answers are cached, so that all pages show the same one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from rdfcrawl.core.errors import RdfcrawlError
from rdfcrawl.core.options.table import OptionsTable, integer, number
from rdfcrawl.core.shared_tasks import SizedMemory
from rdfcrawl.core.times import now_ms
from rdfcrawl.monitor.page.children import PageChild
from rdfcrawl.monitor.page.query_rules import BUSY

_KEPT: Final = 16  # answers
_KEPT_BYTES: Final = 16 * 1024 * 1024  # of all of them
_SECS: Final = 600.0
_MOST_CONCURRENT: Final = 2
_SLOT_SECS: Final = 5.0  # that a query waits for a slot
_UPDATE_SECS: Final = 5.0  # to bring the store up to date, and one batch more
_UPDATE_MOST_SECS: Final = 60.0  # then it is killed
_MODULE: Final = "rdfcrawl.monitor.page.query_child"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAnswer:
    """The answer to a query.

    Attributes:
        kind: `rows`, `triples` or `boolean`.
        variables: of rows.
        rows: of the page, each a term for each variable, as in the JSON of SPARQL;
            None: unbound.
        text: statements, or the content of a download.
        is_true: of ASK.
        n_rows: rows or statements on all pages.
        is_cut: there are more, which are on no page.
        page: number of the page, from 1.
        n_pages: number of pages.
        first: number of the first row of the page, from 1; 0: there is none.
        answered_ms: time of the answer, Unix time.
        n_behind: documents of the log that the store lacks; -1: not known.
        note: why the store was not brought up to date; empty if that was tried.
        notes: lines on terms of the query; see `term_notes`.
    """

    kind: str
    variables: tuple[str, ...] = ()
    rows: tuple[Any, ...] = ()
    text: str = ""
    is_true: bool = False
    n_rows: int = 0
    is_cut: bool = False
    page: int = 1
    n_pages: int = 1
    first: int = 0
    answered_ms: int = 0
    n_behind: int = 0
    note: str = ""
    notes: tuple[str, ...] = ()


class AnswerKey(NamedTuple):
    """Identity of an answer, apart from its time.

    Attributes:
        query: of SPARQL.
        rows: limit of rows.
        most: rows of a page.
    """

    query: str
    rows: int
    most: int


class PagedAnswer:
    """An answer whose rows are in pages.

    Args:
        answer: without rows.
        pages: the rows of each page as a JSON array; none if there are no rows.
        most: rows of a page.
    """

    def __init__(self, answer: QueryAnswer, pages: Sequence[str], most: int) -> None:
        self._answer, self._most = answer, most
        self._pages = [page.encode() for page in pages]
        self.n_bytes = sum(map(len, self._pages))

    def page(self, number: int) -> QueryAnswer:
        """Return the answer with the rows of a page, at most the last one."""
        number = min(max(1, number), max(1, len(self._pages)))
        if not self._pages:
            return self._answer
        return replace(
            self._answer,
            rows=tuple(json.loads(self._pages[number - 1])),
            page=number,
            n_pages=len(self._pages),
            first=(number - 1) * self._most + 1,
        )


_ENDED: Final = (
    "query: its process has ended: it needed too much memory, or is nested too deeply"
)


class QueryRefused(RdfcrawlError):
    """A query has no answer.

    Attributes:
        status: of HTTP.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOptions(OptionsTable):
    """Settings of queries on the page."""

    secs: float = number("PAGE_QUERY_SECS", 10.0, 0.1, 3600)
    """time limit of a query on the [page](page.md#query) of a crawl"""
    max_rows: int = integer("PAGE_QUERY_ROWS", 1000, 1, 100_000)
    """limit of rows, or statements, of its result"""
    is_once: bool = False  # the store has equal documents once


class QueryService:
    """Runs the queries of all visitors of one crawl.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.
        options: of queries.
    """

    def __init__(self, root: Path, options: QueryOptions) -> None:
        self._root = root
        self.options = options
        self._slots = asyncio.Semaphore(_MOST_CONCURRENT)
        self._kept = SizedMemory[AnswerKey, PagedAnswer](_KEPT, _KEPT_BYTES)

    async def page(self, key: AnswerKey, number: int) -> QueryAnswer:
        """Return the answer to a query with a page of its rows.

        Args:
            key: the query, and the size of its pages.
            number: of the page, from 1: of the cached answer, if there is one;
                0: the first page of a new answer.

        Raises:
            QueryRefused: there is no answer.
        """
        paged = self._kept.fresh(key) if number else None
        if paged is None:
            found = await self._run(key.query, key.rows, "view", most=key.most)
            pages = found.pop("pages", ())
            paged = PagedAnswer(QueryAnswer(**found), pages, key.most)
            if pages:
                self._kept.keep(key, paged, _SECS)
        return paged.page(number)

    async def file(self, query: str, *, rows: int, form: str) -> QueryAnswer:
        """Return the answer to a query as the text of a file.

        Args:
            query: SPARQL.
            rows: limit of rows.
            form: the format.

        Raises:
            QueryRefused: there is no answer.
        """
        return QueryAnswer(**await self._run(query, rows, form))

    async def _run(
        self, query: str, rows: int, form: str, *, most: int = 1
    ) -> dict[str, Any]:
        """Run a query in a child process; return its result."""
        job = {
            "root": str(self._root),
            "is_once": self.options.is_once,
            "query": query,
            "rows": min(rows, self.options.max_rows),
            "most": most,
            "form": form,
            "update_secs": _UPDATE_SECS,
        }
        async with self._slot():
            try:
                child = await PageChild.start(_MODULE, job)
            except OSError as error:
                raise QueryRefused(503, f"query: no process: {error}") from error
            try:
                return await self._result(child)
            finally:
                await child.end()

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(_SLOT_SECS):
                await self._slots.acquire()
        except TimeoutError:
            message = f"{_MOST_CONCURRENT} queries are running already; try again later"
            raise QueryRefused(503, message) from None
        try:
            yield
        finally:
            self._slots.release()

    async def _result(self, child: PageChild) -> dict[str, Any]:
        try:
            begun = await child.next_line(_UPDATE_MOST_SECS)
        except TimeoutError:
            raise QueryRefused(
                503,
                "query: bringing the store up to date takes too long; try again later",
            ) from None
        lag: dict[str, Any] = _content(begun)["begun"]
        answered_ms = now_ms()
        try:
            line = _content(await child.next_line(self.options.secs))
        except TimeoutError:
            raise QueryRefused(
                400, f"PAGE_QUERY_SECS={self.options.secs:g}: the query took longer"
            ) from None
        answer: dict[str, Any] = line["answer"]
        return lag | answer | {"answered_ms": answered_ms}


def _content(line: dict[str, Any] | None) -> dict[str, Any]:
    """Return the content of a line.

    Raises:
        QueryRefused: the child has refused, or died.
    """
    if line is None:
        raise QueryRefused(400, _ENDED)
    if "refusal" in line:
        status = 503 if line["refusal"] == BUSY else 400
        raise QueryRefused(status, line["refusal"])
    return line
