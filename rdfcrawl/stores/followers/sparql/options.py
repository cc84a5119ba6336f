"""Options of SPARQL stores: from `STORES`, files and the environment."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import unquote, urlsplit, urlunsplit

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.stores.followers.sparql.profiles import profile_of, urls_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rdfcrawl.stores.followers.sparql.profiles import StoreProfile, StoreUrls

_SECRETS: Final = ("user", "password", "token")
_URLS: Final = ("query", "update", "graph_store")
_METHODS: Final = ("graph-store", "update")
_LOGINS: Final = ("basic", "digest")
_NUMBERS: Final = {
    "concurrency": (1, 64),
    "batch_bytes": (1024, 256 * 1024 * 1024),
    "batch_lines": (1, 10_000_000),
    "timeout_secs": (1, 86_400),
}
_KNOWN: Final = frozenset(
    {*_SECRETS, *_URLS, *_NUMBERS, "method", "login", "provenance"}
    | {"password_file", "token_file"}
)
_MAX_SECRET_BYTES: Final = 64 * 1024
_TIMEOUT_SECS: Final = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreLogin:
    """Login to a store; never shown.

    Attributes:
        user: None for an anonymous client.
        password: of the user.
        token: bearer token, used instead of user and password.
        scheme: basic or digest.
    """

    user: str | None = None
    password: str = field(default="", repr=False)
    token: str | None = field(default=None, repr=False)
    scheme: str = "basic"

    @property
    def is_given(self) -> bool:
        """Whether there is a user or a token."""
        return self.user is not None or self.token is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class SparqlStoreOptions:
    """Options of one SPARQL store.

    Attributes:
        name: URI without a login, for messages.
        profile: of the store.
        urls: of the store.
        login: to the store.
        environment: prefix of the environment variables for the login.
        method: how to write small documents: `graph-store` or `update`.
        concurrency: number of parallel requests.
        batch_bytes: length of an update; a larger document is sent in parts.
        batch_lines: statements of an update.
        timeout_secs: time without a response after which a request fails.
        has_provenance: whether to write the provenance, too.
    """

    name: str
    profile: StoreProfile
    urls: StoreUrls
    login: StoreLogin
    environment: str
    method: str
    concurrency: int
    batch_bytes: int
    batch_lines: int
    timeout_secs: int
    has_provenance: bool

    @classmethod
    def read(
        cls,
        uri: str,
        options: Mapping[str, object],
        environment: Mapping[str, str] = os.environ,
    ) -> Self:
        """Return the options of a store.

        Raises:
            ConfigError: an option is wrong, or a file cannot be read.
        """
        scheme, _, rest = uri.partition(":")
        name, profile = profile_of(scheme)
        url, in_uri = _without_login(f"{scheme.partition('+')[2]}:{rest}")
        unknown = sorted(options.keys() - _KNOWN)
        if unknown:
            raise ConfigError(
                f"has no option {unknown[0]!r}, only {', '.join(sorted(_KNOWN))}"
            )
        prefix = name.upper()
        given = _login(options, in_uri, environment, prefix)
        chosen = _choice(options, "login", _LOGINS, profile.login)
        login = StoreLogin(
            user=given.get("user"),
            password=given.get("password", ""),
            token=given.get("token"),
            scheme=chosen,
        )
        addresses = {key: _text(options, key) for key in _URLS if key in options}
        urls = urls_of(url, name, profile, addresses, has_login=login.is_given)
        method = _choice(options, "method", _METHODS, profile.method)
        if method == "graph-store" and not (urls.graph_store and profile.has_put):
            raise ConfigError(
                "method=graph-store: the store has no Graph Store Protocol;"
                " set method=update, or the option graph_store"
            )
        provenance = options.get("provenance", True)
        if not isinstance(provenance, bool):
            raise ConfigError(f"provenance={provenance!r}: must be true or false")
        return cls(
            name=f"{name}+{url}",
            profile=profile,
            urls=urls,
            login=login,
            environment=prefix,
            method=method,
            concurrency=_number(options, "concurrency", profile.concurrency),
            batch_bytes=_number(options, "batch_bytes", profile.batch_bytes),
            batch_lines=_number(options, "batch_lines", profile.batch_lines),
            timeout_secs=_number(options, "timeout_secs", _TIMEOUT_SECS),
            has_provenance=provenance,
        )


def _without_login(url: str) -> tuple[str, dict[str, str]]:
    parts = urlsplit(url)
    if "@" in f"{parts.path}?{parts.query}#{parts.fragment}":
        raise ConfigError(
            "a URI has / ? or # before its @: in a login, write %2F, %3F or %23"
        )
    if not parts.hostname:
        raise ConfigError("has no host")
    host = parts.netloc.rpartition("@")[2]
    found = {}
    if parts.username is not None:
        found["user"] = unquote(parts.username)
    if parts.password is not None:
        found["password"] = unquote(parts.password)
    return urlunsplit((parts.scheme, host, parts.path, parts.query, "")), found


def _login(
    options: Mapping[str, object],
    in_uri: Mapping[str, str],
    environment: Mapping[str, str],
    prefix: str,
) -> dict[str, str]:
    """Return user, password and token: options first, then URI, then environment."""
    found = {}
    for key in _SECRETS:
        variable = f"{prefix}_{key.upper()}"
        if key in options:
            found[key] = _text(options, key)
        elif f"{key}_file" in options:
            found[key] = _content(f"{key}_file", _text(options, f"{key}_file"))
        elif key in in_uri:
            found[key] = in_uri[key]
        elif variable in environment:
            found[key] = environment[variable]
        elif f"{variable}_FILE" in environment:
            found[key] = _content(f"{variable}_FILE", environment[f"{variable}_FILE"])
    for key, value in found.items():
        if not value.isprintable():
            raise ConfigError(f"{key}: contains control characters")
    return found


def _content(name: str, path: str) -> str:
    try:
        with Path(path).expanduser().open(encoding="utf-8") as file:
            return file.read(_MAX_SECRET_BYTES).rstrip("\r\n")
    except (OSError, ValueError) as error:
        raise ConfigError(f"{name}={path}: {error}") from error


def _text(options: Mapping[str, object], key: str) -> str:
    value = options[key]
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{key}: must be a text")  # may be secret: not shown
    return value


def _choice(
    options: Mapping[str, object], key: str, known: tuple[str, ...], default: str
) -> str:
    value = options.get(key, default)
    if value not in known:
        raise ConfigError(f"{key}={value!r}: must be {' or '.join(known)}")
    return str(value)


def _number(options: Mapping[str, object], key: str, default: int) -> int:
    least, most = _NUMBERS[key]
    value = options.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(f"{key}={value!r}: must be an integer")
    if not least <= value <= most:
        raise ConfigError(f"{key}={value}: must be {least} to {most}")
    return value
