"""Append-only files that are torn: written anew before they do harm.

What a script has done stands between MULTI and EXEC in the file. If a crash leaves half
of it, Redis does not run that half, but most versions leave its whole commands in the
file, and write on behind them. At the next start these are run with what follows: half
a script, after which the frontier is damaged. So the file of a server that was started
with one is written anew from memory, once, as whoever comes first asks for.

If a disk was full, Redis takes back what it has written of a command. Once the file
was written anew, it misses the place, and leaves zeros instead, with which it does not
start. So the file is written anew, too, when writing to it failed, and does no longer.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from redis.exceptions import ResponseError

from rdfcrawl.frontier.redis.primaries import ask_primaries

if TYPE_CHECKING:
    from redis.asyncio import Redis

logger = logging.getLogger(__name__)

_LEAST_BYTES: Final = 1000  # that of a new server has less


async def rewrite_torn_logs(client: Redis, *, again: bool = False) -> None:
    """Have servers write append-only files anew that may be torn.

    A server that refuses, by its rights or for lack of memory, goes on without; so does
    one that has done so since it was started, unless that is wanted `again`.

    Raises:
        RedisError: a server is unreachable.
    """
    await ask_primaries(client, lambda server: _rewrite(server, again=again))


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
        logger.info("Redis: the append-only file is not written anew: %s", error)
