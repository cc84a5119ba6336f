"""Looking at a crawl again and again, and showing how far it is."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import TYPE_CHECKING

from redis.exceptions import RedisError

from rdfcrawl.options import Display
from rdfcrawl.progress.board import Board, one_line
from rdfcrawl.progress.snapshot import take_snapshot

if TYPE_CHECKING:
    from rdfcrawl.frontier.client import Frontier
    from rdfcrawl.options import ProgressOptions
    from rdfcrawl.progress.snapshot import Snapshot

logger = logging.getLogger(__name__)

_BOARD_SECS = 1.0


async def watch(frontier: Frontier, options: ProgressOptions) -> None:
    """Show a crawl until this is cancelled: in a table on a terminal, or in log lines.

    Args:
        frontier: of the crawl, opened.
        options: whether, where and how often it is shown.
    """
    if options.display is Display.OFF:
        return
    board = Board(f"crawl {frontier.crawl_id}") if _is_board(options.display) else None
    every = _BOARD_SECS if board else options.log_secs
    earlier: Snapshot | None = None
    if board:
        board.open()
    try:
        while True:
            await asyncio.sleep(every)
            try:
                now = await take_snapshot(frontier)
            except RedisError:
                continue  # the workers say so, and wait for it
            if board:
                board.show(now)
            else:
                logger.info(one_line(now, earlier))
            earlier = now
    finally:
        if board:
            board.close()


def _is_board(display: Display) -> bool:
    return display is Display.BOARD or (display is Display.AUTO and sys.stderr.isatty())
