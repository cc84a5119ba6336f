"""What the logs of one machine say, as one file of Parquet; needs `[parquet]`.

| kind of row | columns |
|---|---|
| `url` | `partition`, `domain`, `host`, `url`; `said`: what is known of it, as stored |
| `links` | `mark`, `version`, `targets`: of a document, with fingerprints for URLs |
| `activity` | `said`: facts and faults of an activity, in JSON |
| `quota` | `said`: an epoch of a domain that has a quota, in JSON |
| `store` | `said`: a store that has documents as others, in JSON |
"""

from __future__ import annotations

import json
import os
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from rdfcrawl.analysis.description.provenance import iter_provenance
from rdfcrawl.analysis.report.activities import iter_activities
from rdfcrawl.analysis.report.quota_tables import EPOCHS, iter_quota_entries
from rdfcrawl.analysis.report.same_content import stored_once
from rdfcrawl.analysis.urldb.link_graph import followed_targets
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.stores.log.links import LinkLog
from rdfcrawl.uri import BadUri, NormalForm, fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from rdfcrawl.analysis.urldb.database import UrlDatabase

FORMAT: Final = 2
_MARK: Final = b"rdfcrawl"  # of our files, in their metadata
_GROUP_ROWS: Final = 16 * 1024
_COLUMNS: Final = pa.schema(
    [
        ("kind", pa.string()),
        ("partition", pa.string()),
        ("domain", pa.string()),
        ("host", pa.string()),
        ("url", pa.string()),
        ("said", pa.string()),
        ("mark", pa.int64()),
        ("version", pa.int64()),
        ("targets", pa.list_(pa.int64())),
    ]
)


class MachineFileReport(NamedTuple):
    """What was written of one machine.

    Attributes:
        n_urls: of which something is known.
        n_documents: versions of documents with links.
        n_activities: of the provenance.
        damages: of the log of links, for people.
    """

    n_urls: int
    n_documents: int
    n_activities: int
    damages: tuple[str, ...]


def write_machine_file(
    root: Path, database: UrlDatabase, path: Path
) -> MachineFileReport:
    """Write what the logs of a crawl say to a file, which is replaced as a whole.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>` of this machine.
        database: of that, up to date.
        path: of the file.

    Raises:
        OSError: the disk is full, or cannot be read.
    """
    log = LinkLog(root)
    told = {"format": FORMAT, "session": database.normal_form.session_parameters}
    schema = _COLUMNS.with_metadata({_MARK: json.dumps(told)})
    draft = path.with_name(f".{path.name}.draft")
    try:
        with draft.open("wb") as file:
            with pq.ParquetWriter(file, schema, compression="zstd") as writer:
                n_urls = _write(writer, schema, _url_rows(database))
                links = _link_rows(log, database.normal_form)
                n_documents = _write(writer, schema, links)
                n_activities = _write(writer, schema, _activity_rows(root))
                _write(writer, schema, _rows_of_report(root))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    damages = tuple(map(str, log.damages))
    return MachineFileReport(n_urls, n_documents, n_activities, damages)


def _write(
    writer: pq.ParquetWriter, schema: pa.Schema, rows: Iterator[dict[str, Any]]
) -> int:
    n_rows = 0
    while some := list(islice(rows, _GROUP_ROWS)):
        writer.write_table(pa.Table.from_pylist(some, schema))
        n_rows += len(some)
    return n_rows


def _url_rows(database: UrlDatabase) -> Iterator[dict[str, Any]]:
    for partition in database.partitions:
        for line in database.lines(partition):
            domain, host, url, _, said = line.decode().split("\t", 4)
            yield {
                "kind": "url",
                "partition": partition,
                "domain": domain,
                "host": host,
                "url": url,
                "said": said,
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
    for activity in iter_activities(iter_provenance(root / "provenance")):
        if activity.is_complete:
            yield {"kind": "activity", "said": json.dumps(activity)}


def _rows_of_report(root: Path) -> Iterator[dict[str, Any]]:
    for entry in iter_quota_entries(root / EPOCHS):
        yield {"kind": "quota", "said": json.dumps(entry)}
    for store in stored_once(root):
        yield {"kind": "store", "said": json.dumps(store)}


def check_machine_files(paths: Iterable[Path]) -> NormalForm:
    """Return the normal form of the URLs in all files, by the ends of these.

    Raises:
        ConfigError: one is torn, of something else, or of another normal form; or
            there are none.
        OSError: one is not there, or cannot be read.
    """
    found: dict[tuple[str, ...], Path] = {}
    for path in paths:
        found.setdefault(_session_parameters(path), path)
    if not found:
        raise ConfigError("name the files that urldb observe has written")
    if len(found) > 1:
        names = " and ".join(map(str, found.values()))
        raise ConfigError(f"SESSION_PARAMETERS differ: {names}")
    return NormalForm(next(iter(found)))


def _session_parameters(path: Path) -> tuple[str, ...]:
    try:
        with path.open("rb") as file:
            schema = pq.read_schema(file)
    except pa.ArrowInvalid as error:
        raise ConfigError(f"{path}: is torn, or no file of Parquet") from error
    told = (schema.metadata or {}).get(_MARK)
    if told is None or not schema.equals(_COLUMNS):
        raise ConfigError(f"{path}: was not written by urldb observe")
    facts = json.loads(told)
    if facts["format"] != FORMAT:
        raise ConfigError(
            f"{path}: has format {facts['format']}, not {FORMAT}; write it anew"
        )
    return tuple(facts["session"])
