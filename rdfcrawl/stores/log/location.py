"""Find the folder of a command's crawl."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options.table import OptionsTable, path, text
from rdfcrawl.stores.identity import read_identity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.settings import BaseSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlLocation(OptionsTable):
    """The settings that say which crawl is meant, and where it is."""

    folder: Path = path("CRAWL_DIR", "crawl")
    """folder for everything a crawl keeps on this machine: `CRAWL_DIR/<CRAWL_ID>/` with
    `frontier`, `quads`, `provenance`, `spool`, `logs`, `warc` if wanted, `epochs`
    with [quotas](../explanation/refresh.md#quotas), and `clock.txt` (the time that
    the crawl has come to, in ms)"""
    # name that the workers of one crawl share
    crawl_id: str | None = text(
        "CRAWL_ID", None, allowed="letters, digits, `.`, `_`, `-`; at most 100"
    )
    """name of the crawl; unset, it is the name of the spider. Workers with the same
    name (and the same Redis) share one crawl; the same command continues it"""


def crawl_folder(settings: BaseSettings) -> Path:
    """Return the folder of all crawls, `CRAWL_DIR`."""
    return CrawlLocation.from_settings(settings).folder


def find_crawl(settings: BaseSettings) -> Path:
    """Return the folder of the crawl `CRAWL_ID`, or of the only one in `CRAWL_DIR`.

    Raises:
        ConfigError: no crawl has stored anything, or there are several.
    """
    location = CrawlLocation.from_settings(settings)
    folder, crawl_id = location.folder, location.crawl_id
    if crawl_id is not None:
        if read_identity(folder / crawl_id / "quads") is None:
            _check_stores([folder / crawl_id])
            raise ConfigError(
                f"CRAWL_ID={crawl_id}: no crawl of this name has stored anything in"
                f" CRAWL_DIR={folder}"
            )
        return folder / crawl_id
    names = sorted(path.parent.parent.name for path in folder.glob("*/quads/log.json"))
    if not names:
        _check_stores(sorted(path.parent for path in folder.glob("*/provenance")))
        raise ConfigError(f"CRAWL_DIR={folder}: no crawl has stored anything here")
    if len(names) > 1:
        raise ConfigError(
            f"CRAWL_DIR={folder}: add -s CRAWL_ID=NAME; there are {', '.join(names)}"
        )
    return folder / names[0]


def _check_stores(roots: Iterable[Path]) -> None:
    """Raise `ConfigError` if crawls use stores that only their own classes can read."""
    own = [
        root.name
        for root in roots
        if (root / "provenance").is_dir() and not (root / "quads").is_dir()
    ]
    if own:
        raise ConfigError(
            f"CRAWL_ID={', '.join(own)}: this command reads only STORE=segments, and"
            " the crawl used another STORE"
        )
