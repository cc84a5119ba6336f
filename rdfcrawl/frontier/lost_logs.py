"""Detect stored data of a crawl that is missing on this machine."""

from __future__ import annotations

import logging
import socket
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.messages import counted
from rdfcrawl.stores.options import SEGMENTS
from rdfcrawl.stores.segment_file import list_segments

if TYPE_CHECKING:
    from pathlib import Path

    from rdfcrawl.frontier.queue.frontier_client import Frontier
    from rdfcrawl.frontier.queue.options import CrawlOptions

logger = logging.getLogger(__name__)

KEY: Final = "logs"  # in Redis: the folders of workers


async def lost_logs(frontier: Frontier, options: CrawlOptions) -> list[str]:
    """Return a line for each log of this machine that was deleted or moved away.

    Call it before a worker opens its store. The crawl does not fetch these documents
    again, as they are done in the frontier.
    """
    paths, is_known = options.paths, True
    if options.redis_url is not None:  # else the frontier is in the same folder
        # A machine that is new to the crawl has lost nothing.
        place = f"{socket.gethostname()}:{paths.root}"
        is_known = not await frontier.redis.sadd(frontier.key(KEY), place)
    if not is_known:
        return []
    total: dict[str, float] = {}
    for figures in (await frontier.figures()).values():
        for name in ("document/stored", "document/seen"):
            total[name] = total.get(name, 0) + figures.get(name, 0)
    lines = []
    if options.stores.uri == SEGMENTS:
        lines += _line(paths.quads, int(total.get("document/stored", 0)), "statements")
    lines += _line(paths.provenance, int(total.get("document/seen", 0)), "provenance")
    return lines


def _line(folder: Path, n_documents: int, what: str) -> list[str]:
    if not n_documents or (folder.is_dir() and list_segments(folder)):
        return []
    documents = counted(n_documents, "document")
    return [f"the {what} of {documents}: {folder} was emptied or deleted"]


HINT: Final = (
    "put the deleted folder back, or -a fresh=1 fetches its documents again, as the"
    " crawl has them as done"
)


def warn_of_lost_logs(lines: list[str]) -> None:
    """Log missing data, with a remedy."""
    if lines:
        logger.warning("Missing: %s; %s", "; ".join(lines), HINT)
