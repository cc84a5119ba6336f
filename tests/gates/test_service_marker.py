"""Tests that need a service are skipped without it, but never in CI."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_PLUGIN = "tests.support.redis_fixtures"
_TESTS = """
import os

import pytest

@pytest.mark.parametrize("ci", ["", "true"], ids=["at home", "in CI"])
def test_needs_redis(redis_server, ci):
    os.environ["CI"] = ci
    pytest.skip("no server here")

def test_ordinary():
    pytest.skip("not on this platform")
"""


def test_a_skip_of_a_test_with_a_service_fails_in_ci(tmp_path: Path) -> None:
    """If CI is set, then a missing service is a failure, and other skips are not."""
    (tmp_path / "test_it.py").write_text(_TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-rsf", "-p", _PLUGIN]
    command += ["-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(tmp_path)]
    paths = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(
        [*command, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    failed = [line for line in lines if line.startswith("FAILED")]
    assert done.returncode == 1, done.stdout + done.stderr
    assert failed
    assert all("::test_needs_redis[" in x and "in CI" in x for x in failed), failed
    assert sum(line.startswith("SKIPPED") for line in lines) == 2, done.stdout
