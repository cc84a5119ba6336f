"""Watch a crawl and show its progress."""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from redis.exceptions import RedisError

from rdfcrawl.progress.options import ProgressDisplay
from rdfcrawl.progress.snapshot import take_snapshot
from rdfcrawl.progress.table import LiveTable, one_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy.settings import BaseSettings

    from rdfcrawl.frontier.client import Frontier
    from rdfcrawl.progress.options import ProgressOptions
    from rdfcrawl.progress.snapshot import CrawlSnapshot

logger = logging.getLogger(__name__)

_BOARD_SECS = 1.0


def follower_lines(settings: BaseSettings, root: Path) -> Callable[[], list[str]]:
    """Return what tells how far the stores of `STORES` are, a line for each."""
    if not settings.get("STORES"):
        return list
    from rdfcrawl.followers.status import summaries  # noqa: PLC0415 (few have any)

    return partial(summaries, root)


async def watch(
    frontier: Frontier,
    options: ProgressOptions,
    stores: Callable[[], list[str]] = list,
) -> None:
    """Show a crawl until cancelled: in a table on a terminal, or in log lines.

    Args:
        frontier: of the crawl, opened.
        options: of the display.
        stores: returns how far each store is that follows the crawl.
    """
    if options.display is ProgressDisplay.OFF:
        return
    if _is_board(options.display):
        await _show_table(frontier, stores)
    else:
        await _log_lines(frontier, options.log_secs, stores)


async def _show_table(frontier: Frontier, stores: Callable[[], list[str]]) -> None:
    table = LiveTable(f"crawl {frontier.crawl_id}")
    table.open()
    try:
        while True:
            with suppress(RedisError):  # the workers say so, and wait for it
                table.show(await take_snapshot(frontier), stores())
            await asyncio.sleep(_BOARD_SECS)
    finally:
        table.close()


async def _log_lines(
    frontier: Frontier, every_secs: float, stores: Callable[[], list[str]]
) -> None:
    earlier: CrawlSnapshot | None = None
    while True:
        await asyncio.sleep(every_secs)
        with suppress(RedisError):
            now = await take_snapshot(frontier)
            logger.info("; ".join([one_line(now, earlier), *stores()]))
            earlier = now


def _is_board(display: ProgressDisplay) -> bool:
    return display is ProgressDisplay.BOARD or (
        display is ProgressDisplay.AUTO and sys.stderr.isatty()
    )
