"""The session of Spark, and how a job of Spark that fails is told in one line."""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Final

from pyspark.sql import SparkSession

from rdfcrawl.analysis.spark.traces import reason_in
from rdfcrawl.core.errors import RdfcrawlError

if TYPE_CHECKING:
    from collections.abc import Iterator

# Steps that take batches of Arrow fail without it, after minutes.
import_module("pandas")

_NAME: Final = "rdfcrawl"
_QUIET: Final = {
    "spark.log.level": "FATAL",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_PARTS: Final = "spark.sql.shuffle.partitions"
_PARTS_OF_CLUSTERS: Final = "200"  # Spark's default, whatever it runs on
# Rows may be of some 100 KB; so many are in memory at once, for each core.
_BATCH_ROWS: Final = 2000


class SparkFault(RdfcrawlError):
    """A job of Spark has failed; the results before are as they were."""


@contextmanager
def spark_session(master: str | None) -> Iterator[SparkSession]:
    """Open a session, which is stopped at the end; or take the one that is open.

    Args:
        master: `local[2]`, for instance; None: as `spark-submit` has said.

    Raises:
        SparkFault: Spark does not start, or a job fails.
    """
    session = SparkSession.getActiveSession()
    is_ours = session is None
    try:
        builder = SparkSession.builder.appName(_NAME)
        if master is not None:
            builder = builder.master(master)
            for name, value in _QUIET.items():
                builder = builder.config(name, value)
            # The processes of Python are to have what this one has.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        with warnings.catch_warnings():
            # Pandas is asked for its version, and not used.
            warnings.simplefilter("ignore", FutureWarning)
            session = builder.getOrCreate()
            session.conf.set("spark.sql.session.timeZone", "UTC")
            session.conf.set(
                "spark.sql.execution.arrow.maxRecordsPerBatch", str(_BATCH_ROWS)
            )
            if session.conf.get(_PARTS) == _PARTS_OF_CLUSTERS:
                session.conf.set(_PARTS, str(2 * n_tasks(session)))
            yield session
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in {"pyspark", "py4j"}:
            raise
        raise SparkFault(f"Spark has failed: {reason_in(str(error))}") from error
    finally:
        if is_ours and session is not None:
            session.stop()


def n_tasks(session: SparkSession) -> int:
    """Return into how many tasks a step is parted: some for each core."""
    return 2 * int(session.sparkContext.defaultParallelism)
