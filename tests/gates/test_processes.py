"""Processes that tests start end with the tests, however these end."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.command_forks import ROOT
from tests.support.crawl_fixtures import Commands
from tests.support.processes import is_running


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends them")
def test_helpers_end_with_a_run_that_is_killed() -> None:
    """If a run of the tests is killed, then the servers that it started end, too."""
    script = (
        "import subprocess, sys\n"
        "from tests.support.processes import end_with_parent\n"
        "helper = subprocess.Popen(['sleep', '600'], preexec_fn=end_with_parent)\n"
        "print(helper.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as run:
        assert run.stdout is not None
        helper = int(run.stdout.readline())
        assert is_running(helper)
        run.kill()
    Commands.wait_until(lambda: not is_running(helper))
