"""The process that makes a report: `python -m rdfcrawl.monitor.page.report_child`.

It does the same as `scrapy report`, at low priority.

In: one job as JSON: `root`, `folder`, `site`, `session_parameters`. Out: a line with
`damages` of the logs, or with `refusal`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rdfcrawl.analysis.report.making import report_crawl
from rdfcrawl.analysis.report.writing import write_report
from rdfcrawl.analysis.urldb.building import build
from rdfcrawl.analysis.urldb.rank_building import rank
from rdfcrawl.core.errors import RdfcrawlError
from rdfcrawl.core.sorting import SpillFolder
from rdfcrawl.monitor.page.child_jobs import ChildOutput, begin_job
from rdfcrawl.uri import NormalForm

_NICE: Final = 15
_MAX_DAMAGES: Final = 10  # limit of reported damages


def main() -> None:
    """Make one report."""
    output = ChildOutput()
    try:
        output.send(damages=_make(begin_job(_NICE)))
    except (RdfcrawlError, OSError) as error:
        output.send(refusal=f"report: {' '.join(str(error).split())}")
    os._exit(0)


def _make(job: Mapping[str, Any]) -> list[str]:
    """Write the report; return the damage of the logs."""
    root = Path(job["root"])
    normal_form = NormalForm(tuple(job["session_parameters"]))
    built = build(root, normal_form, scratch=root)
    rank(root, scratch=root)
    with SpillFolder(root) as spills:
        report = report_crawl(root, job["site"] or None, spills=spills)
        write_report(report, Path(job["folder"]))
    return [str(each) for each in built.damages[:_MAX_DAMAGES]]


if __name__ == "__main__":
    main()
