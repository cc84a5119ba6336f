"""Read and check the setting `STORES`: the stores that follow a crawl."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self, cast

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options.values import check_method, load_setting
from rdfcrawl.stores.followers.protocol import Follower
from rdfcrawl.stores.options import StoreOptions, shown_uri

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.settings import BaseSettings

_SECRETS: Final = ("password", "token")
_password_in: Final = re.compile(r"[^:/?#]+://[^/?#:]*:[^/?#]+@").match
_METHODS: Final = {"open": 1, "apply": 1, "commit": 1, "close": 0}  # arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowerPlan:
    """Description of a follower, which can be passed to another process.

    Attributes:
        uri: of the store, as given.
        class_path: dotted path of its class.
        options: of the store.
        is_once: whether identical statements of several documents are stored once.
    """

    uri: str
    class_path: str
    options: Mapping[str, Any]
    is_once: bool = False

    @classmethod
    def of(cls, stores: StoreOptions, uri: str) -> Self:
        """Return the plan of a store, with its options if `STORES` has it.

        Raises:
            ConfigError: its class is missing, or not a follower; or the options are not
                JSON.
        """
        options = stores.followers.get(uri) or {}
        found, where = stores.class_of("STORES", uri)
        if not issubclass(found, Follower):
            hint = "it is for STORE" if hasattr(found, "begin") else "see own-followers"
            raise ConfigError(f"{where} does not follow a crawl: {hint}")
        for method, n_arguments in _METHODS.items():
            check_method(where, found, method, n_arguments)
        if not isinstance(options, dict):
            raise _wrong(uri, "options must be a dictionary")
        try:
            json.dumps(options)
        except (TypeError, ValueError) as error:
            raise _wrong(uri, error) from error
        path = f"{found.__module__}.{found.__qualname__}"
        plan = cls(
            uri=uri,
            class_path=path,
            options=options,
            is_once=stores.is_once and found.is_store,
        )
        plan.build()
        return plan

    @property
    def name(self) -> str:
        """The URI without a login."""
        return shown_uri(self.uri)

    def build(self) -> Follower:
        """Return the follower, by its `from_options` if the class has one.

        Raises:
            ConfigError: the URI or an option is wrong.
        """
        found = load_setting("STORES", self.name, self.class_path)
        make = getattr(found, "from_options", found)
        try:
            return cast("Follower", make(self.uri, self.options))
        except (ConfigError, OSError, TypeError, ValueError) as error:
            raise _wrong(self.uri, error) from error


def _wrong(uri: str, what: object) -> ConfigError:
    """Return a one-line error about a store or one of its options."""
    return ConfigError(f"STORES={shown_uri(uri)}: {' '.join(str(what).split())}")


def follower_plans(stores: StoreOptions) -> list[FollowerPlan]:
    """Return the plans of the stores that follow a crawl.

    Raises:
        ConfigError: one of them is wrong.
    """
    return [FollowerPlan.of(stores, str(uri)) for uri in stores.followers]


def exposed_secrets(
    settings: BaseSettings, followers: Mapping[str, Any], *typed: str
) -> list[str]:
    """Return a line for each password and token on the command line.

    Args:
        settings: of the crawl.
        followers: `STORES`, which is checked if it is from the command line.
        typed: URIs of stores that are arguments of the command.
    """
    from scrapy.settings import SETTINGS_PRIORITIES  # noqa: PLC0415 (a follower has none)

    stores: dict[str, object] = dict.fromkeys(typed)
    priority = settings.getpriority("STORES")
    if priority is not None and priority >= SETTINGS_PRIORITIES["cmdline"]:
        stores |= followers
    lines = []
    for uri, options in stores.items():
        found = [x for x in _SECRETS if isinstance(options, dict) and options.get(x)]
        if _password_in(uri) and "password" not in found:
            found.append("password")
        lines += [f"STORES={shown_uri(uri)}: {_exposed(x, uri)}" for x in found]
    return lines


def _exposed(secret: str, uri: str) -> str:
    profile, _, rest = uri.partition(":")[0].partition("+")
    instead = f"the option {secret}_file, or put it into settings.py"
    if rest:
        name = f"{profile}_{secret}".upper()
        instead = (
            f"{name} or {name}_FILE in the environment, or the option {secret}_file"
        )
    return (
        f"its {secret} is on the command line, where all users of this machine can read"
        f" it; use {instead}"
    )
