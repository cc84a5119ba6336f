"""Options of SPARQL stores: from `STORES`, files and the environment.

Profiles are the differences between kinds of stores: paths, limits, logins.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Self
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from rdfcrawl.core.errors import ConfigError

_MIB: Final = 1024 * 1024
_SECRETS: Final = ("user", "password", "token")
_URLS: Final = ("query", "update", "graph_store")
_METHODS: Final = ("graph-store", "update")
_LOGINS: Final = ("basic", "digest")
_MAX_SECRET_BYTES: Final = 64 * 1024
_TIMEOUT_SECS: Final = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreProfile:
    """One kind of store.

    Attributes:
        query: path of queries below the URI; None: an option must have the URL.
        update: path of updates.
        graph_store: path of the Graph Store Protocol; None: not supported.
        public: the same three paths, for requests without a login.
        graph_parameter: name of the graph's parameter in the Graph Store Protocol.
        has_put: one request can replace a graph of any length.
        can_move: one transaction can copy a graph of any length; otherwise readers see
            a long one grow.
        takes_forms: updates are sent as `update=...`.
        has_fence: an update fails completely if it clears a missing graph.
        data_preamble: of updates with only data and templates, without patterns.
        has_blank_data: `INSERT DATA` may contain blank nodes.
        data_lines: a document with at most so many statements and no blank nodes is
            written by a joint update, even if `method` is `graph-store`.
        media_type: of triples.
        method: default of the option.
        login: default scheme of the login.
        batch_bytes: default length of an update.
        batch_lines: statements of one update.
        part_bytes: of one request of the Graph Store Protocol; 0: no limit.
        bulk_parameter: of the Graph Store Protocol, for the fastest way to load a long
            graph.
        loads_quads: accepts N-Quads of many graphs by `POST` in the same way.
        concurrency: default number of parallel requests.
        names_per_query: graph names in one query.
        own_graphs: graphs that a new store has.
    """

    query: str | None = ""
    update: str = ""
    graph_store: str | None = None
    public: tuple[str, str, str] | None = None
    graph_parameter: str = "graph"
    has_put: bool = True
    can_move: bool = True
    takes_forms: bool = False
    has_fence: bool = False
    data_preamble: bytes = b""
    has_blank_data: bool = True
    data_lines: int = 0
    media_type: str = "application/n-triples"
    method: str = "update"
    login: str = "basic"
    batch_bytes: int = _MIB
    batch_lines: int = 1_000_000
    part_bytes: int = 0
    bulk_parameter: str = ""
    loads_quads: bool = False
    concurrency: int = 4
    names_per_query: int = 500
    own_graphs: frozenset[str] = frozenset()


_RDF4J: Final = StoreProfile(update="/statements", graph_store="/rdf-graphs/service")
PROFILES: Final = {
    "sparql": StoreProfile(query=None),
    "fuseki": StoreProfile(
        query="/query", update="/update", graph_store="/data", has_fence=True
    ),
    # A transaction holds a complete graph in memory, and takes several times as long
    # as the bulk loader.
    "oxigraph": StoreProfile(
        query="/query",
        update="/update",
        graph_store="/store",
        has_fence=True,
        bulk_parameter="no_transaction",
        loads_quads=True,
    ),
    # An update of more than 10,000 lines is refused, one of a few thousand may
    # exhaust the compiler's memory, and a transaction has at most 50 MB.
    "virtuoso": StoreProfile(
        query="/sparql-auth",
        update="/sparql-auth",
        graph_store="/sparql-graph-crud-auth",
        public=("/sparql", "/sparql", "/sparql-graph-crud"),
        graph_parameter="graph-uri",
        can_move=False,
        takes_forms=True,
        # Otherwise each statement of INSERT DATA and DELETE DATA is compiled.
        data_preamble=b"define sql:big-data-const 1 ",
        has_blank_data=False,
        # CPU: 3 to 5 ms for each PUT, 0.1 ms for each line of INSERT DATA, and 0.3 ms
        # for each line of INSERT WHERE {}, which those with blank nodes need.
        data_lines=40,
        media_type="text/turtle",
        method="graph-store",
        login="digest",
        batch_bytes=_MIB // 4,
        batch_lines=1000,
        part_bytes=4 * _MIB,
        concurrency=2,
        names_per_query=100,
        own_graphs=frozenset(
            {
                "http://www.openlinksw.com/schemas/virtrdf#",
                "http://www.w3.org/ns/ldp#",
                "http://www.w3.org/2002/07/owl#",
                "http://localuriqaserver/sparql",
            }
        ),
    ),
    "graphdb": _RDF4J,
    "rdf4j": _RDF4J,
    "qlever": StoreProfile(graph_store="", concurrency=1),
    # Its substitute for the Graph Store Protocol only adds statements.
    "blazegraph": StoreProfile(
        graph_store="",
        graph_parameter="context-uri",
        has_put=False,
        media_type="text/plain",
        takes_forms=True,
    ),
    "stardog": StoreProfile(query="/query", update="/update", graph_store=""),
    # It accepts at most 150 MB.
    "neptune": StoreProfile(
        query="/sparql",
        update="/sparql",
        graph_store="/sparql/gsp/",
        takes_forms=True,
        part_bytes=64 * _MIB,
    ),
}
"""Profiles by the part of a scheme before `+`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreUrls:
    """URLs of one store.

    Attributes:
        query: URL of queries.
        update: URL of updates.
        graph_store: URL of the Graph Store Protocol, None if there is none.
    """

    query: str
    update: str
    graph_store: str | None

    def of_dataset(self, parameter: str) -> str:
        """Return the URL of the dataset, with a parameter."""
        joint = "&" if "?" in (self.graph_store or "") else "?"
        return f"{self.graph_store}{joint}{parameter}"

    def of_graph(self, graph: str, parameter: str, more: str = "") -> str:
        """Return the URL of a graph, with another parameter after its name."""
        joint = "&" if "?" in (self.graph_store or "") else "?"
        name = f"{parameter}={quote(graph, safe='')}"
        return f"{self.graph_store}{joint}{name}{'&' * bool(more)}{more}"


