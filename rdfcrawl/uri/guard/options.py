"""The settings of the guard, read and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options import defaults
from rdfcrawl.core.options.values import integer
from rdfcrawl.uri.guard.policy import Guard, parse_networks, parse_ports

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

T = TypeVar("T")


def guard_of(settings: BaseSettings) -> Guard:
    """Return what may be connected to.

    Raises:
        ConfigError: a setting is wrong.
    """
    allowed = settings.getlist("GUARD_ALLOW_NETS")
    denied = settings.getlist("GUARD_DENY_NETS")
    ports = settings.getlist("GUARD_PORTS", defaults.GUARD_PORTS.split(","))
    return Guard(
        _parsed("GUARD_ALLOW_NETS", allowed, parse_networks, "10.0.0.0/8,fd00::/8"),
        _parsed("GUARD_PORTS", ports, parse_ports, "80,443,1024-65535"),
        _parsed("GUARD_DENY_NETS", denied, parse_networks, "192.0.2.7,2001:db8::/32"),
        integer(settings, "GUARD_MAX_PORTS", 1, 65535),
    )


def _parsed(
    name: str, values: list[object], parse: Callable[[Iterable[str]], T], example: str
) -> T:
    texts = list(map(str, values))
    try:
        return parse(texts)
    except ValueError as error:
        given = ",".join(texts)
        raise ConfigError(f"{name}={given}: {error}; for example {example}") from None
