"""Redis going away for a while, and how the crawl bears it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import re
import ssl
import time
from typing import TYPE_CHECKING, TypeVar

from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    ClusterDownError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

logger = logging.getLogger(__name__)

T = TypeVar("T")

FIRST_PAUSE_SECS = 0.05
MAX_PAUSE_SECS = 2.0
LAST_SECS = 1.5  # of trying again once the worker stops

REFUSALS = (AuthenticationError, AuthorizationError, ssl.SSLCertVerificationError)
PASSING = (
    RedisConnectionError,  # BusyLoadingError too
    RedisTimeoutError,
    ReadOnlyError,
    OutOfMemoryError,
    ClusterDownError,  # MasterDownError too
    TryAgainError,
)
# What redis-py has no class for, and what 6.2 wraps when a script meets it:
# "Error running script (call to f_..): @user_script:1: @user_script: 1: -OOM ...".
# A pipeline puts the command before it: "... of pipeline caused error: ('MISCONF ...".
_PASSING_CODE = re.compile(
    r"(?:^|caused error: \(?['\"]?)(?:MISCONF|BUSY|NOREPLICAS) "
    r"|: -?(?:OOM|MISCONF|READONLY|NOREPLICAS) "
)
_FULL = re.compile(r": -?OOM ")


class RedisRetry:
    """Bears the times when Redis is unreachable; one for all users of a client.

    Logs once when it goes away and once when it is back, however many operations
    wait for it.

    Args:
        stopping: once set, an operation that fails is tried again for `LAST_SECS`.
        revive: called before each new attempt, in a thread, such as
            `EmbeddedServer.revive`.
        reconnect: closes the connections that nobody uses. It is called when the server
            has become a replica: whoever is the primary now may be found anew.
    """

    def __init__(
        self,
        *,
        stopping: asyncio.Event | None = None,
        revive: Callable[[], object] | None = None,
        reconnect: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        self.stopping = stopping or asyncio.Event()
        self._revive = revive
        self._reconnect = reconnect
        self._stopped_at: float | None = None
        self._since = 0.0
        # Those that need not wait say nothing: with full memory, reading succeeds.
        self._n_waiting = 0

    async def persistent(
        self,
        call: Callable[[], Awaitable[T]],
        *,
        what: str,
        waits_for_memory: bool = True,
    ) -> T:
        """Give what the call returns, trying again for as long as Redis is unreachable.

        Args:
            call: idempotent: it may have taken effect although it failed.
            what: is being done, for the log; "claim hosts".
            waits_for_memory: a full server is waited for, too.

        Raises:
            RedisError: the call is at fault, not the connection; or Redis is
                unreachable and `stopping` is set; or full, and that is not waited for.
        """
        is_final = is_fatal if waits_for_memory else _is_fatal_or_full
        try:
            return await call()
        except RedisError as error:
            self._raise_if(is_final, error)
            self._begin(what, error)
            first = error
        try:
            result = await self._repeat(call, first, is_final)
        except BaseException:
            self._n_waiting -= 1
            raise
        self._n_waiting -= 1
        if not self._n_waiting:
            logger.info("Redis is back after %.1f s", time.monotonic() - self._since)
        return result

    async def _repeat(
        self,
        call: Callable[[], Awaitable[T]],
        error: RedisError,
        is_final: Callable[[RedisError], bool],
    ) -> T:
        pause_secs = FIRST_PAUSE_SECS
        while True:
            if isinstance(error, ReadOnlyError) and self._reconnect is not None:
                await self._reconnect()
            await self._pause(pause_secs * random.uniform(0.5, 1.0))
            pause_secs = min(2 * pause_secs, MAX_PAUSE_SECS)
            if self._revive is not None:
                await asyncio.to_thread(self._revive)
            try:
                return await call()
            except RedisError as again:
                self._raise_if(is_final, again)
                error = again

    def _raise_if(
        self, is_final: Callable[[RedisError], bool], error: RedisError
    ) -> None:
        if self._has_no_time() or is_final(error):
            raise error

    def _has_no_time(self) -> bool:
        if not self.stopping.is_set():
            return False
        now = time.monotonic()
        self._stopped_at = self._stopped_at or now
        return now - self._stopped_at >= LAST_SECS

    def _begin(self, what: str, error: RedisError) -> None:
        if not self._n_waiting:
            self._since = time.monotonic()
            is_away = isinstance(error, (RedisConnectionError, RedisTimeoutError))
            logger.warning(
                "Redis %s, cannot %s, trying again: %s",
                "is unreachable" if is_away else "refuses",
                what,
                one_line(error),
            )
        self._n_waiting += 1

    async def _pause(self, secs: float) -> None:
        if self.stopping.is_set():
            await asyncio.sleep(min(secs, LAST_SECS / 5))
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.stopping.wait(), secs)


def is_outage(error: RedisError) -> bool:
    """Tell whether the same call may succeed later.

    So it is when the server is not reached, loads, is full, is read-only after a
    failover, cannot write its file, or runs a long script. A wrong password or
    certificate stays wrong, and a script that the server does not know
    (`NoScriptError`) is for the caller to load.
    """
    cause: BaseException | None = error
    while cause is not None:  # redis-py hides these behind a ConnectionError
        if isinstance(cause, REFUSALS):
            return False
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, PASSING):
        return True
    return isinstance(error, ResponseError) and bool(_PASSING_CODE.search(str(error)))


def is_fatal(error: RedisError) -> bool:
    """Tell whether waiting is in vain."""
    return not is_outage(error)


def is_full(error: RedisError) -> bool:
    """Tell whether the server has no memory left for what the call adds."""
    return isinstance(error, OutOfMemoryError) or bool(_FULL.search(str(error)))


def _is_fatal_or_full(error: RedisError) -> bool:
    return is_fatal(error) or is_full(error)


def one_line(error: BaseException) -> str:
    """Return what an error says, on one line of at most 300 characters."""
    return " ".join(str(error).split())[:300] or type(error).__name__
