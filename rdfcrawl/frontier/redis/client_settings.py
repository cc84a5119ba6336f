"""The connection settings, read by the functions of scrapy-redis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from scrapy.settings import BaseSettings

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options.values import load_setting

if TYPE_CHECKING:
    from collections.abc import Iterator

    Settings = BaseSettings | Mapping[str, Any]

PARAMS_SETTING: Final = "REDIS_PARAMS"
# Parameters of a client of `redis_cls` that hold for our own client, too.
_OF_CLIENT: Final = frozenset(
    {"host", "port", "db", "username", "password", "credential_provider", "client_name"}
)
_OF_SCRAPY_REDIS: Final = ("redis_cls", "retry_on_timeout")


class ClientSettings(NamedTuple):
    """The URL of Redis, None if there is only a host, and parameters of redis-py."""

    url: str | None
    params: dict[str, Any]


class _Recorder:
    """A client class that records its parameters."""

    def __init__(self, **params: Any) -> None:
        self.url: str | None = None
        self.params = params

    @classmethod
    def from_url(cls, url: str, **params: Any) -> Self:
        """Record a URL with the parameters."""
        client = cls(**params)
        client.url = url
        return client


def read_client_settings(
    settings: Settings, url: str | None, defaults: Mapping[str, Any]
) -> ClientSettings:
    """Return the parameters of the client that the settings of scrapy-redis describe.

    Args:
        settings: those of `SETTINGS_PARAMS_MAP` and `REDIS_PARAMS`.
        url: replaces `REDIS_URL`, if given.
        defaults: parameters below `REDIS_PARAMS`.

    Raises:
        ValueError, TypeError: a value is wrong.
    """
    from scrapy_redis.connection import (  # noqa: PLC0415 (with the first connection)
        SETTINGS_PARAMS_MAP,
        get_redis_from_settings,
    )

    given = {name: settings.get(name) for name in SETTINGS_PARAMS_MAP}
    if url is not None:
        given["REDIS_URL"] = url
    params = {**defaults, **redis_params(settings)}
    if _has_own_class(params):
        client = get_redis_from_settings(
            BaseSettings({**given, PARAMS_SETTING: redis_params(settings)})
        )
        for name in ("url", *_OF_SCRAPY_REDIS):
            params.pop(name, None)
        return ClientSettings(None, params | dict(_params_of(client)))
    recorder = get_redis_from_settings(
        BaseSettings({**given, PARAMS_SETTING: {**params, "redis_cls": _Recorder}})
    )
    for name in _OF_SCRAPY_REDIS:
        recorder.params.pop(name, None)
    return ClientSettings(recorder.url, recorder.params)


def redis_params(settings: Settings) -> dict[str, Any]:
    """Return `REDIS_PARAMS`; raise `ValueError` if it is no dict."""
    value = settings.get(PARAMS_SETTING)
    return BaseSettings({PARAMS_SETTING: value}).getdict(PARAMS_SETTING)


def named_redis(settings: Settings) -> str | None:
    """Return the URL of the Redis that the settings name; None if they name none.

    Raises:
        ConfigError: `REDIS_PARAMS` is not a dict or names no class, or `REDIS_PORT` is
            not a number.
    """
    try:
        params = redis_params(settings)
        has_own_class = _has_own_class(params)
        if url := settings.get("REDIS_URL") or params.get("url"):
            return str(url)
        if has_own_class:
            client = read_client_settings(settings, None, {}).params
            params = params | client
    except (TypeError, ValueError, ImportError, AttributeError) as error:
        raise ConfigError(f"REDIS_PARAMS: {error}") from error
    if path := params.get("unix_socket_path"):
        return f"unix://{path}"
    if host := settings.get("REDIS_HOST") or params.get("host"):
        port = settings.get("REDIS_PORT") or params.get("port") or 6379
        if not str(port).isdecimal():
            raise ConfigError(f"REDIS_PORT={port!r}: must be an integer")
        return f"redis://{host}:{port}"
    return None


def _has_own_class(params: Mapping[str, Any]) -> bool:
    """Return whether `redis_cls` is a class of the user."""
    given = params.get("redis_cls")
    if given is None:
        return False
    import redis  # noqa: PLC0415 (slow to import)

    return load_setting(PARAMS_SETTING, "redis_cls", given) is not redis.Redis


def _params_of(client: Any) -> Iterator[tuple[str, Any]]:
    """Yield the address and the credentials of a client of redis-py."""
    kwargs = client.connection_pool.connection_kwargs
    for name, value in kwargs.items():
        if value is not None and (name in _OF_CLIENT or name.startswith("ssl_")):
            yield name, value
    if kwargs.get("path"):
        yield "unix_socket_path", kwargs["path"]
    if "SSL" in client.connection_pool.connection_class.__name__:
        yield "ssl", True
