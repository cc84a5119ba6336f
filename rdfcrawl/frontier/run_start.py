"""The start of a run: what earlier runs owe is paid first."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from rdfcrawl.counting import counted

if TYPE_CHECKING:
    from rdfcrawl.frontier.client import Frontier

logger = logging.getLogger(__name__)


async def begin_run(frontier: Frontier, run: int) -> int:
    """Have the first worker of a run visit the hosts that owe URIs of earlier runs.

    Return when the run began (Unix time in ms).
    """
    is_first, began_ms = await frontier.note_begin(run)
    if is_first and run and (n := await frontier.owed.forgive()):
        hosts = counted(n, "host")
        logger.info("visiting %s again that owed URIs of earlier runs", hosts)
    return began_ms
