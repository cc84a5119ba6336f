"""Watch a crawl and show its progress."""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from redis.exceptions import RedisError

from rdfcrawl.progress.options import ProgressDisplay
from rdfcrawl.progress.snapshot import take_snapshot
from rdfcrawl.progress.table import LiveTable, one_line

if TYPE_CHECKING:
    from rdfcrawl.frontier.client import Frontier
    from rdfcrawl.progress.options import ProgressOptions
    from rdfcrawl.progress.snapshot import CrawlSnapshot

logger = logging.getLogger(__name__)

_BOARD_SECS = 1.0


async def watch(frontier: Frontier, options: ProgressOptions) -> None:
    """Show a crawl until cancelled: in a table on a terminal, or in log lines.

    `frontier` is that of the crawl, opened.
    """
    if options.display is ProgressDisplay.OFF:
        return
    if _is_board(options.display):
        await _show_table(frontier)
    else:
        await _log_lines(frontier, options.log_secs)


async def _show_table(frontier: Frontier) -> None:
    table = LiveTable(f"crawl {frontier.crawl_id}")
    table.open()
    try:
        while True:
            with suppress(RedisError):  # the workers say so, and wait for it
                table.show(await take_snapshot(frontier))
            await asyncio.sleep(_BOARD_SECS)
    finally:
        table.close()


async def _log_lines(frontier: Frontier, every_secs: float) -> None:
    earlier: CrawlSnapshot | None = None
    while True:
        await asyncio.sleep(every_secs)
        with suppress(RedisError):
            now = await take_snapshot(frontier)
            logger.info(one_line(now, earlier))
            earlier = now


def _is_board(display: ProgressDisplay) -> bool:
    return display is ProgressDisplay.BOARD or (
        display is ProgressDisplay.AUTO and sys.stderr.isatty()
    )
