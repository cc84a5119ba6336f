"""Reads cases of the corpus, and prints those with another result than theirs.

    python -m tests.corpora [FILE.toml[:NAME] ...]

Without a file, all cases are read; by `rdfcrawl.extract`, in this process.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.corpora.cases import FOLDER, load
from tests.corpora.comparing import differences
from tests.corpora.readings import extract_all

if TYPE_CHECKING:
    from tests.corpora.cases import Case


def main(words: list[str]) -> int:
    """Print the cases that fail; return 1 if there are any."""
    cases: list[Case] = []
    for word in words or [str(FOLDER)]:
        path, _, name = word.partition(":")
        loaded = load(Path(path))
        cases += [case for case in loaded if case.name.endswith(f"/{name}") or not name]
    bases = {case.name: "http://127.79.0.1:9" for case in cases}
    readings = extract_all(cases, bases)
    n_failed = 0
    for case in cases:
        lines = differences(case, readings[case.name], bases[case.name])
        if lines:
            n_failed += not case.is_pending
            mark = " (pending)" if case.is_pending else ""
            print(f"{case.name}{mark}", *lines, sep="\n    ")
        elif case.is_pending:
            n_failed += 1
            print(f"{case.name} is pending, and right")
    print(f"{len(cases) - n_failed} of {len(cases)} as expected")
    return bool(n_failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
