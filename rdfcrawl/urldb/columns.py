"""Write the URL database as Parquet, a row for each URI; needs `[parquet]`."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rdfcrawl.urldb.record import FirstSeen, UrlRecord

_TIME: Final = pa.timestamp("ms", tz="UTC")
_FETCH: Final = pa.struct(
    [
        ("started", _TIME),
        ("outcome", pa.string()),
        ("http_status", pa.int32()),
        ("n_statements", pa.int64()),
        ("fault", pa.string()),
        ("content_hash", pa.string()),
        ("text_hash", pa.string()),
        ("run", pa.int64()),
    ]
)
_CLAIM: Final = pa.struct(
    [
        ("lastmod", pa.string()),
        ("changefreq", pa.string()),
        ("priority", pa.string()),
        ("first", _TIME),
        ("last", _TIME),
    ]
)
_LATEST: Final = {
    "canonical": "canonical",
    "etag": "etag",
    "found_by": "foundBy",
    "last_modified": "lastModified",
    "parent": "parent",
    "redirect": "redirect",
    "sitemap_format": "sitemapFormat",
    "spelling": "spelling",
}
SCHEMA: Final = pa.schema(
    [
        pa.field("url", pa.string(), nullable=False),
        pa.field("domain", pa.string(), nullable=False),
        pa.field("host", pa.string(), nullable=False),
        pa.field("first_linked", _TIME),
        pa.field("linked_by", pa.string()),
        pa.field("last_linked", _TIME),
        pa.field("first_listed", _TIME),
        pa.field("listed_by", pa.string()),
        pa.field("last_listed", _TIME),
        pa.field("is_sitemap", pa.bool_(), nullable=False),
        *(pa.field(name, pa.string()) for name in _LATEST),
        pa.field("fetches", pa.list_(_FETCH), nullable=False),
        pa.field("claims", pa.list_(_CLAIM), nullable=False),
    ]
)
"""Columns of a URI; see the reference of the URL database."""

_GROUP_ROWS: Final = 64 * 1024


def write_parquet(records: Iterable[UrlRecord], path: Path) -> int:
    """Write records to a file, which is replaced as a whole; return their number.

    Raises:
        OSError: the disk refuses it.
    """
    draft = path.with_name(f".{path.name}.draft")
    left = iter(records)
    n_rows = 0
    try:
        with pq.ParquetWriter(draft, SCHEMA, compression="zstd") as writer:
            while rows := [_row(record) for record in islice(left, _GROUP_ROWS)]:
                writer.write_table(pa.Table.from_pylist(rows, SCHEMA))
                n_rows += len(rows)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return n_rows


def _row(record: UrlRecord) -> dict[str, Any]:
    return {
        "url": record.url,
        "domain": record.domain,
        "host": record.host,
        **_seen("linked", record.linked),
        **_seen("listed", record.listed),
        "is_sitemap": record.is_sitemap,
        **{name: record.latest.get(value) for name, value in _LATEST.items()},
        "fetches": [
            {
                "started": fetch.started_ms or None,
                "outcome": fetch.outcome,
                "http_status": fetch.http_status or None,
                "n_statements": fetch.n_statements,
                "fault": fetch.fault or None,
                "content_hash": fetch.content_hash or None,
                "text_hash": fetch.text_hash or None,
                "run": None if fetch.run < 0 else fetch.run,
            }
            for fetch in record.fetches
        ],
        "claims": [
            {
                "lastmod": claim.lastmod or None,
                "changefreq": claim.changefreq or None,
                "priority": claim.priority or None,
                "first": claim.first_ms,
                "last": claim.last_ms,
            }
            for claim in record.claims
        ],
    }


def _seen(way: str, seen: FirstSeen | None) -> dict[str, Any]:
    if seen is None:
        return {}
    return {
        f"first_{way}": seen.first_ms,
        f"{way}_by": seen.document,
        f"last_{way}": seen.last_ms,
    }
