"""The setting `FETCH_SCHEMES`: its classes and their instances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scrapy.utils.misc import build_from_crawler

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options.values import check_method, load_setting, mapping

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from rdfcrawl.downloader.scheme_fetcher import SchemeFetcher
    from rdfcrawl.uri.schemes import SchemePolicy


def fetcher_classes(
    settings: BaseSettings, schemes: SchemePolicy
) -> Mapping[str, type]:
    """Return the fetcher class of each custom scheme.

    Raises:
        ConfigError: it cannot be imported, or is not a fetcher.
    """
    paths = mapping(settings, "FETCH_SCHEMES")
    found = {}
    for scheme in sorted(schemes.own):
        found[scheme] = load_setting("FETCH_SCHEMES", scheme, paths[scheme])
        where = f"FETCH_SCHEMES: {scheme!r}: {paths[scheme]}"
        check_method(where, found[scheme], "fetch", 1, kind="async def")
    return found


def build_fetchers(
    crawler: Crawler, classes: Mapping[str, type]
) -> dict[str, SchemeFetcher]:
    """Return the fetchers of a crawler.

    Raises:
        ConfigError: a class rejects its settings.
    """
    found: dict[str, Any] = {}
    for scheme, cls in classes.items():
        try:
            found[scheme] = build_from_crawler(cls, crawler)
        except (LookupError, OSError, TypeError, ValueError) as error:
            raise ConfigError(
                f"FETCH_SCHEMES: {scheme!r}: {cls.__qualname__}: {error!r}"
            ) from error
    return found
