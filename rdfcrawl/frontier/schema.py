"""The version of the data model that a crawl has in Redis."""

from __future__ import annotations

from typing import Final

from rdfcrawl.errors import ConfigError

SCHEMA: Final = 1
IMPORTING: Final = 0
"""Of a crawl that is not whole yet; see `lua/import.lua`."""


def check_schema(crawl_id: str, schema: int) -> None:
    """Check that this version reads a crawl.

    Raises:
        ConfigError: another one has begun it, or it is not whole yet.
    """
    if schema == IMPORTING:
        raise ConfigError(
            f"CRAWL_ID={crawl_id}: its frontier is being imported from a file, or that"
            " was broken off; `scrapy frontier import FILE` does it anew"
        )
    if schema != SCHEMA:
        raise ConfigError(
            f"CRAWL_ID={crawl_id}: its frontier has schema {schema}, this version"
            f" reads {SCHEMA}; use another CRAWL_ID or -a fresh=1"
        )
