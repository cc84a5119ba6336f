"""Tests that are run in turn: none is left out for good."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
_TOGETHER: Final = """
import pytest
pytestmark = pytest.mark.in_turn(2, together=True)

def test_one():
    pass

def test_other():
    pass
"""
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

@pytest.mark.in_turn(2, rooms=("",))
@pytest.mark.parametrize("n", range(2))
def test_of_a_room_with_changes(n):
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


def has_parent() -> bool:
    """Return whether the last commit can be compared with the one before."""
    command = ["git", "rev-parse", "--verify", "--quiet", "HEAD~1"]
    return not subprocess.run(
        command, cwd=ROOT, capture_output=True, check=False
    ).returncode


def test_each_case_has_its_turn(tmp_path: Path) -> None:
    """If tests run in turn, then a seed gives the same cases, and some seed each case.

    All others always run, and so do those with a change in their rooms; without the
    option, all cases.
    """
    (tmp_path / "test_it.py").write_text(_TESTS)
    (tmp_path / "test_both.py").write_text(_TOGETHER)
    seeds = [f"--in-turn={seed}" for seed in "aabcdef"]
    everything, first, *runs = collected(tmp_path, "", *seeds)
    assert len(everything) == 13
    assert runs[0] == first
    assert set.union(*runs) == everything
    always = {"test_ordinary"}
    if has_parent():
        always |= {x for x in everything if "with_changes" in x}
    assert set.intersection(*runs) == always
    both = {"test_one", "test_other"}
    assert {len(run & both) for run in runs} == {0, 2}
    assert all(2 <= sum("test_of_many" in x for x in run) <= 3 for run in runs)
