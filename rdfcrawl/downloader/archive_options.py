"""The settings of a crawl's web archive."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options.table import OptionsTable, integer, parsed, switch
from rdfcrawl.core.options.values import texts

_is_header = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+").fullmatch  # RFC 9110 5.6.2


def _headers(name: str, value: Any) -> tuple[str, ...]:
    headers = texts(value)
    for header in headers:
        if not _is_header(header):
            raise ConfigError(f"{name}: {header!r}: must be the name of a header")
    return headers


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSettings(OptionsTable):
    """Options of a crawl's web archive."""

    is_wanted: bool = switch("WARC", False)
    """`True`: keep requests and responses in [WARC
    files](../how-to/web-archives.md#keep-responses)"""
    max_bytes: int = integer("WARC_MAX_BYTES", 1024 * 1024 * 1024, 1024)
    """size at which a WARC file is finished and the next begins; one record may be
    longer"""
    redacted_headers: tuple[str, ...] = parsed(
        "WARC_REDACTED_HEADERS",
        ["Authorization", "Cookie", "Proxy-Authorization", "X-API-Key", "X-Auth-Token"],
        _headers,
        allowed="names",
    )
    """headers of requests whose values are left out of WARC files"""
