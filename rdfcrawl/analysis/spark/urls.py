"""Join the observations of all machines into the segments of one URL database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

from rdfcrawl.analysis.spark.session import n_tasks
from rdfcrawl.analysis.urldb.building import join_sorted, new_segment, remove_old
from rdfcrawl.analysis.urldb.files import FOLDER, UrlDatabaseManifest, write_manifest
from rdfcrawl.stores.files import sync
from rdfcrawl.uri import NormalForm

_LOG: Final = "spark"  # no log has this name, so a build from logs starts empty
_WRITTEN: Final = pa.schema(
    [("partition", pa.string()), ("name", pa.string()), ("n_records", pa.int64())]
)


def join_urls(
    machines: DataFrame, root: Path, normal_form: NormalForm
) -> UrlDatabaseManifest:
    """Write the URL database of several machines; return its manifest.

    Segments equal those of one machine with all logs, byte for byte.

    Args:
        machines: rows of their files.
        root: folder of the results; its `urldb/` exists, on a shared disk, and is
            empty.
        normal_form: of the URLs.
    """
    keys = ("partition", "domain", "host", "url")
    folder = root / FOLDER
    rows = (
        machines.filter("kind = 'url'")
        .select(*keys, "content")
        .repartition(n_tasks(machines.sparkSession), "partition")
        .sortWithinPartitions(*keys)
        .mapInArrow(
            partial(_write_segments, str(folder)),
            "partition string, name string, n_records long",
        )
        .collect()
    )
    sync(folder)
    manifest = UrlDatabaseManifest(
        log=_LOG,
        generation=0,
        session_parameters=normal_form.session_parameters,
        segments={row["partition"]: row["name"] for row in sorted(rows)},
        n_records=sum(row["n_records"] for row in rows),
    )
    write_manifest(folder, manifest)
    return manifest


def replace_urls(draft: Path, root: Path, manifest: UrlDatabaseManifest) -> None:
    """Replace the URL database of a folder by that of a draft, atomically."""
    folder = root / FOLDER
    for name in manifest.segments.values():
        (draft / FOLDER / name).replace(folder / name)
    sync(folder)
    write_manifest(folder, manifest)
    remove_old(folder, manifest)


def _write_segments(
    folder: str, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Write a segment for each partition, from sorted rows; yield their names."""
    # Spark may run two attempts of one task concurrently.
    attempt = f"-{TaskContext.get().taskAttemptId()}"
    for name, some in groupby(rows_of(batches), itemgetter(0)):
        texts = (
            (f"{d}\t{h}\t{u}".encode(), content.encode())
            for _, d, h, u, content in some
        )
        with new_segment(Path(folder), name, attempt) as written:
            for key, text in join_sorted(texts):
                written.writer.add(key, text)
        found = [[name], [written.name], [written.writer.n_records]]
        yield pa.RecordBatch.from_arrays(
            [pa.array(x, field.type) for x, field in zip(found, _WRITTEN, strict=True)],
            schema=_WRITTEN,
        )


def rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of batches as tuples."""
    for batch in batches:
        columns = [column.to_pylist() for column in batch.columns]
        yield from zip(*columns, strict=True)
