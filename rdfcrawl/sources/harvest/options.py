"""The settings of the harvesters."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options.table import OptionsTable, integer, one_of, path
from rdfcrawl.core.options.values import check_class, check_method, iter_classes
from rdfcrawl.frontier.queue.options import CrawlOptions, RevisitsBy

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from rdfcrawl.downloader.options import FetchOptions

_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}").fullmatch
_MEDIA_TYPE: Final = re.compile(r"[a-z0-9.+*-]+/[a-z0-9.+_-]+").fullmatch


class ObeyRobots(StrEnum):
    """Portals whose robots.txt is obeyed when it forbids the API."""

    ALWAYS = "always"
    DISCOVERED = "discovered"  # not for those that the operator named
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class HarvestOptions(OptionsTable):
    """Settings of the harvesters."""

    sitemap_entries: int = integer("SITEMAP_ENTRIES", 10_000, 1, 50_000)
    """entries of one sitemap, or resources of one list of ResourceSync, that are queued
    together while it is read"""
    revisit_secs: int = integer("REVISIT_SECS", 7 * 24 * 3600, 0)
    """age in seconds (a week) from which a later run asks again for what nothing dates:
    pages of links, pages of sitemaps without `lastmod` and `changefreq`, pages that
    have failed in three runs, dumps without validators and dates; 0 is in each run"""
    revisits: RevisitsBy = RevisitsBy.RUNS
    ckan_robots: ObeyRobots = one_of("CKAN_ROBOTS", "discovered", ObeyRobots)
    """for which portals `robots.txt` counts when it forbids their API, as that of CKAN
    does: for all, for those that you did not name yourself, for none"""
    ckan_rows: int = integer("CKAN_ROWS", 100, 1, 1000)
    """datasets asked for at once, to begin with"""
    # URL prefix of a portal -> API key; the prefix may be empty
    ckan_keys: tuple[tuple[str, str], ...] = ()
    sparql_rows: int = integer("SPARQL_ROWS", 10_000, 1, 1_000_000)
    """statements asked for at once, to begin with; it is adapted to the limits of each
    endpoint"""
    warc_part_bytes: int = integer("WARC_PART_BYTES", 64 * 1024 * 1024, 1024, 2**32)
    """of a WARC file that are read as one record of the frontier: so much is read again
    after a crash"""
    # longest body of a document that a source has in it
    max_document_bytes: int = 64 * 1024 * 1024
    max_dump_bytes: int = 50 * 1024**3  # longest body of a dump that an archive has
    spool_bytes: int = 256 * 1024  # a longer one is written to a file
    files: Path | None = path("RESOURCESYNC_FILES", None)
    """folder for the files of all resources, as `<host>/<percent-encoded URI>`; unset,
    RDF is read, other resources are described, and neither is kept as a file"""
    # the user's classes, by kind, own name or media type
    harvesters: Mapping[str, type] = field(default_factory=dict)

    @classmethod
    def of(
        cls, settings: BaseSettings, crawl: CrawlOptions, fetch: FetchOptions
    ) -> Self:
        """Read the settings, and the keys of portals in the environment.

        Raises:
            ConfigError: a value is out of range, or a key is malformed.
        """
        read = cls.read(settings)
        read |= {
            "revisits": crawl.work.revisits,
            "ckan_keys": _keys("CKAN_API_KEY", os.environ.get("CKAN_API_KEY", "")),
            "max_document_bytes": fetch.max_document_bytes,
            "max_dump_bytes": fetch.max_dump_bytes,
            "spool_bytes": fetch.spool_bytes,
            "harvesters": harvester_classes(crawl.formats.harvesters),
        }
        return cls(**read)


def harvester_classes(paths: Mapping[str, object]) -> dict[str, type]:
    """Return the classes of `HARVESTERS`.

    Raises:
        ConfigError: a name is malformed, or a class cannot be imported.
    """
    found = {}
    for name, where, harvester in iter_classes("HARVESTERS", paths):
        if not (_NAME(name) or _MEDIA_TYPE(name)):
            raise ConfigError(
                f"HARVESTERS: {name!r}: must be a kind of source, a name of your own in"
                " lower case, or a media type"
            )
        check_class(where, harvester, 1)
        check_method(where, harvester, "harvest", 1, kind="generator")
        found[name] = harvester
    return found


def _keys(name: str, text: str) -> tuple[tuple[str, str], ...]:
    """Return the keys in an environment variable, each with a URL.

    A single key without a URL is for all portals that the operator names.

    Raises:
        ConfigError: an entry is malformed.
    """
    entries = text.split()
    if len(entries) == 1 and "://" not in entries[0]:
        return (("", entries[0]),)
    pairs = [entry.partition("=")[::2] for entry in entries]
    if not all("://" in url and key for url, key in pairs):
        raise ConfigError(f"{name}: must be a key, or URL=KEY for each portal")
    return tuple(pairs)
