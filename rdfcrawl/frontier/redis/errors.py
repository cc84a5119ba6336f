"""Errors of Redis: messages for the operator, and retries during an outage.

redis-py reports a refusal before the first command as a lost connection, and a server
that speaks TLS or another protocol as a reset or a timeout. Then the server is
contacted once more without a client library.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import logging
import random
import re
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple, ParamSpec, TypeAlias, TypeVar
from urllib.parse import unquote, urlsplit

from redis.asyncio.retry import Retry
from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    BusyLoadingError,
    ClusterDownError,
    InvalidResponse,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from rdfcrawl.core.errors import ConfigError, CrawlGone
from rdfcrawl.frontier.redis.address import ENCODE, NodeAddress, describe, parse_address

_Place: TypeAlias = NodeAddress | str
REDIS_REFUSES: Final = "redis_refuses"  # close reason of the spider
_GREETING_SECS: Final = 0.5  # servers that refuse do so immediately
_REPLY_SECS: Final = 2.0
_MOST_CHARS: Final = 300
_MOST_BYTES: Final = 4096
_SHOWN_BYTES: Final = 60
_PORT: Final = 6379
_PIPELINE: Final = " of pipeline caused error: "
# A password whose characters may or may not be percent-encoded.
_is_raw = re.compile(r"://[^/]*:[^/]*[@:%][^/]*@").search
_is_of_redis = re.compile(rb"[-+:$*][^\r\n]*\r?\n").match
_WANTED: Final = (
    "REDIS_URL or REDIS_PARAMS has to name a password, as in redis://:password@host"
)
_SENTINELS_WANT: Final = (
    "the Sentinels require it: REDIS_URL has to name their password, as in"
    " ?sentinel_password=password"
)
_SENTINELS_REFUSE: Final = (
    "the Sentinels say so: correct sentinel_username and sentinel_password in REDIS_URL"
)
# Remedies by error message.
_REMEDIES: Final = tuple(
    (re.compile(said, re.IGNORECASE).search, remedy)
    for said, remedy in (
        (
            "without any password configured",
            "it has no password: leave it out of REDIS_URL and REDIS_PARAMS",
        ),
        (
            "invalid username-password|WRONGPASS",
            "correct user and password in REDIS_URL or REDIS_PARAMS",
        ),
        (
            "NOPERM|no permission|user executing the script|ACL failure",
            "give the user in REDIS_URL the rights of a crawl (ACL SETUSER)",
        ),
        (
            "DB index is out of range",
            "name a lower number in REDIS_URL or REDIS_DB, or raise `databases` there",
        ),
        ("max number of clients", "raise `maxclients` there, or start fewer workers"),
        (
            "CERTIFICATE_VERIFY_FAILED",
            "name the file of who signed it as ssl_ca_certs in REDIS_URL",
        ),
        (
            "unknown command .?SENTINEL",
            "it is no Sentinel: write redis:// in place of redis+sentinel://",
        ),
        ("is loading", "try again when it has read its file"),
        ("protected mode", "set a password there, or turn `protected-mode` off"),
    )
)
# Script errors for a missing right, as worded by Redis 6.2, 7.0 and later.
_lacks_right: Final = re.compile(
    r"user executing the script can't |ACL failure in script|\bNOPERM "
).search
_of_script: Final = re.compile(r",? script: [0-9a-f]{40}")  # with its line
_IS_TLS: Final = "it speaks TLS: write rediss:// in place of redis://"
_IS_PLAIN: Final = "it speaks no TLS: write redis:// in place of rediss://"

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


class RedisRefusedError(ConfigError):
    """Redis is unusable until the operator changes something."""


class SentinelLoginError(AuthenticationError):
    """The Sentinels refuse the login, or require one."""


class WorkerRefusedError(CrawlGone, RedisError):
    """Redis refuses a worker that it has served before; the worker stops."""


def one_line(error: BaseException) -> str:
    """Return the message of an error on one line of at most 300 characters.

    >>> one_line(ValueError("Command # 1 (GET a) of pipeline caused error: ('No',)"))
    'No'
    """
    text = str(error)
    if _PIPELINE in text:
        text = text.rpartition(_PIPELINE)[2]
        with contextlib.suppress(ValueError, SyntaxError, IndexError, TypeError):
            text = str(ast.literal_eval(text)[0])
    return " ".join(text.split())[:_MOST_CHARS] or type(error).__name__


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its causes, including those hidden by redis-py."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def is_loading(error: BaseException) -> bool:
    """Return whether a server is running but still loading its data."""
    return any(isinstance(each, BusyLoadingError) for each in causes(error))


async def explain(error: RedisError, url: str) -> ConfigError:
    """Return why a Redis is unusable, with a remedy.

    Args:
        error: of the first commands.
        url: of the connection, with its password, which is not shown.
    """
    lost = RedisConnectionError, RedisTimeoutError, InvalidResponse
    if isinstance(error, lost) and not (is_loading(error) or is_of_login(error)):
        for place in _places(url):
            if reason := await _reason(place, is_tls=url.startswith("rediss")):
                return reason.at(url)
    return explain_command(error, url)


def explain_command(error: RedisError, url: str) -> ConfigError:
    """Return why a server refuses a command, with a remedy."""
    text = _with_remedy(one_line(error))
    if is_of_login(error):
        text = _with_login(one_line(error), error, url)
    return _Reason(text, is_lasting=is_lasting(error)).at(url)


def is_lasting(error: RedisError) -> bool:
    """Return whether a refusal lasts until the operator changes something."""
    if is_of_login(error) or isinstance(error, NoPermissionError):
        return True
    return _lacks_right(str(error)) is not None


def is_of_login(error: BaseException) -> bool:
    """Return whether a server refuses a login, or requires one."""
    return any(isinstance(each, AuthenticationError) for each in causes(error))


def _with_login(text: str, error: RedisError, url: str) -> str:
    is_missing, text = "required" in text, text.rstrip(".")
    if any(isinstance(each, SentinelLoginError) for each in causes(error)):
        return f"{text}: {_SENTINELS_WANT if is_missing else _SENTINELS_REFUSE}"
    if is_missing:
        return f"{text}: {_WANTED}"
    text = _with_remedy(text)
    return f"{text}; {ENCODE}" if _is_raw(url) else text


def _with_remedy(text: str) -> str:
    """Append the remedy for a message of a server, if one is known."""
    text = _of_script.split(text)[0]
    remedies = (remedy for is_said, remedy in _REMEDIES if is_said(text))
    remedy = next(remedies, "")
    return f"{text.rstrip('.')}: {remedy}" if remedy else text


class _Reason(NamedTuple):
    text: str
    is_lasting: bool = True

    def at(self, url: str) -> ConfigError:
        kind = RedisRefusedError if self.is_lasting else ConfigError
        return kind(f"REDIS_URL: {describe(url)}: {self.text}")


def _places(url: str) -> list[_Place]:
    """Return the servers of a URL, or the path of its socket."""
    address = parse_address(url)
    parts = urlsplit(address.url)
    if parts.scheme == "unix":
        return [unquote(parts.path)]
    own = NodeAddress(parts.hostname or "localhost", parts.port or _PORT)
    return list(address.nodes) or [own]


async def _reason(place: _Place, *, is_tls: bool) -> _Reason | None:
    """Return a server's greeting, or the reason why it speaks another protocol."""
    greeting = await _first_bytes(place, b"", _GREETING_SECS)
    if greeting.startswith(b"-"):  # too many clients, or connections from here refused
        text = greeting[1:].decode("ascii", "replace").split(". ")[0].strip()
        is_lasting_too = text.startswith("DENIED")
        return _Reason(_with_remedy(text), is_lasting=is_lasting_too)
    said = greeting or await _first_bytes(place, b"PING\r\n", _REPLY_SECS)
    if said and not _is_of_redis(said):
        shown = said.split(b"\n")[0][:_SHOWN_BYTES].decode("ascii", "replace").strip()
        return _Reason(f"no Redis answers there, but a server that says {shown!a}")
    if is_tls:
        return _Reason(_IS_PLAIN) if said else None
    is_other = not said and await _speaks_tls(place)
    return _Reason(_IS_TLS) if is_other else None


async def _first_bytes(place: _Place, sent: bytes, secs: float) -> bytes:
    """Return the first bytes from a server; empty if there are none."""
    with contextlib.suppress(OSError):  # including a timeout
        async with asyncio.timeout(secs), _opened(place) as (reader, writer):
            writer.write(sent)
            return await reader.read(_MOST_BYTES)
    return b""


async def _speaks_tls(place: _Place) -> bool:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with contextlib.suppress(OSError):
        async with asyncio.timeout(_REPLY_SECS), _opened(place, context):
            return True
    return False


@contextlib.asynccontextmanager
async def _opened(
    place: _Place, context: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Connect to a server for as long as the block lasts."""
    if isinstance(place, str):
        reader, writer = await asyncio.open_unix_connection(place)
    else:
        reader, writer = await asyncio.open_connection(*place, ssl=context)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


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

    That of a script on a replica, which Redis 6.2 wraps, has the class of others.

    Raises:
        RuntimeError: a different error.
    """
    if isinstance(error, RedisError):
        return ReadOnlyError(str(error)) if ": -READONLY " in str(error) else error
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
