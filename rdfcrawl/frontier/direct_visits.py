"""Visits that are made without Scrapy's engine.

For each request, the engine makes three tasks, five futures, and generators for five
spider middlewares: 0.25 ms, as much as two small documents. A host of few documents
has few in each visit. So if no component of a project takes part in visits, each of
them is one task here, with the same middlewares, handler, callback and signals.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from scrapy import Request
    from scrapy.http import Response

    from rdfcrawl.frontier.engine import EngineView


class DirectVisits:
    """Makes visits, each in a task.

    Args:
        engine: of Scrapy, which counts them as requests in progress.
        process: callback of visits.
    """

    def __init__(
        self, engine: EngineView, process: Callable[[Response], Awaitable[Any]]
    ) -> None:
        self._engine = engine
        self._process = process
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, request: Request) -> None:
        """Begin a visit."""
        self._engine.begin(request)
        task = asyncio.create_task(self._make(request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _make(self, request: Request) -> None:
        try:
            response = await self._engine.download(request)
            if response is not None:
                await self._answer(request, response)
        finally:
            self._engine.end(request)

    async def _answer(self, request: Request, response: Response) -> None:
        try:
            await self._process(response)
        except Exception:  # the edge: what Scrapy does with errors of callbacks
            self._engine.report_error(request, response)
