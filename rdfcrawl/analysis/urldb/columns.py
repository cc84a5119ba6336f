"""Write the URL database as Parquet, a row for each URI; needs `[parquet]`."""

from __future__ import annotations

from dataclasses import astuple
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from rdfcrawl.core.batches import in_batches
from rdfcrawl.uri import fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from rdfcrawl.analysis.measures.uri_facts import UriFacts
    from rdfcrawl.analysis.ranking.table import RankTable
    from rdfcrawl.analysis.urldb.record import FirstSeen, UrlRecord

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
        ("last_modified", pa.string()),
        ("statements_hash", pa.string()),
    ]
)
_ORIGIN: Final = pa.struct([("started", _TIME), ("found_by", pa.string())])
_LISTING: Final = pa.struct(
    [
        ("sitemap", pa.string()),
        ("first", _TIME),
        ("last", _TIME),
        ("lastmod", pa.string()),
        ("changefreq", pa.string()),
        ("priority", pa.string()),
    ]
)
_READING: Final = pa.struct(
    [
        ("started", _TIME),
        ("n_urls", pa.int64()),
        ("list_hash", pa.string()),
        ("is_index", pa.bool_()),
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
    "same_content_as": "sameContentAs",
    "sitemap_format": "sitemapFormat",
    "spelling": "spelling",
    "task": "task",
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
        pa.field("cluster", pa.string()),
        pa.field("mirror", pa.string()),
        pa.field("pagerank", pa.float64()),
        pa.field("priorityrank", pa.float64()),
        pa.field("inlinks", pa.int64()),
        pa.field("fetches", pa.list_(_FETCH), nullable=False),
        pa.field("claims", pa.list_(_CLAIM), nullable=False),
        pa.field("listings", pa.list_(_LISTING), nullable=False),
        pa.field("readings", pa.list_(_READING), nullable=False),
        pa.field("origins", pa.list_(_ORIGIN), nullable=False),
    ]
)
"""Columns of a URI; see the reference of the URL database."""

_GROUP_ROWS: Final = 64 * 1024
_PART_ROWS: Final = 4 * 1024  # that are Python objects at a time: 5 KB each
# Values that mean "unknown"; in other columns it is the empty text.
_UNKNOWN: Final = {"started": (0,), "http_status": (0,), "run": (-1,), "n_urls": ()}


def write_parquet(
    records: Iterable[UrlRecord],
    path: Path,
    ranks: RankTable | None = None,
    facts: Iterable[UriFacts] = (),
    mirrors: Iterable[tuple[int, str]] = (),
) -> int:
    """Write records to a file, which is replaced atomically; return their number.

    Args:
        records: in the order of the rows.
        path: of the file.
        ranks: scores of the URIs; None if unknown.
        facts: of some of the URIs, in the same order, with their clusters.
        mirrors: of `mirrors.mirror_urls`, for all records of a database.

    Raises:
        OSError: the disk refuses the file.
    """
    draft = path.with_name(f".{path.name}.draft")
    clustered = _with_clusters(records, facts)
    left = zip(clustered, _dense(mirrors), strict=False)
    n_rows = 0
    try:
        with pq.ParquetWriter(draft, SCHEMA, compression="zstd") as writer:
            rows = (_row(*each, mirror, ranks) for each, mirror in left)
            parts = (
                pa.Table.from_pylist(some, SCHEMA)
                for some in in_batches(rows, _PART_ROWS)
            )
            for group in in_batches(parts, _GROUP_ROWS // _PART_ROWS):
                table = pa.concat_tables(group)
                writer.write_table(table)
                n_rows += table.num_rows
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return n_rows


def _with_clusters(
    records: Iterable[UrlRecord], facts: Iterable[UriFacts]
) -> Iterator[tuple[UrlRecord, str]]:
    """Yield records with the URLs of their representatives; empty without cluster."""
    left = iter(facts)
    following = next(left, None)
    for record in records:
        if following is not None and following.url == record.url:
            yield record, following.cluster
            following = next(left, None)
        else:
            yield record, ""


def _dense(mirrors: Iterable[tuple[int, str]]) -> Iterator[str]:
    """Yield a URL for each record, infinitely; empty for those without one."""
    number = 0
    for place, url in mirrors:
        yield from repeat("", place - number)
        yield url
        number = place + 1
    yield from repeat("")


def _row(
    record: UrlRecord, cluster: str, mirror: str, ranks: RankTable | None
) -> dict[str, Any]:
    scores = None if ranks is None else ranks.scores(fingerprint(record.url))
    return {
        "url": record.url,
        "domain": record.domain,
        "host": record.host,
        **_seen("linked", record.linked),
        **_seen("listed", record.listed),
        "is_sitemap": record.is_sitemap,
        **{name: record.latest.get(value) for name, value in _LATEST.items()},
        "cluster": cluster or None,
        "mirror": mirror or None,
        **(scores or {}),
        "fetches": _rows(record.fetches, _FETCH),
        "claims": _rows(record.claims, _CLAIM),
        "listings": _rows(record.listings, _LISTING),
        "readings": _rows(record.readings, _READING),
        "origins": [
            {"started": ms, "found_by": found_by} for ms, found_by in record.origins
        ],
    }


def _rows(history: Sequence[Any], kind: pa.StructType) -> list[dict[str, Any]]:
    """Return a history as rows; its fields have the order of the columns."""
    names = [field.name for field in kind]
    return [
        {
            name: None if value in _UNKNOWN.get(name, ("",)) else value
            for name, value in zip(names, astuple(each), strict=True)
        }
        for each in history
    ]


def _seen(way: str, seen: FirstSeen | None) -> dict[str, Any]:
    if seen is None:
        return {}
    return {
        f"first_{way}": seen.first_ms,
        f"{way}_by": seen.document,
        f"last_{way}": seen.last_ms,
    }
