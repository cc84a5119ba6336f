"""Append-only files that have lost their end: written anew before they do harm.

What a script has done stands between MULTI and EXEC in the file. If a crash leaves half
of it, Redis does not run that half, but most versions leave its whole commands in the
file, and write on behind them. At the next start these are run with what follows: half
a script, after which the frontier is damaged. So the file of a server that was started
with one is written anew from memory, once, as whoever comes first asks for.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from redis.exceptions import ResponseError

from rdfcrawl.frontier.redis_cluster import ask_primaries

if TYPE_CHECKING:
    from redis.asyncio import Redis

logger = logging.getLogger(__name__)

_LEAST_BYTES: Final = 1000  # that of a new server has less


async def rewrite_torn_logs(client: Redis) -> None:
    """Have servers write append-only files anew that may have a torn end.

    A server that refuses, by its rights or for lack of memory, goes on without.

    Raises:
        RedisError: a server is unreachable.
    """
    await ask_primaries(client, _rewrite)


async def _rewrite(server: Redis) -> None:
    facts = await server.info("persistence")
    is_new = facts.get("aof_last_rewrite_time_sec") == -1
    is_busy = facts.get("aof_rewrite_in_progress") or facts.get("loading")
    n_bytes = int(facts.get("aof_current_size", 0))
    if facts.get("aof_enabled") != 1 or not is_new or is_busy or n_bytes < _LEAST_BYTES:
        return
    try:
        await server.bgrewriteaof()
    except ResponseError as error:
        logger.info("Redis: the append-only file is not written anew: %s", error)
