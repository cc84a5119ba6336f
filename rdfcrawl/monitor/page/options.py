"""How the page is served: address, prefix, token, control."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

TOKEN: Final = "RDFCRAWL_PAGE_TOKEN"  # noqa: S105 (a name)
ADDRESS: Final = "127.0.0.1"
PORT: Final = 6824
_LEAST_TOKEN: Final = 16
_is_prefix = re.compile(r"(?:/[A-Za-z0-9._~-]+)+").fullmatch


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOptions:
    """How the page is served.

    Attributes:
        address: to listen at.
        port: 0 chooses a free one; None: the default one, or the next that is free.
        prefix: of all paths, as `/crawls/one`; empty: none.
        token: password of the page; empty: none.
        has_control: visitors may steer the crawl.
    """

    address: str = ADDRESS
    port: int | None = None
    prefix: str = ""
    token: str = ""
    has_control: bool = False

    @classmethod
    def checked(
        cls,
        *,
        address: str = ADDRESS,
        port: int | None = None,
        prefix: str = "",
        has_control: bool = False,
        environment: Mapping[str, str],
    ) -> PageOptions:
        """Return the options of a command.

        Raises:
            ConfigError: the address is open to others and no token is set, the token is
                too short, or the prefix is no path.
        """
        token = environment.get(TOKEN, "")
        if token and (len(token) < _LEAST_TOKEN or not token.isascii()):
            raise ConfigError(
                f"{TOKEN}: must have {_LEAST_TOKEN} characters of ASCII or more"
            )
        if not token and not is_loopback(address):
            raise ConfigError(
                f"--address {address}: others can reach it, so set a token: {TOKEN}=..."
                " in the environment"
            )
        prefix = prefix.rstrip("/")
        if prefix and not _is_prefix(prefix):
            raise ConfigError(f"--prefix {prefix[:100]!a}: must be a path, as /crawl")
        return cls(
            address=address,
            port=port,
            prefix=prefix,
            token=token,
            has_control=has_control,
        )


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine alone: `localhost`, 127.0.0.0/8 or ::1."""
    name = host.strip("[]").lower().removesuffix(".")
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
