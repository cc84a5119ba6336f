"""Retry Redis commands while the server is unreachable."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import re
import ssl
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, ParamSpec, TypeVar

from redis.asyncio.retry import Retry
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

from rdfcrawl.frontier.redis.refusals import causes, is_lasting, one_line

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

FIRST_PAUSE_SECS = 0.05
MAX_PAUSE_SECS = 2.0
ECHO_SECS = 1.0  # after an outage, while dead idle connections are found
LAST_SECS = 1.5  # of retrying after the worker begins to stop

REFUSALS = (AuthenticationError, AuthorizationError, ssl.SSLCertVerificationError)
PASSING = (
    RedisConnectionError,  # includes BusyLoadingError
    RedisTimeoutError,
    ReadOnlyError,
    OutOfMemoryError,
    ClusterDownError,  # includes MasterDownError
    TryAgainError,
)
# Errors without a class in redis-py, and errors that 6.2 wraps in scripts: "Error
# running script (call to f_..): @user_script:1: @user_script: 1: -OOM ...". Pipelines
# add a prefix: "... of pipeline caused error: ('MISCONF ...".
_PASSING_CODE = re.compile(
    r"(?:^|caused error: \(?['\"]?)(?:MISCONF|BUSY|NOREPLICAS) "
    r"|: -?(?:OOM|MISCONF|READONLY|NOREPLICAS) "
)
_FULL = re.compile(r": -?OOM ")


class RetryWhileAway(Retry):
    """Retries commands while a server is unreachable, but not if it refuses."""

    async def call_with_retry(
        self,
        do: Callable[[], Awaitable[T]],
        fail: Callable[..., Any],
        is_retryable: Callable[[Exception], bool] | None = None,
        with_failure_count: bool = False,
    ) -> T:
        """See `Retry.call_with_retry`."""

        def may_pass(error: Exception) -> bool:
            if isinstance(error, RedisError) and is_lasting(error):
                return False
            return is_retryable is None or is_retryable(error)

        return await super().call_with_retry(do, fail, may_pass, with_failure_count)


class RedisRetry:
    """Retries the commands of all users of one client while Redis is unreachable.

    An outage is logged once when it begins and once when it ends, however many commands
    wait, or lose their connection shortly after.

    Args:
        stopping: once set, failed commands are only retried for `LAST_SECS`.
        revive: called in a thread before each retry (`EmbeddedServer.revive`).
        reconnect: closes idle connections; called when the server has become a replica.
        refuse: returns the error for a permanent refusal.
        max_pause_secs: longest pause between two tries.
    """

    def __init__(
        self,
        *,
        stopping: asyncio.Event | None = None,
        revive: Callable[[], object] | None = None,
        reconnect: Callable[[], Awaitable[object]] | None = None,
        refuse: Callable[[RedisError], RedisError] | None = None,
        max_pause_secs: float = MAX_PAUSE_SECS,
    ) -> None:
        self.stopping = stopping or asyncio.Event()
        self._revive = revive
        self._reconnect = reconnect
        self._refuse = refuse
        self._max_pause_secs = max_pause_secs
        self._stopped_at = 0.0
        self._since = 0.0
        self._ended = float("-inf")
        self._is_logged = False  # the current outage is logged
        # Successful calls log nothing: with full memory, reading still works.
        self._n_waiting = 0

    async def persistent(
        self,
        what: str,
        call: Callable[P, Awaitable[T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Return the result of a call, retried while Redis is unreachable or full.

        `call` must be idempotent: a failed call may have taken effect. `what` is the
        action, for the log, such as "claim hosts".

        Raises:
            RedisError: the call failed for another reason, or `stopping` is set.
        """
        return await self._call(what, partial(call, *args, **kwargs), is_outage)

    async def persistent_unless_full(
        self, what: str, call: Callable[P, Awaitable[T]], *args: P.args, **kw: P.kwargs
    ) -> T:
        """Like `persistent`, but raise the error of a full server."""
        return await self._call(what, partial(call, *args, **kw), _is_passing)

    async def _call(
        self,
        what: str,
        call: Callable[[], Awaitable[T]],
        may_pass: Callable[[RedisError], bool],
    ) -> T:
        try:
            return await call()
        except (RedisError, RuntimeError) as raised:
            first = lost_connection(raised)
            self._raise_if(may_pass, first)
            self._begin(what, first)
        try:
            result = await self._repeat(what, call, first, may_pass)
        except BaseException:
            self._n_waiting -= 1
            raise
        self._n_waiting -= 1
        if not self._n_waiting:
            self._end()
        return result

    async def _repeat(
        self,
        what: str,
        call: Callable[[], Awaitable[T]],
        error: RedisError,
        may_pass: Callable[[RedisError], bool],
    ) -> T:
        pause_secs = FIRST_PAUSE_SECS
        while True:
            if isinstance(error, ReadOnlyError) and self._reconnect is not None:
                await self._reconnect()
            await self._pause(pause_secs * random.uniform(0.5, 1.0))
            pause_secs = min(2 * pause_secs, self._max_pause_secs)
            if self._revive is not None:
                await asyncio.to_thread(self._revive)
            try:
                return await call()
            except (RedisError, RuntimeError) as again:
                error = lost_connection(again)
                self._raise_if(may_pass, error)
                self._log_failure(what, error)

    def _raise_if(
        self, may_pass: Callable[[RedisError], bool], error: RedisError
    ) -> None:
        if self._refuse is not None and is_lasting(error):
            raise self._refuse(error) from error
        if self._has_no_time() or not may_pass(error):
            raise error

    def _has_no_time(self) -> bool:
        if not self.stopping.is_set():
            return False
        now = time.monotonic()
        self._stopped_at = self._stopped_at or now
        return now - self._stopped_at >= LAST_SECS

    def _begin(self, what: str, error: RedisError) -> None:
        now = time.monotonic()
        if not self._n_waiting:
            self._since = now
        self._n_waiting += 1
        if now - self._ended >= ECHO_SECS:  # otherwise, wait for a second failure
            self._log_failure(what, error)

    def _log_failure(self, what: str, error: RedisError) -> None:
        if self._is_logged:
            return
        self._is_logged = True
        is_away = isinstance(error, (RedisConnectionError, RedisTimeoutError))
        logger.warning(
            "Redis %s, cannot %s, trying again: %s",
            "is unreachable" if is_away else "refuses",
            what,
            one_line(error),
        )

    def _end(self) -> None:
        self._ended = time.monotonic()
        if self._is_logged:
            logger.info("Redis is back after %.1f s", self._ended - self._since)
        self._is_logged = False

    async def _pause(self, secs: float) -> None:
        if self.stopping.is_set():
            await asyncio.sleep(min(secs, LAST_SECS / 5))
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.stopping.wait(), secs)


def lost_connection(error: RedisError | RuntimeError) -> RedisError:
    """Return an error of redis-py, also for a connection closed by uvloop.

    Raises:
        RuntimeError: a different error.
    """
    if isinstance(error, RedisError):
        return error
    if "handler is closed" not in str(error):
        raise error
    return RedisConnectionError("the connection was closed")


def is_outage(error: RedisError) -> bool:
    """Return whether the same call may succeed later.

    It may if the server is unreachable, loading, full, read-only after a failover,
    unable to write its file, or running a long script. Wrong passwords and certificates
    do not pass; after `NoScriptError`, the caller loads the scripts.
    """
    if any(isinstance(each, REFUSALS) for each in causes(error)):
        return False  # hidden by redis-py in a ConnectionError
    if isinstance(error, PASSING):
        return True
    return isinstance(error, ResponseError) and bool(_PASSING_CODE.search(str(error)))


def is_full(error: RedisError) -> bool:
    """Return whether the server is out of memory."""
    return isinstance(error, OutOfMemoryError) or bool(_FULL.search(str(error)))


def _is_passing(error: RedisError) -> bool:
    return is_outage(error) and not is_full(error)
