"""Write the descriptions of a crawl as files, atomically."""

from __future__ import annotations

import heapq
import os
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TextIO
from urllib.parse import quote

from rdfcrawl.analysis.description.figures import (
    DatasetFigures,
    add_provenance,
    iter_hosts,
)
from rdfcrawl.analysis.description.scan import FigureScan
from rdfcrawl.analysis.description.table import (
    FigureKey,
    FigureKind,
    FigureTable,
    key_prefix,
)
from rdfcrawl.analysis.description.vocabularies import (
    PREFIXES,
    DescribedCrawl,
    DescribedFile,
    describe_all,
    describe_catalog,
    describe_document,
    describe_host,
    describe_host_dataset,
)
from rdfcrawl.core.formats import FORMATS
from rdfcrawl.stores.files import replacing_file
from rdfcrawl.stores.log.crawl_log import (
    CrawlLog,
    iter_latest_documents,
    iter_provenance,
)
from rdfcrawl.stores.segment_file import list_segments

if TYPE_CHECKING:
    from rdfcrawl.stores.export.exporting import ExportReport
    from rdfcrawl.stores.export.plan import ExportPlan

VOID_NAME: Final = "void.ttl"
DCAT_NAME: Final = "dcat.ttl"
LISTED_OF_CRAWL: Final = 1000  # classes, properties, vocabularies
LISTED_OF_HOST: Final = 100


class DescriptionOptions(NamedTuple):
    """Options of a description.

    Attributes:
        title: of the crawl.
        publisher: name of the publisher of the description.
        n_hosts: maximum number of described hosts: those with most statements.
        scratch: folder of scratch files; by default that of the operating system.
    """

    title: str
    publisher: str
    n_hosts: int = 1000
    scratch: Path | None = None


def write_descriptions(
    log: CrawlLog,
    options: DescriptionOptions,
    target: Path | None = None,
    files: Sequence[DescribedFile] | None = None,
) -> list[Path]:
    """Write `void.ttl` and `dcat.ttl` into the folder of a crawl, or both to one file.

    Args:
        log: of the crawl.
        options: title, publisher and limits.
        target: file for both descriptions.
        files: files with the statements; by default the segments of the log.

    Returns:
        The written files.

    Raises:
        OSError: a disk cannot be read, or is full.
        TornMember: a segment is damaged.
    """
    paths = [target] if target else [log.root / VOID_NAME, log.root / DCAT_NAME]
    crawl = DescribedCrawl(log.identity.log, options.title, options.publisher)
    with ExitStack() as stack:
        hosts = stack.enter_context(FigureTable(options.scratch))
        scan = FigureScan(hosts)
        for document in iter_latest_documents(log, scratch=options.scratch):
            scan.add(document)
        scan.flush()
        for block in iter_provenance(log.root / "provenance"):
            add_provenance(hosts, block.activities)
        if files is None:  # list them late: compaction may have replaced some
            files = _segments(log.root, paths[0].absolute().parent)
        outputs = [stack.enter_context(replacing_file(path)) for path in paths]
        _write(crawl, hosts, options, files, outputs)
    return paths


def _write(
    crawl: DescribedCrawl,
    hosts: FigureTable,
    options: DescriptionOptions,
    files: Sequence[DescribedFile],
    outputs: Sequence[TextIO],
) -> None:
    void, dcat = outputs[0], outputs[-1]
    for output in outputs:
        output.write(PREFIXES)
    with FigureTable(options.scratch) as total:
        summary = _Summary.of(hosts, total, options.n_hosts)
        items = ((FigureKey.of(key), figure) for key, figure in total.items())
        figures = DatasetFigures(host="", size=LISTED_OF_CRAWL)
        for key, figure in items:
            figures.take(key.kind, key.about, figure)
    dumps = [file.href for file in files]
    void.write(describe_document(crawl))
    void.write(
        describe_all(
            crawl,
            figures,
            n_hosts=summary.n_hosts,
            n_linksets=summary.n_linksets,
            dumps=dumps,
        )
    )
    dcat.write(describe_catalog(crawl, figures, files, n_hosts=summary.n_hosts))
    for each in iter_hosts(hosts, LISTED_OF_HOST):
        if each.host in summary.described:
            void.write(describe_host(crawl, each, summary.described))
            dcat.write(describe_host_dataset(crawl, each))


class _Summary(NamedTuple):
    """Sums over the figures of all hosts."""

    n_hosts: int
    n_linksets: int
    described: frozenset[str]

    @classmethod
    def of(cls, hosts: FigureTable, total: FigureTable, n_described: int) -> _Summary:
        """Add the figures of all hosts to those of the crawl."""
        n_hosts = n_linksets = 0
        largest: list[tuple[int, bytes]] = []
        for text, figure in hosts.items():
            key = FigureKey.of(text)
            kind = key.kind
            n_hosts += kind is FigureKind.DOCUMENTS
            n_linksets += kind is FigureKind.LINKS
            if kind is FigureKind.TRIPLES and key.host and isinstance(figure, int):
                heapq.heappush(largest, (figure, key.host))
                if len(largest) > n_described:
                    heapq.heappop(largest)
            total.put(key_prefix(b"", kind) + key.about, figure)
            total.trim()
        described = frozenset(host.decode() for _, host in largest)
        return cls(n_hosts, n_linksets, described)


def _segments(root: Path, folder: Path) -> list[DescribedFile]:
    """Return the segments of a log, with paths relative to a folder."""
    found = []
    for path in list_segments(root / "quads"):
        with suppress(FileNotFoundError):  # removed because it was empty
            href = quote(os.path.relpath(path, folder))
            n_bytes = path.stat().st_size
            file = DescribedFile(
                href, "application/n-quads", "application/gzip", n_bytes
            )
            found.append(file)
    return found


_MEDIA_TYPES: Final = {
    **{each.extensions[0]: each.media_types[0] for each in FORMATS if each.extensions},
    "hdt": "application/vnd.hdt",
    "parquet": "application/vnd.apache.parquet",
}
_COMPRESSIONS: Final = {"": "", "gz": "application/gzip", "zst": "application/zstd"}


def described_files(
    report: ExportReport, plan: ExportPlan, description: Path
) -> list[DescribedFile]:
    """Return the files of an export, named relative to its description.

    Args:
        report: result of the export.
        plan: of the export; its target is not standard output.
        description: path of the description file.
    """
    if plan.target is None:
        return []
    folder = plan.target if plan.shards else plan.target.parent
    name, packing = plan.format
    return [
        DescribedFile(
            href=quote(os.path.relpath(folder / file.name, description.parent)),
            media_type=_MEDIA_TYPES[name],
            compression=_COMPRESSIONS[packing],
            n_bytes=file.n_bytes,
            sha256=file.sha256,
        )
        for file in report.files
    ]
