"""Messages for the operator when Redis refuses a worker, or is not Redis.

redis-py reports a refusal before the first command as a lost connection, and a server
that speaks TLS or another protocol as a reset or a timeout. Then the server is
contacted once more without a client library.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import re
import ssl
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias
from urllib.parse import unquote, urlsplit

from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    InvalidResponse,
    NoPermissionError,
    RedisError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from rdfcrawl.core.errors import ConfigError, CrawlGone
from rdfcrawl.frontier.redis.address import ENCODE, NodeAddress, describe, parse_address

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

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
        (
            "max number of clients",
            "raise `maxclients` there, or start fewer workers",
        ),
        (
            "CERTIFICATE_VERIFY_FAILED",
            "name the file of who signed it as ssl_ca_certs in REDIS_URL",
        ),
        ("is loading", "try again when it has read its file"),
        (
            "protected mode",
            "set a password there, or turn `protected-mode` off",
        ),
    )
)
# Script errors for a missing right, as worded by Redis 6.2, 7.0 and later.
_lacks_right: Final = re.compile(
    r"user executing the script can't |ACL failure in script|\bNOPERM "
).search
_of_script: Final = re.compile(r",? script: [0-9a-f]{40}")  # with its line
_IS_TLS: Final = "it speaks TLS: write rediss:// in place of redis://"
_IS_PLAIN: Final = "it speaks no TLS: write redis:// in place of rediss://"


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
