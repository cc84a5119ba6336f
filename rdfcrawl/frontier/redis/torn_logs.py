"""Rewrite torn append-only files before they do harm.

The effects of a script are between MULTI and EXEC in the file. After a crash in
between, Redis does not run that half, but most versions keep its complete commands in
the file and append to it. On the next start, these run with the following commands:
half a script, which damages the frontier. So a server that started with such a file
rewrites it from memory once, at the request of the first worker.

On a full disk, Redis truncates a partly written command. If the file was rewritten
before, Redis misses the offset and leaves zeros, and then does not start. So the file
is also rewritten after a failure to write it has passed.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from redis.exceptions import ResponseError

from rdfcrawl.frontier.redis.primaries import query_primaries

if TYPE_CHECKING:
    from redis.asyncio import Redis

logger = logging.getLogger(__name__)

_LEAST_BYTES: Final = 1000  # a new server has less


async def rewrite_torn_logs(client: Redis, *, again: bool = False) -> None:
    """Rewrite append-only files that may be torn.

    Servers that refuse (missing rights, no memory) are left as they are, and those that
    have rewritten their file since they started, unless `again`.

    Raises:
        RedisError: a server is unreachable.
    """
    await query_primaries(client, lambda server: _rewrite(server, again=again))


async def _rewrite(server: Redis, *, again: bool) -> None:
    facts = await server.info("persistence")
    is_new = again or facts.get("aof_last_rewrite_time_sec") == -1
    is_busy = facts.get("aof_rewrite_in_progress") or facts.get("loading")
    n_bytes = int(facts.get("aof_current_size", 0))
    if facts.get("aof_enabled") != 1 or not is_new or is_busy or n_bytes < _LEAST_BYTES:
        return
    try:
        await server.bgrewriteaof()
    except ResponseError as error:
        logger.info("Redis: the append-only file is not rewritten: %s", error)
