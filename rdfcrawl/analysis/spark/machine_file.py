"""The logs of one machine, exported as one Parquet file; needs `[parquet]`.

| kind of row | columns |
|---|---|
| `url` | `partition`, `domain`, `host`, `url`; `content`: the stored record |
| `links` | `mark`, `version`, `targets`: of a document, with fingerprints for URLs |
| `activity` | `content`: the record of an activity, in JSON |
| `quota` | `content`: an epoch of a domain with a quota, in JSON |
| `store` | `content`: a store that keeps documents as references, in JSON |
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from rdfcrawl.analysis.report.log_tables import EPOCHS, iter_quota_entries
from rdfcrawl.analysis.report.same_content import stored_once
from rdfcrawl.analysis.urldb.rank_graph import followed_targets
from rdfcrawl.core.batches import in_batches
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.stores.files import synced_file
from rdfcrawl.stores.log.crawl_log import iter_activities
from rdfcrawl.stores.log.links import LinkLog
from rdfcrawl.uri import BadUri, NormalForm, fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from rdfcrawl.analysis.urldb.database import UrlDatabase

FORMAT: Final = 3
_MARK: Final = b"rdfcrawl"  # identifies our files in their metadata
_GROUP_ROWS: Final = 16 * 1024
_COLUMNS: Final = pa.schema(
    [
        ("kind", pa.string()),
        ("partition", pa.string()),
        ("domain", pa.string()),
        ("host", pa.string()),
        ("url", pa.string()),
        ("content", pa.string()),
        ("mark", pa.int64()),
        ("version", pa.int64()),
        ("targets", pa.list_(pa.int64())),
    ]
)


class MachineFileReport(NamedTuple):
    """Numbers of rows written for one machine.

    Attributes:
        n_urls: URLs in the database.
        n_documents: versions of documents with links.
        n_activities: activities in the provenance.
        damages: descriptions of damaged parts of the link log.
    """

    n_urls: int
    n_documents: int
    n_activities: int
    damages: tuple[str, ...]


def write_machine_file(
    root: Path, database: UrlDatabase, path: Path
) -> MachineFileReport:
    """Write the logs of a crawl to a file, which is replaced atomically.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>` of this machine.
        database: its URL database, up to date.
        path: of the file.

    Raises:
        OSError: the disk is full, or cannot be read.
    """
    log = LinkLog(root)
    head = {"format": FORMAT, "session": database.normal_form.session_parameters}
    schema = _COLUMNS.with_metadata({_MARK: json.dumps(head)})
    draft = path.with_name(f".{path.name}.draft")
    with (
        synced_file(draft) as file,
        pq.ParquetWriter(file, schema, compression="zstd") as writer,
    ):
        n_urls = _write(writer, schema, _url_rows(database))
        links = _link_rows(log, database.normal_form)
        n_documents = _write(writer, schema, links)
        n_activities = _write(writer, schema, _activity_rows(root))
        _write(writer, schema, _rows_of_report(root))
    draft.replace(path)
    damages = tuple(map(str, log.damages))
    return MachineFileReport(n_urls, n_documents, n_activities, damages)


def _write(
    writer: pq.ParquetWriter, schema: pa.Schema, rows: Iterator[dict[str, Any]]
) -> int:
    n_rows = 0
    for some in in_batches(rows, _GROUP_ROWS):
        writer.write_table(pa.Table.from_pylist(some, schema))
        n_rows += len(some)
    return n_rows


def _url_rows(database: UrlDatabase) -> Iterator[dict[str, Any]]:
    for partition in database.partitions:
        for line in database.lines(partition):
            domain, host, url, _, content = line.decode().split("\t", 4)
            yield {
                "kind": "url",
                "partition": partition,
                "domain": domain,
                "host": host,
                "url": url,
                "content": content,
            }


def _link_rows(log: LinkLog, normal_form: NormalForm) -> Iterator[dict[str, Any]]:
    def mark_of(url: str) -> int | None:
        try:
            return fingerprint(normal_form.normalize(url))
        except (BadUri, UnicodeEncodeError):
            return None

    for batch in log.read():
        for document in batch.documents:
            mark = mark_of(document.graph)
            if mark is not None:
                marks = {mark_of(each) for each in followed_targets(document)}
                yield {
                    "kind": "links",
                    "mark": mark,
                    "version": document.version_ms,
                    "targets": sorted(x for x in marks if x is not None),
                }


def _activity_rows(root: Path) -> Iterator[dict[str, Any]]:
    for activity in iter_activities(root / "provenance"):
        yield {"kind": "activity", "content": json.dumps(activity)}


def _rows_of_report(root: Path) -> Iterator[dict[str, Any]]:
    for entry in iter_quota_entries(root / EPOCHS):
        yield {"kind": "quota", "content": json.dumps(entry)}
    for store in stored_once(root):
        yield {"kind": "store", "content": json.dumps(store)}


def check_machine_files(paths: Iterable[Path]) -> NormalForm:
    """Return the common normal form of all files; read only their footers.

    Raises:
        ConfigError: a file is incomplete, of another kind or normal form; or there are
            no files.
        OSError: a file does not exist, or cannot be read.
    """
    found: dict[tuple[str, ...], Path] = {}
    for path in paths:
        found.setdefault(_session_parameters(path), path)
    if not found:
        raise ConfigError("name at least one file written by `urldb observe`")
    if len(found) > 1:
        names = " and ".join(map(str, found.values()))
        raise ConfigError(f"SESSION_PARAMETERS differ: {names}")
    return NormalForm(next(iter(found)))


def _session_parameters(path: Path) -> tuple[str, ...]:
    try:
        with path.open("rb") as file:
            schema = pq.read_schema(file)
    except pa.ArrowInvalid as error:
        raise ConfigError(f"{path}: is incomplete, or not a Parquet file") from error
    head = (schema.metadata or {}).get(_MARK)
    if head is None or not schema.equals(_COLUMNS):
        raise ConfigError(f"{path}: was not written by `urldb observe`")
    facts = json.loads(head)
    if facts["format"] != FORMAT:
        raise ConfigError(
            f"{path}: has format {facts['format']}, not {FORMAT}; write it again"
        )
    return tuple(facts["session"])
