"""The process that Spark forks those of Python from, with all that tasks import.

A forked process reads and executes like `pyspark.worker`. Importing these modules in
each process, and collecting garbage after each task, is most of the CPU of Python for
small tasks.
"""

from __future__ import annotations

import gc
from importlib import import_module
from runpy import run_module

_IMPORTED = (
    "pandas",  # for which pyarrow looks as soon as there is a column
    "pyspark.worker",
    "rdfcrawl.analysis.spark.figures",
    "rdfcrawl.analysis.spark.ranks",
)

if __name__ == "__main__":
    for name in _IMPORTED:
        import_module(name)
    gc.freeze()
    run_module("pyspark.daemon", run_name="__main__")
