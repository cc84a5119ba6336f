"""Tests that run in forks: no failure is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
_DYING: Final = """
import gc, os
from multiprocessing.connection import Connection

def test_that_ends_in_a_message():
    for each in gc.get_objects():
        if type(each) is Connection and not each.closed:
            os.write(each.fileno(), bytes(2) + b"ab")
    os._exit(0)

def test_after_it():
    pass
"""
_LEAVING: Final = """
import os, signal

def test_that_leaves_a_process():
    if not os.fork():
        signal.alarm(20)
        signal.pause()
"""


def test_a_fork_that_dies_while_it_sends_fails_its_test(tmp_path: Path) -> None:
    """If a fork ends within a message, or leaves a process, then the run still ends."""
    (tmp_path / "test_dying.py").write_text(_DYING)
    (tmp_path / "test_leaving.py").write_text(_LEAVING)
    plugin = ["-p", "tests.support.forked_tests", "--forks", "2"]
    command = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", *plugin]
    output = tmp_path / "output"
    with output.open("w") as file:  # a pipe would wait for the process that is left
        result = subprocess.run(
            [*command, tmp_path], cwd=ROOT, stdout=file, stderr=file, check=False
        )
    assert "1 failed, 2 passed" in output.read_text()
    assert result.returncode == 1
