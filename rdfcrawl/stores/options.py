"""Read and check the settings of the stores."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, cast

from rdfcrawl.errors import ConfigError
from rdfcrawl.options import defaults
from rdfcrawl.options.values import (
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
    classes = {**defaults.STORE_CLASSES, **mapping(settings, "STORE_CLASSES")}
    for name in classes:
        if not _SCHEME(name):
            raise ConfigError(f"STORE_CLASSES: {name!r}: must be the scheme of a URI")
    known = sorted(name for name, path in classes.items() if path is not None)
    uri = store_uri(settings)
    scheme = uri.partition(":")[0]
    if scheme not in known:
        raise ConfigError(
            f"STORE={uri}: STORE_CLASSES has no {scheme!r}, only {', '.join(known)}"
        )
    found = load_setting("STORE_CLASSES", scheme, classes[scheme])
    where = f"STORE_CLASSES: {scheme!r}: {classes[scheme]}"
    for method, n_arguments in _METHODS.items():
        check_method(where, found, method, n_arguments, kind="async def")
    return cast("type", found)


def build_store(crawler: Crawler) -> Store:
    """Return the store of a crawl, made by `from_crawler` if the class has one.

    Raises:
        ConfigError: a setting is wrong, or makes the class fail.
    """
    cls, uri = store_class(crawler.settings), store_uri(crawler.settings)
    return cast("Store", build_setting(f"STORE={uri}", cls, crawler, uri))


def check_writer(store: type, writer: type) -> None:
    """See that what a store's `begin` returns can be written to.

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
