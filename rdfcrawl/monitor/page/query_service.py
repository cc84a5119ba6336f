"""Run queries of visitors: few in parallel, each with a time limit."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rdfcrawl.core.clock import now_ms
from rdfcrawl.core.errors import RdfcrawlError
from rdfcrawl.core.options.table import OptionsTable, integer, number
from rdfcrawl.monitor.page.children import PageChild
from rdfcrawl.monitor.page.kept_answers import (
    AnswerKey,
    KeptAnswers,
    PagedAnswer,
    QueryAnswer,
)
from rdfcrawl.monitor.page.query_rules import BUSY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


_MOST_CONCURRENT: Final = 2
_SLOT_SECS: Final = 5.0  # that a query waits for a slot
_UPDATE_SECS: Final = 5.0  # to bring the store up to date, and one batch more
_UPDATE_MOST_SECS: Final = 60.0  # then it is killed
_ENDED: Final = (
    "query: its process has ended: it needed too much memory, or is nested too deeply"
)
_MODULE: Final = "rdfcrawl.monitor.page.query_child"


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
        self._kept = KeptAnswers()

    async def page(self, key: AnswerKey, number: int) -> QueryAnswer:
        """Return the answer to a query with a page of its rows.

        Args:
            key: the query, and the size of its pages.
            number: of the page, from 1: of the cached answer, if there is one;
                0: the first page of a new answer.

        Raises:
            QueryRefused: there is no answer.
        """
        paged = self._kept.get(key) if number else None
        if paged is None:
            found = await self._run(key.query, key.rows, "view", most=key.most)
            pages = found.pop("pages", ())
            paged = PagedAnswer(QueryAnswer(**found), pages, key.most)
            if pages:
                self._kept.put(key, paged)
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