def profile_of(scheme: str) -> tuple[str, StoreProfile]:
    """Return name and profile of a scheme such as `fuseki+http`.

    Raises:
        ConfigError: the scheme is unknown.
    """
    name, _, protocol = scheme.partition("+")
    profile = PROFILES.get(name)
    if profile is None or protocol not in {"http", "https"}:
        raise ConfigError(
            f"{scheme}: must be one of {', '.join(PROFILES)}, then +http or +https"
        )
    return name, profile


def urls_of(
    url: str,
    name: str,
    profile: StoreProfile,
    given: dict[str, str],
    *,
    has_login: bool,
) -> StoreUrls:
    """Return the URLs of a store.

    Args:
        url: of the store, without its profile.
        name: of the profile.
        profile: of the store.
        given: URLs or paths from the options, which override the profile.
        has_login: whether there are user and password.

    Raises:
        ConfigError: a URL is missing.
    """
    if profile.public is not None and not has_login:
        query, update, graph_store = profile.public
        profile = replace(profile, query=query, update=update, graph_store=graph_store)
    base = url.rstrip("/")
    if name == "neptune":
        base = base.removesuffix("/sparql")
    found = {"update": base + profile.update}
    if profile.query is not None:
        found["query"] = base + profile.query
    if profile.graph_store is not None:
        found["graph_store"] = base + profile.graph_store
    root = url[: len(url) - len(urlsplit(url).path)] if urlsplit(url).path else url
    for key, value in given.items():
        found[key] = root + value if value.startswith("/") else value
    if "query" not in found:
        raise ConfigError('set the option "query" to the URL that accepts queries')
    for key, value in found.items():
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ConfigError(f"{key}={value}: must be an http or https URL")
        # urlsplit does not check the port.
        _ = parts.port
        if urlsplit(found[key]).path == "":
            found[key] = value + "/"
    return StoreUrls(
        query=found["query"],
        update=found["update"],
        graph_store=found.get("graph_store"),
    )


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
        login = StoreLogin(
            **_secrets(options, in_uri, environment, prefix),
            scheme=_choice(options, "login", _LOGINS, profile.login),
        )
        addresses = {key: _text(options, key) for key in _URLS if key in options}
        urls = urls_of(url, name, profile, addresses, has_login=login.is_given)
        method = _choice(options, "method", _METHODS, profile.method)
        if method == "graph-store" and not (urls.graph_store and profile.has_put):
            raise ConfigError(
                "method=graph-store: the store has no Graph Store Protocol;"
                " set method=update, or the option graph_store"
            )
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
            has_provenance=_switch(options, "provenance"),
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


def _secrets(
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


def _switch(options: Mapping[str, object], key: str) -> bool:
    value = options.get(key, True)
    if not isinstance(value, bool):
        raise ConfigError(f"{key}={value!r}: must be true or false")
    return value


def _number(options: Mapping[str, object], key: str, default: int) -> int:
    least, most = _NUMBERS[key]
    value = options.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(f"{key}={value!r}: must be an integer")
    if not least <= value <= most:
        raise ConfigError(f"{key}={value}: must be {least} to {most}")
    return value
