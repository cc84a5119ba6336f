"""The version of the data model: which workers may share a crawl, and what to do else.

Workers of several versions of the package share a crawl as long as these have the same
`SCHEMA`. It is raised by whoever changes the keys, or what is in them, so that another
version would misread it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA: Final = 1
IMPORTING: Final = 0
"""Of a crawl that is not whole yet; see `lua/import.lua`."""
VERSION: Final = "version"
"""Field of the crawl's settings: the version of the package that has begun it."""

_MAX_SHOWN: Final = 40  # characters of what somebody else has written


def check_schema(crawl_id: str, stored: Mapping[bytes, bytes]) -> None:
    """Check that this version reads a crawl, by its settings; it may have none yet.

    Raises:
        ConfigError: another one has begun it, or it is not whole yet.
    """
    if not stored:
        return
    schema = _text(stored, b"schema")
    if schema == str(IMPORTING):
        raise ConfigError(
            f"CRAWL_ID={crawl_id}: its frontier is being imported from a file, or that"
            " was broken off; `scrapy frontier import FILE` does it anew"
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
