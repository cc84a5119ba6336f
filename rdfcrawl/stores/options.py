"""The settings of the stores."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from rdfcrawl.core.errors import ConfigError, hide_logins
from rdfcrawl.core.options.table import (
    OptionsTable,
    mapping,
    number,
    parsed,
    part,
    switch,
    text,
)
from rdfcrawl.core.options.values import (
    build_setting,
    check_method,
    dictionary,
    load_setting,
)
from rdfcrawl.stores.segments import SegmentLimits

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from rdfcrawl.stores.protocol import Store

_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*").fullmatch
_METHODS: Final = {"open": 0, "begin": 2, "flush": 0, "close": 0}  # arguments
_WRITER_METHODS: Final = {"write": 1, "end": 0, "abandon": 0}


_SPARQL_STORES: Final = (
    *("sparql", "fuseki", "virtuoso", "graphdb", "rdf4j", "qlever"),
    *("blazegraph", "stardog", "neptune", "oxigraph"),
)
SEGMENTS: Final = "segments"
"""The default store."""
STORE_CLASSES: Final = {
    "segments": "rdfcrawl.stores.nquads.NQuadsStore",
    "oxigraph": "rdfcrawl.stores.followers.oxigraph.OxigraphFollower",
    "parquet": "rdfcrawl.stores.followers.parquet.ParquetFollower",
    **dict.fromkeys(
        ("jsonld", "nquads", "ntriples", "trig", "turtle"),
        "rdfcrawl.stores.followers.rdf_files.FileFollower",
    ),
    "shapes": "rdfcrawl.stores.shapes.follower.ShapesFollower",
    **{
        f"{kind}+{protocol}": "rdfcrawl.stores.followers.sparql.follower.SparqlFollower"
        for kind in _SPARQL_STORES
        for protocol in ("http", "https")
    },
}
"""Classes by the schemes of URIs, in addition to those of the setting of this name."""


def _classes(name: str, value: Any) -> dict[str, Any]:
    classes = {**STORE_CLASSES, **dictionary(name, value)}
    for scheme in classes:
        if not _SCHEME(scheme):
            raise ConfigError(f"{name}: {scheme!r}: must be the scheme of a URI")
    return classes


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOptions(OptionsTable):
    """The stores of a crawl: the one that it writes, and those that follow it."""

    uri: str = text("STORE", SEGMENTS, allowed="a URI")
    """where statements are stored; its scheme is a key of `STORE_CLASSES`. A crawl
    keeps the one that it was begun with"""
    classes: Mapping[str, Any] = parsed("STORE_CLASSES", {}, _classes)
    """classes by the schemes of URIs: [stores](../how-to/own-stores.md) for `STORE`,
    [followers](../how-to/own-followers.md) for `STORES`; yours are added to ours"""
    followers: Mapping[str, Any] = mapping("STORES", {})
    """stores that [follow](stores.md#stores-that-follow) the crawl: options by URI, as
    `{"oxigraph:PATH": {}}`; the scheme of each is a key of `STORE_CLASSES`"""
    is_once: bool = switch("SAME_STATEMENTS_ONCE", False)
    """what several documents say is [stored
    once](stores.md#equal-documents-stored-once) in the stores of `STORES`, in
    exports and for queries; the log has all of it"""
    segments: SegmentLimits = part(SegmentLimits)
    compaction_secs: float = number("COMPACTION_SECS", 0, 0)
    """how often, in seconds, a background process checks whether the log can be
    [compacted](stores.md#compaction); 0: never"""

    def store_class(self) -> type:
        """Return the class of the store of a crawl.

        Raises:
            ConfigError: the setting names no class, or one that is no store.
        """
        found, where = self.class_of("STORE", self.uri)
        if hasattr(found, "apply") and not hasattr(found, "begin"):
            raise ConfigError(
                f"{where} follows a crawl: name its URI in STORES, not STORE"
            )
        for method, n_arguments in _METHODS.items():
            check_method(where, found, method, n_arguments, kind="async def")
        return found

    def class_of(self, name: str, uri: str) -> tuple[type, str]:
        """Return the class for a URI, and how messages name the class.

        Args:
            name: of the setting that has the URI.
            uri: of a store, or of a follower.

        Raises:
            ConfigError: there is none for its scheme.
        """
        known = sorted(key for key, found in self.classes.items() if found is not None)
        scheme = uri.partition(":")[0]
        if scheme not in known:
            raise ConfigError(
                f"{name}={shown_uri(uri)}: STORE_CLASSES has no {scheme!r},"
                f" only {', '.join(known)}"
            )
        path = self.classes[scheme]
        found = load_setting("STORE_CLASSES", scheme, path)
        return cast("type", found), f"STORE_CLASSES: {scheme!r}: {path}"


def shown_uri(uri: str) -> str:
    """Return a URI without the login in it, if any."""
    return hide_logins(uri, "")


def build_store(crawler: Crawler, options: StoreOptions) -> Store:
    """Return the store of a crawl, made by `from_crawler` if the class has one.

    Raises:
        ConfigError: a setting is wrong, or makes the class fail.
    """
    cls, uri = options.store_class(), options.uri
    return cast("Store", build_setting(f"STORE={uri}", cls, crawler, uri))


def check_writer(store: type, writer: type) -> None:
    """Check that the result of a store's `begin` can be written to.

    Raises:
        ConfigError: it cannot.
    """
    where = f"STORE: {store.__qualname__}.begin() returned {writer.__qualname__}, which"
    for method, n_arguments in _WRITER_METHODS.items():
        check_method(where, writer, method, n_arguments, kind="async def")
