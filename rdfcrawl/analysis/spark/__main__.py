"""The job as a script for `spark-submit`: `FILE ... --to DIR`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rdfcrawl.analysis.spark.job import run_job
from rdfcrawl.analysis.spark.session import SparkFault
from rdfcrawl.core.errors import ConfigError


def main() -> int:
    """Run the job on the master of `spark-submit`; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path)
    parser.add_argument("--to", metavar="DIR", required=True, type=Path)
    given = parser.parse_args()
    try:
        done = run_job(given.files, given.to)
    except (ConfigError, SparkFault, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2 if isinstance(error, ConfigError) else 1
    sys.stdout.write(f"{done}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
