"""The version of the data model, and advice when versions differ.

Workers of several package versions share a crawl if these have the same `SCHEMA`. Raise
it with each change of keys or values that other versions would misread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rdfcrawl.core import __version__
from rdfcrawl.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA: Final = 1
IMPORTING: Final = 0
"""Schema of a crawl whose import is incomplete; see `lua/import.lua`."""
VERSION: Final = "version"
"""Field of the crawl's settings: the package version that created it."""

_MAX_SHOWN: Final = 40  # characters of a foreign value in a message


def check_schema(crawl_id: str, stored: Mapping[bytes, bytes]) -> None:
    """Check, by the settings of a crawl, that this version can read it.

    Raises:
        ConfigError: another version created it, or its import is incomplete.
    """
    if not stored:
        return
    schema = _text(stored, b"schema")
    if schema == str(IMPORTING):
        raise ConfigError(
            f"CRAWL_ID={crawl_id}: its frontier is being imported from a file, or its"
            " import was interrupted; `scrapy frontier import FILE` restarts it"
        )
    if schema != str(SCHEMA):
        raise ConfigError(f"CRAWL_ID={crawl_id}: its frontier has {_advice(stored)}")


def _advice(stored: Mapping[bytes, bytes]) -> str:
    schema = _text(stored, b"schema")
    by = _text(stored, VERSION.encode())
    by = f", rdfcrawl {by}," if by else ""
    if schema.isdecimal() and int(schema) > SCHEMA:
        whose, advice = "a later", "upgrade rdfcrawl on this machine"
    else:
        whose, advice = "an earlier", "finish the crawl with that version"
    return (
        f"schema {schema or 'none'} of {whose} version{by} and rdfcrawl {__version__}"
        f" reads schema {SCHEMA}: {advice}, or begin another crawl (another CRAWL_ID,"
        " or -a fresh=1)"
    )


def _text(stored: Mapping[bytes, bytes], name: bytes) -> str:
    text = stored.get(name, b"").decode(errors="replace")[:_MAX_SHOWN]
    return "".join(c if c.isprintable() else "?" for c in text)
