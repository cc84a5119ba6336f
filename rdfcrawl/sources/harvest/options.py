"""The settings of the harvesters, read and checked."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options.values import (
    check_class,
    check_method,
    integer,
    iter_classes,
    one_of,
)
from rdfcrawl.frontier.queue.options import RevisitsBy

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}").fullmatch
_MEDIA_TYPE: Final = re.compile(r"[a-z0-9.+*-]+/[a-z0-9.+_-]+").fullmatch


class ObeyRobots(StrEnum):
    """Portals whose robots.txt is obeyed when it forbids the API."""

    ALWAYS = "always"
    DISCOVERED = "discovered"  # not for those that the operator named
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class HarvestOptions:
    """Settings of the harvesters."""

    # number queued together while a sitemap or list is read
    sitemap_entries: int = 10_000
    # age from which a later run asks for what nothing dates
    revisit_secs: int = 7 * 24 * 3600
    revisits: RevisitsBy = RevisitsBy.RUNS
    # portals whose robots.txt is obeyed
    ckan_robots: ObeyRobots = ObeyRobots.DISCOVERED
    ckan_rows: int = 100  # datasets of one request
    # URL prefix of a portal -> API key; the prefix may be empty
    ckan_keys: tuple[tuple[str, str], ...] = ()
    sparql_rows: int = 10_000  # statements of the first requests
    warc_part_bytes: int = 64 * 1024 * 1024  # of a WARC file that are read together
    # longest body of a document that a source has in it
    max_document_bytes: int = 64 * 1024 * 1024
    max_dump_bytes: int = 50 * 1024**3  # longest body of a dump that an archive has
    spool_bytes: int = 256 * 1024  # a longer one is written to a file
    # folder for the files of ResourceSync; None keeps no files
    files: Path | None = None
    # the user's classes, by kind, own name or media type
    harvesters: Mapping[str, type] = field(default_factory=dict)

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        """Read the settings, and the keys of portals in the environment.

        Raises:
            ConfigError: a value is out of range, or a key is malformed.
        """
        files = settings.get("RESOURCESYNC_FILES")
        return cls(
            sitemap_entries=integer(settings, "SITEMAP_ENTRIES", 1, 50_000),
            revisit_secs=integer(settings, "REVISIT_SECS", 0),
            revisits=one_of(settings, "REVISITS", RevisitsBy),
            ckan_robots=one_of(settings, "CKAN_ROBOTS", ObeyRobots),
            ckan_rows=integer(settings, "CKAN_ROWS", 1, 1000),
            ckan_keys=_keys("CKAN_API_KEY", os.environ.get("CKAN_API_KEY", "")),
            sparql_rows=integer(settings, "SPARQL_ROWS", 1, 1_000_000),
            warc_part_bytes=integer(settings, "WARC_PART_BYTES", 1024, 2**32),
            max_document_bytes=integer(settings, "DOWNLOAD_MAXSIZE", 1),
            max_dump_bytes=integer(settings, "DUMP_MAXSIZE", 1),
            spool_bytes=integer(settings, "VISIT_SPOOL_BYTES", 1),
            files=Path(str(files)).expanduser().absolute() if files else None,
            harvesters=_harvesters(settings),
        )


def _harvesters(settings: BaseSettings) -> dict[str, type]:
    """Return the classes of `HARVESTERS`.

    Raises:
        ConfigError: a name is malformed, or a class cannot be imported.
    """
    found = {}
    for name, where, harvester in iter_classes(settings, "HARVESTERS"):
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
