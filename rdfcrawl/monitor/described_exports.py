"""Describe the files of an export as a description of the crawl names them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from rdfcrawl.analysis.description.vocabularies import DescribedFile
from rdfcrawl.core.formats import FORMATS
from rdfcrawl.stores.export.plan import HDT, PARQUET, ExportPlan

if TYPE_CHECKING:
    from pathlib import Path

    from rdfcrawl.stores.export.exporting import ExportReport

_MEDIA_TYPES: Final = {
    **{each.extensions[0]: each.media_types[0] for each in FORMATS if each.extensions},
    HDT: "application/vnd.hdt",
    PARQUET: "application/vnd.apache.parquet",
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
