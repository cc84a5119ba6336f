"""Tests that are run in turn: none is left out for good."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
_TESTS: Final = """
import pytest

@pytest.mark.in_turn(3)
@pytest.mark.parametrize("n", range(7))
def test_of_many(n):
    pass

@pytest.mark.in_turn(2)
def test_alone():
    pass

def test_ordinary():
    pass
"""
_RUNS: Final = """
import sys, pytest
for run in sys.argv[2:]:
    print(">>>", run)
    options = ["-q", "--collect-only", "-c/dev/null", "-ptests.support.tests_in_turn"]
    pytest.main([*options, *run.split(), sys.argv[1]])
"""


def collected(folder: Path, *runs: str) -> list[set[str]]:
    """Return the tests of runs with some options."""
    command = [sys.executable, "-c", _RUNS, str(folder), *runs]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [set(re.findall(r"::(\S+)", run)) for run in done.stdout.split(">>>")[1:]]


def test_each_case_has_its_turn(tmp_path: Path) -> None:
    """If tests run in turn, then a seed gives the same cases, and some seed each case.

    All others always run, and without the option, so do all cases.
    """
    (tmp_path / "test_it.py").write_text(_TESTS)
    seeds = [f"--in-turn={seed}" for seed in "aabcdef"]
    everything, first, *runs = collected(tmp_path, "", *seeds)
    assert len(everything) == 9
    assert runs[0] == first
    assert set.union(*runs) == everything
    assert set.intersection(*runs) == {"test_ordinary"}
    assert all(2 <= sum("test_of_many" in x for x in run) <= 3 for run in runs)
