"""Read and check the settings of the stores."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, cast

from rdfcrawl.core.errors import ConfigError, hide_logins
from rdfcrawl.core.options import defaults
from rdfcrawl.core.options.values import (
    build_setting,
    check_method,
    integer,
    load_setting,
    mapping,
    value_of,
)
from rdfcrawl.stores.segments import SegmentLimits

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from rdfcrawl.stores.protocol import Store

_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*").fullmatch
_METHODS: Final = {"open": 0, "begin": 2, "flush": 0, "close": 0}  # arguments
_WRITER_METHODS: Final = {"write": 1, "end": 0, "abandon": 0}


def store_uri(settings: BaseSettings) -> str:
    """Return the URI of the store of a crawl, whose scheme selects the class."""
    return str(value_of(settings, "STORE"))


def store_class(settings: BaseSettings) -> type:
    """Return the class of the store of a crawl.

    Raises:
        ConfigError: the setting names no class, or one that is no store.
    """
    found, where = class_of_uri(settings, "STORE", store_uri(settings))
    if hasattr(found, "apply") and not hasattr(found, "begin"):
        raise ConfigError(f"{where} follows a crawl: name its URI in STORES, not STORE")
    for method, n_arguments in _METHODS.items():
        check_method(where, found, method, n_arguments, kind="async def")
    return found


def class_of_uri(settings: BaseSettings, name: str, uri: str) -> tuple[type, str]:
    """Return the class of `STORE_CLASSES` for a URI, and how messages name the class.

    Args:
        settings: of the crawl.
        name: of the setting that has the URI.
        uri: of a store, or of a follower.

    Raises:
        ConfigError: there is none for its scheme.
    """
    classes = {**defaults.STORE_CLASSES, **mapping(settings, "STORE_CLASSES")}
    for scheme in classes:
        if not _SCHEME(scheme):
            raise ConfigError(f"STORE_CLASSES: {scheme!r}: must be the scheme of a URI")
    known = sorted(scheme for scheme, path in classes.items() if path is not None)
    scheme = uri.partition(":")[0]
    if scheme not in known:
        raise ConfigError(
            f"{name}={shown_uri(uri)}: STORE_CLASSES has no {scheme!r},"
            f" only {', '.join(known)}"
        )
    found = load_setting("STORE_CLASSES", scheme, classes[scheme])
    return cast("type", found), f"STORE_CLASSES: {scheme!r}: {classes[scheme]}"


def shown_uri(uri: str) -> str:
    """Return a URI without the login in it, if any."""
    return hide_logins(uri, "")


def build_store(crawler: Crawler) -> Store:
    """Return the store of a crawl, made by `from_crawler` if the class has one.

    Raises:
        ConfigError: a setting is wrong, or makes the class fail.
    """
    cls, uri = store_class(crawler.settings), store_uri(crawler.settings)
    return cast("Store", build_setting(f"STORE={uri}", cls, crawler, uri))


def check_writer(store: type, writer: type) -> None:
    """Check that the result of a store's `begin` can be written to.

    Raises:
        ConfigError: it cannot.
    """
    where = f"STORE: {store.__qualname__}.begin() returned {writer.__qualname__}, which"
    for method, n_arguments in _WRITER_METHODS.items():
        check_method(where, writer, method, n_arguments, kind="async def")


def segment_limits(settings: BaseSettings) -> SegmentLimits:
    """Return the sizes of segments.

    Raises:
        ConfigError: a setting is out of range.
    """
    return SegmentLimits(rotate_bytes=integer(settings, "SEGMENT_MAX_BYTES", 1024))
