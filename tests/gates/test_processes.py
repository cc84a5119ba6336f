"""Processes that tests start end with the tests, however these end."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.command_forks import ROOT
from tests.support.crawl_fixtures import Commands
from tests.support.processes import is_running


def test_commands_end_with_a_run_that_is_killed() -> None:
    """If a run of the tests is killed, then the commands that it started end, too."""
    script = (
        "import sys\n"
        "from tempfile import TemporaryFile\n"
        "from tests.support.command_forks import shared_forks\n"
        "words = ['-c', 'import time; time.sleep(600)']\n"
        "with TemporaryFile() as out:\n"
        "    print(shared_forks().start(words, out, out).pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as run:
        assert run.stdout is not None
        command = int(run.stdout.readline())
        assert is_running(command)
        run.kill()
    Commands.wait_until(lambda: not is_running(command))


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
