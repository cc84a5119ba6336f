"""A worker that is not forked.

`python -m rdfcrawl.launch.progress.worker_process PROGRAM` starts it.

Its standard input has one line of JSON, the words behind `scrapy`: settings may have
passwords, and all users of a machine can read command lines.
"""

from __future__ import annotations

import json
import os
import sys

from rdfcrawl.launch.progress.forks import execute


def main() -> None:
    """Run the command of a worker; nothing if who started it is gone."""
    line = sys.stdin.buffer.readline()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    if line:
        sys.argv = sys.argv[1:2]
        execute(json.loads(line))


if __name__ == "__main__":
    main()
