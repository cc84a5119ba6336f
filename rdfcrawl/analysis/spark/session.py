"""The Spark session, and failures of Spark jobs as one-line messages."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Final

from pyspark.sql import SparkSession

from rdfcrawl.core.errors import RdfcrawlError

_MAX_CHARS: Final = 500
_find_causes: Final = re.compile(
    r"^(?:Caused by: )?([\w.$]*(?:Error|Exception|Fault)\b.*)", re.MULTILINE
).findall
_NAME: Final = "rdfcrawl"
_PARTS: Final = "spark.sql.shuffle.partitions"
_PARTS_OF_CLUSTERS: Final = "200"  # Spark's default on any master
# A row may have some 100 KB; this number of rows is in memory for each core.
_BATCH_ROWS: Final = 2000


def reason_in(text: str) -> str:
    r"""Return the most informative line of Java and Python traces.

    >>> reason_in("Failed:\n  File x\nOSError: full\nCaused by: a.Exception\n\tat b\n")
    'a.Exception'
    >>> reason_in("[JAVA_GATEWAY_EXITED] Java is missing.")
    '[JAVA_GATEWAY_EXITED] Java is missing.'
    """
    causes = _find_causes(text)
    return (causes[-1] if causes else text.strip().partition("\n")[0])[:_MAX_CHARS]


# Steps with Arrow batches fail without pandas, after minutes.
import_module("pandas")

_QUIET: Final = {
    "spark.log.level": "FATAL",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


class SparkFault(RdfcrawlError):
    """A Spark job has failed; earlier results are unchanged."""


@contextmanager
def spark_session(master: str | None) -> Iterator[SparkSession]:
    """Open a session and stop it at the end; or use an active one.

    Args:
        master: such as `local[2]`; None: that of `spark-submit`.

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
            # Python workers must use this interpreter.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        with warnings.catch_warnings():
            # Spark reads the version of pandas, but does not use it.
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
    """Return the number of tasks of a step: some for each core."""
    return 2 * int(session.sparkContext.defaultParallelism)
