"""The desk where visitors hand in queries: few at once, each with its time."""

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


_AT_ONCE: Final = 2
_TURN_SECS: Final = 5.0  # that a query waits for its turn
_UPDATE_SECS: Final = 5.0  # for bringing the store up to date, and one batch more
_UPDATE_MOST_SECS: Final = 60.0  # then it is given up
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
    """How queries of the page are answered."""

    secs: float = number("PAGE_QUERY_SECS", 10.0, 0.1, 3600)
    """time for a query on the [page](page.md#query) of a crawl; it is ended then"""
    max_rows: int = integer("PAGE_QUERY_ROWS", 1000, 1, 100_000)
    """most rows, or statements, of an answer there"""
    is_once: bool = False  # the store has what several documents say once


class QueryDesk:
    """Answers the queries of all visitors of one crawl.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.
        options: of queries.
    """

    def __init__(self, root: Path, options: QueryOptions) -> None:
        self._root = root
        self.options = options
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._kept = KeptAnswers()

    async def page(self, key: AnswerKey, number: int) -> QueryAnswer:
        """Return the answer to a query with a page of its rows.

        Args:
            key: the query, and how its answer is divided.
            number: of the page, from 1: of the answer that is kept, if there is one;
                0: the first page of an answer of now.

        Raises:
            QueryRefused: there is none.
        """
        paged = self._kept.get(key) if number else None
        if paged is None:
            found = await self._asked(key.query, key.rows, "view", most=key.most)
            pages = found.pop("pages", ())
            paged = PagedAnswer(QueryAnswer(**found), pages, key.most)
            if pages:
                self._kept.put(key, paged)
        return paged.page(number)

    async def file(self, query: str, *, rows: int, form: str) -> QueryAnswer:
        """Return the answer to a query as the text of a file.

        Args:
            query: SPARQL.
            rows: the most.
            form: the format.

        Raises:
            QueryRefused: there is none.
        """
        return QueryAnswer(**await self._asked(query, rows, form))

    async def _asked(
        self, query: str, rows: int, form: str, *, most: int = 1
    ) -> dict[str, Any]:
        """Return what a process of its own has told of a query."""
        job = {
            "root": str(self._root),
            "is_once": self.options.is_once,
            "query": query,
            "rows": min(rows, self.options.max_rows),
            "most": most,
            "form": form,
            "update_secs": _UPDATE_SECS,
        }
        async with self._turn():
            try:
                child = await PageChild.start(_MODULE, job)
            except OSError as error:
                raise QueryRefused(503, f"query: no process: {error}") from error
            try:
                return await self._answered(child)
            finally:
                await child.end()

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(_TURN_SECS):
                await self._turns.acquire()
        except TimeoutError:
            message = f"{_AT_ONCE} queries are being answered already; ask again"
            raise QueryRefused(503, message) from None
        try:
            yield
        finally:
            self._turns.release()

    async def _answered(self, child: PageChild) -> dict[str, Any]:
        try:
            begun = await child.answer(_UPDATE_MOST_SECS)
        except TimeoutError:
            raise QueryRefused(
                503, "query: the store takes too long to come up to date; ask again"
            ) from None
        lag: dict[str, Any] = _told(begun)["begun"]
        asked_ms = now_ms()
        try:
            told = _told(await child.answer(self.options.secs))
        except TimeoutError:
            raise QueryRefused(
                400, f"PAGE_QUERY_SECS={self.options.secs:g}: the query took longer"
            ) from None
        answer: dict[str, Any] = told["answer"]
        return lag | answer | {"asked_ms": asked_ms}


def _told(line: dict[str, Any] | None) -> dict[str, Any]:
    """Return what a process has told.

    Raises:
        QueryRefused: it has refused, or died.
    """
    if line is None:
        raise QueryRefused(400, _ENDED)
    if "refusal" in line:
        status = 503 if line["refusal"] == BUSY else 400
        raise QueryRefused(status, line["refusal"])
    return line
