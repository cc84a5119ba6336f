"""The start of a run, which begins with the owed URIs of earlier runs."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from rdfcrawl.core.messages import counted

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.frontier_client import Frontier

logger = logging.getLogger(__name__)


async def begin_run(frontier: Frontier, run: int) -> int:
    """Queue the owed URIs of earlier runs, if this is the run's first worker.

    Return when the run began (Unix time in ms).
    """
    if run and not await frontier.has_begun(run):
        n_hosts, n_uris = await frontier.owed.forgive(), await frontier.retry_owed()
        if n_hosts or n_uris:
            logger.info(
                "queued again, as owed by earlier runs: URIs of %s that refused them,"
                " and %s",
                counted(n_hosts, "host"),
                counted(n_uris, "URI that failed", "URIs that failed"),
            )
    return await frontier.note_begin(run)  # last, as a worker may die before
