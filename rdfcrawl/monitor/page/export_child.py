"""The process of a download: `python -m rdfcrawl.monitor.page.export_child`.

It does the same as `scrapy export --to -`, at low priority.

In: one job as JSON: `root`, `format`, `is_once`. Out: the file; the exit code is 1 if
it is incomplete.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from rdfcrawl.core.errors import RdfcrawlError
from rdfcrawl.monitor.page.child_jobs import begin_job
from rdfcrawl.stores.export.exporting import export
from rdfcrawl.stores.export.plan import ExportPlan
from rdfcrawl.stores.export.selection import DocumentSelection
from rdfcrawl.stores.log.crawl_log import CrawlLog

_NICE: Final = 15


def main() -> None:
    """Write one file to standard output."""
    job = begin_job(_NICE)
    selection = DocumentSelection(is_once=job["is_once"])
    log = CrawlLog(Path(job["root"]))
    try:
        plan = ExportPlan.of("-", format_name=job["format"], selection=selection)
        export(log, plan)
    except (RdfcrawlError, OSError):  # `scrapy export` prints the reason
        os._exit(1)
    os._exit(1 if log.damages else 0)


if __name__ == "__main__":
    main()
