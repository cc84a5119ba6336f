"""Workers that are forked from one process, and the fate of that process."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.crawl_kills import worker_pids
from tests.support.processes import children, descendants

if TYPE_CHECKING:
    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, RunningCrawl
    from tests.support.crawl_webs import Loopback

BODY = b"<> <urn:x:p> <#o> ."
N_DOCUMENTS = 30
QUICK: dict[str, Any] = {"FRONTIER_LEASE_SECS": 1, "FRONTIER_COMMIT_SECS": 0.3}


def slow_host(loopback: Loopback) -> RawServer:
    """Serve documents that take a tenth of a second each."""
    return loopback({"*": [0.1, loopback.response(BODY)]})


def start(commands: Commands, server: RawServer, **settings: Any) -> RunningCrawl:
    """Crawl a host with one worker."""
    folder = commands.folder()
    path = folder / "seeds.txt"
    path.write_text("\n".join(server.url(f"/{n}") for n in range(N_DOCUMENTS)))
    return commands.start(
        *("workers", "-n1", "linkeddata", f"-aseeds=@{path}"),
        folder=folder,
        **QUICK,
        **settings,
    )


def forked(commands: Commands, server: RawServer) -> tuple[RunningCrawl, int, int]:
    """Crawl until the host gets a request: crew, forking process, and its worker."""
    crew = start(commands, server)
    commands.wait_until(lambda: len(server.targets) > 3)
    (forking,) = children(crew.process.pid)
    (worker,) = children(forking)
    return crew, forking, worker


def test_a_worker_that_died_is_forked_from_the_same_process(
    commands: Commands, loopback: Loopback
) -> None:
    """If a worker is killed, then the process that forked it forks the next one."""
    server = slow_host(loopback)
    crew, forking, first = forked(commands, server)
    os.kill(first, signal.SIGKILL)
    commands.wait_until(lambda: set(children(forking)) - {first} or crew.has_ended())
    assert not crew.has_ended()
    assert children(crew.process.pid) == [forking]
    result = crew.wait()
    assert result.code == 0, result.stderr
    assert result.stderr.count("died (-9)") == 1
    assert len(result.graphs) == N_DOCUMENTS


@pytest.mark.in_turn(2, rooms=("launch",))
def test_the_crawl_outlives_the_process_that_forks(
    commands: Commands, loopback: Loopback
) -> None:
    """If the process that forks is killed, its worker goes on, and so does the crew."""
    server = slow_host(loopback)
    crew, forking, first = forked(commands, server)
    os.kill(forking, signal.SIGKILL)
    commands.wait_until(lambda: not worker_pids(crew))
    n_targets = len(server.targets)
    commands.wait_until(lambda: len(server.targets) > n_targets + 2)
    os.kill(first, signal.SIGKILL)
    result = crew.wait()
    assert result.code == 0, result.stderr
    assert len(result.graphs) == N_DOCUMENTS


def test_workers_of_a_crew_that_is_gone_go_on(
    commands: Commands, loopback: Loopback
) -> None:
    """If the crew is killed, its worker crawls on, and the one that forks ends last."""
    server = slow_host(loopback)
    crew = start(commands, server)
    commands.wait_until(lambda: len(server.targets) > 3)
    (forking,) = children(crew.process.pid)
    crew.send(signal.SIGKILL)
    crew.wait()
    commands.wait_until(lambda: not children(forking))
    asked = {target for target in server.targets if target != "/robots.txt"}
    assert len(asked) == N_DOCUMENTS


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_forked_workers(
    commands: Commands, loopback: Loopback, number: signal.Signals
) -> None:
    """If the crew gets a signal to end, its workers store their work, and all end.

    A terminal that is closed tells both.
    """
    server = slow_host(loopback)
    crew = start(commands, server)
    commands.wait_until(lambda: len(server.targets) > 3)
    if number is signal.SIGHUP:
        for pid in descendants(crew.process.pid):
            os.kill(pid, number)
    crew.send(number)
    result = crew.wait()
    assert result.code == 1
    assert "outcome       not finished" in result.stderr
    log = (result.folder / "logs" / "worker-0.log").read_text()
    assert "Spider closed (shutdown)" in log
    assert (result.folder / "logs" / "worker-0.out").read_text() == ""


@pytest.mark.parametrize("is_forked", [True, False])
def test_settings_are_on_no_other_command_line(
    commands: Commands, loopback: Loopback, *, is_forked: bool
) -> None:
    """If a setting has a password, then no process that is started shows it."""
    server = slow_host(loopback)
    url, word = "redis://:s3cret-of-redis@localhost:6379/0", b"s3cret-of-redis"
    crew = start(commands, server, WORKERS_FORK=is_forked, OLD_REDIS_URL=url)
    commands.wait_until(lambda: len(server.targets) > 3)
    own = Path(f"/proc/{crew.process.pid}/cmdline").read_bytes()
    started = descendants(crew.process.pid)
    lines = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in started]
    assert lines
    assert not [line for line in lines if word in line and line != own]
    crew.send(signal.SIGTERM)
    assert crew.wait().code == 1


def test_workers_may_be_new_processes(commands: Commands, loopback: Loopback) -> None:
    """If forks are switched off, then each worker is a child of the command itself."""
    server = slow_host(loopback)
    crew = start(commands, server, WORKERS_FORK=False)
    commands.wait_until(lambda: len(server.targets) > 3)
    (worker,) = children(crew.process.pid)
    os.kill(worker, signal.SIGTERM)
    assert crew.wait().code == 1


def test_a_wrong_switch_is_reported_in_one_line(
    commands: Commands, loopback: Loopback
) -> None:
    """If WORKERS_FORK is neither True nor False, then one line says so."""
    result = start(commands, slow_host(loopback), WORKERS_FORK="maybe").wait()
    assert result.code == 2
    assert "WORKERS_FORK='maybe': must be True or False" in result.stderr
    assert "Traceback" not in result.stderr


def test_the_exit_code_reports_documents_given_up(
    commands: Commands, loopback: Loopback
) -> None:
    """If a worker ends with FAILED_EXIT_CODE, then it is not started again."""
    server = loopback({"*": loopback.response(b"", status="503 Later")})
    folder = commands.folder()
    result = commands.start(
        *("workers", "-n2", "linkeddata", f"-aseeds={server.url('/')}"),
        folder=folder,
        FAILED_EXIT_CODE=4,
        **QUICK,
    ).wait()
    assert result.code == 4, result.stderr
    assert "restarting it" not in result.stderr
    assert "not finished" not in result.stderr


def test_a_worker_that_is_being_started_is_ended_too(
    commands: Commands, loopback: Loopback
) -> None:
    """If the crew gets SIGTERM before a new worker is there, then it ends as well."""
    server = slow_host(loopback)
    crew, forking, first = forked(commands, server)
    os.kill(first, signal.SIGKILL)
    commands.wait_until(lambda: "restarting it" in crew.stderr)
    os.kill(forking, signal.SIGSTOP)
    time.sleep(1)  # another one is requested meanwhile
    crew.send(signal.SIGTERM)
    os.kill(forking, signal.SIGCONT)
    assert crew.wait().code == 1
    asked = {target for target in server.targets if target != "/robots.txt"}
    assert len(asked) < N_DOCUMENTS
