"""Runs a judge of a public test suite; writes each of its cases as a line of JSON.

usage: judge_cases.py JUDGE ARGUMENT ...
"""

from __future__ import annotations

import importlib
import json
import runpy
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any


def main(judge: str, *arguments: str) -> None:
    """Run a judge that counts its cases with `Score.add` of its module `common`."""
    sys.path.insert(0, str(Path(judge).parent))
    sys.argv = [judge, *arguments]
    score: Any = importlib.import_module("common").Score
    add = score.add

    def add_and_write(
        self: Any, group: str, case: str, ok: object, why: object = ""
    ) -> None:
        print(json.dumps([group, case, bool(ok)]), file=out)
        add(self, group, case, ok, why)

    score.add = add_and_write
    out = sys.stdout
    with redirect_stdout(sys.stderr):
        runpy.run_path(judge, run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
