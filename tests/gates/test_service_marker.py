"""Tests that need a service are skipped without it, but never in CI."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

_PLUGIN = "tests.support.redis_fixtures"
_TESTS = """
import pytest

def test_needs_redis(redis_server):
    pytest.skip("no server here")

def test_ordinary():
    pytest.skip("not on this platform")
"""


@pytest.mark.parametrize("is_ci", [False, True], ids=["at home", "in CI"])
def test_a_skip_of_a_test_with_a_service_fails_in_ci(
    tmp_path: Path, is_ci: bool
) -> None:
    """If CI is set, then a missing service is a failure, and other skips are not."""
    (tmp_path / "test_it.py").write_text(_TESTS)
    own = {"CI": "true"} if is_ci else {"CI": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-rsf", "-p", _PLUGIN]
    command += ["-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(tmp_path)]
    paths = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(
        [*command, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": paths, **own},
        capture_output=True,
        text=True,
        check=False,
    )
    failed = {
        line.split("::")[1].split("[")[0].split(" ")[0]
        for line in done.stdout.splitlines()
        if line.startswith("FAILED")
    }
    assert done.returncode == (1 if is_ci else 0), done.stdout + done.stderr
    assert failed == ({"test_needs_redis"} if is_ci else set())
    assert "skipped" in done.stdout
