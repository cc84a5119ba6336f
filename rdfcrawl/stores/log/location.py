"""Find the folder of a command's crawl."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options.values import value_of
from rdfcrawl.stores.identity import read_identity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.settings import BaseSettings


def crawl_folder(settings: BaseSettings) -> Path:
    """Return the folder of all crawls, `CRAWL_DIR`."""
    return Path(str(value_of(settings, "CRAWL_DIR"))).expanduser().absolute()


def find_crawl(settings: BaseSettings) -> Path:
    """Return the folder of the crawl `CRAWL_ID`, or of the only one in `CRAWL_DIR`.

    Raises:
        ConfigError: no crawl has stored anything, or there are several.
    """
    folder = crawl_folder(settings)
    crawl_id = settings.get("CRAWL_ID")
    if crawl_id is not None:
        crawl_id = str(crawl_id)
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
