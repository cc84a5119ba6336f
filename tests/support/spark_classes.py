"""Writes the archive of classes from which the tests of Spark start in half the time.

`python -m tests.support.spark_classes`; the makefile does so once Spark is installed.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.spark_fixtures import (
    ARCHIVE,
    spark_variables,
    told_events,
    write_machines,
)


def main() -> None:
    """Run a small job; its virtual machine writes the archive as it ends."""
    if shutil.which("java") is None:
        return
    draft = ARCHIVE.with_suffix(".draft")
    with TemporaryDirectory() as name:
        folder = Path(name)
        java = f"-XX:ArchiveClassesAtExit={draft}"
        os.environ.update(spark_variables(folder, java))
        from pyspark import SparkContext

        from rdfcrawl.analysis.spark.job import run_job

        machines = write_machines(folder, told_events(4, n_events=60))
        run_job(machines.files, folder / "result" / "crawl", "local[2]")
        gateway = SparkContext._gateway
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
    if draft.exists():  # else Java is another one, and the tests start without it
        draft.replace(ARCHIVE)


if __name__ == "__main__":
    main()
