"""A worker process: `python -m rdfcrawl.launch.progress.worker_process PROGRAM`.

Its standard input is one line of JSON with the words after `scrapy`: settings may
contain passwords, and all users of a machine can read command lines.
"""

from __future__ import annotations

import json
import os
import sys

from rdfcrawl.launch.progress.forks import execute


def main() -> None:
    """Run the command of a worker; do nothing if the starting process is gone."""
    line = sys.stdin.buffer.readline()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    if line:
        sys.argv = sys.argv[1:2]
        execute(json.loads(line))


if __name__ == "__main__":
    main()
