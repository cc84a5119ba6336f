"""Runs files of tests in several processes that are forked once tests are collected.

`pytest --forks 8`. To import and collect all tests takes as much CPU as a room of them:
processes that each do that themselves, as those of pytest-xdist, are late to begin.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import traceback
import uuid
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from multiprocessing import Pipe
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.command_forks import RUN_ID
from tests.support.processes import end_with_parent

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from pathlib import Path


def pytest_configure() -> None:
    """Name this run of the tests for all of its processes."""
    os.environ.setdefault(RUN_ID, uuid.uuid4().hex)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    text = "run files of tests in so many processes, forked after collection"
    parser.addoption("--forks", type=int, default=0, metavar="N", help=text)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in forks, if the option says so."""
    n_forks: int = session.config.getoption("forks")
    if not n_forks or session.testsfailed or session.config.option.collectonly:
        return None
    _Forks(session).run(n_forks)
    return True


_ENDED = "ended"


@dataclass(slots=True)
class _Fork:
    """A process that runs tests.

    Attributes:
        pid: of the process.
        tests: it has been sent, by their places among all, and has not ended.
        is_done: it was sent that there are no more.
    """

    pid: int
    tests: deque[int]
    is_done: bool = False


class _Forks:
    """The process that has collected, gives out files and takes reports."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        of_files: dict[Path, deque[int]] = {}
        for place, item in enumerate(session.items):
            of_files.setdefault(item.path, deque()).append(place)
        self._files = deque(of_files.values())
        self._running: dict[Connection, _Fork] = {}
        self._n_begun = 0

    def run(self, n_forks: int) -> None:
        """Run all tests."""
        session = self._session
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        try:
            for _ in range(min(n_forks, len(self._files))):
                self._fork()
            while self._running:
                for connection in wait(list(self._running)):
                    self._receive(connection)  # type: ignore[arg-type]
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)
                if session.shouldstop:
                    raise session.Interrupted(session.shouldstop)
        finally:
            for fork in self._running.values():
                os.kill(fork.pid, signal.SIGTERM)
                os.waitpid(fork.pid, 0)

    def _fork(self) -> None:
        ours, theirs = Pipe()
        number, self._n_begun = self._n_begun, self._n_begun + 1
        if pid := os.fork():
            theirs.close()
            self._running[ours] = _Fork(pid, deque())
            return
        ours.close()
        for connection in self._running:
            connection.close()
        _run(self._session, theirs, number)

    def _receive(self, connection: Connection) -> None:
        """Take a report, or the request for a file."""
        fork, hook = self._running[connection], self._session.config.hook
        message = _received(connection)
        if message == _ENDED:
            self._end(connection)
        elif message is None:
            fork.tests = self._files.popleft() if self._files else deque()
            fork.is_done = not fork.tests
            with suppress(ConnectionError):  # it has died, which is read next
                connection.send([*fork.tests])
        elif isinstance(message, int):
            fork.tests.popleft()
            item = self._session.items[message]
            hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        else:
            config = self._session.config
            report = hook.pytest_report_from_serializable(config=config, data=message)
            hook.pytest_runtest_logreport(report=report)

    def _end(self, connection: Connection) -> None:
        """Report the test at which a process has died; have another run the rest."""
        fork = self._running.pop(connection)
        connection.close()
        status = os.waitstatus_to_exitcode(os.waitpid(fork.pid, 0)[1])
        if not status and (fork.is_done or not (fork.tests or self._files)):
            return
        place = fork.tests.popleft() if fork.tests else len(self._session.items) - 1
        item = self._session.items[place]
        report = pytest.TestReport(
            nodeid=item.nodeid,
            location=item.location,
            keywords={},
            outcome="failed",
            longrepr=f"the process of this test has ended with {status}",
            when="call",
        )
        item.ihook.pytest_runtest_logreport(report=report)
        if fork.tests:
            self._files.appendleft(fork.tests)
            self._fork()


def _received(connection: Connection) -> Any:
    try:
        return connection.recv()
    except (EOFError, OSError):  # perhaps in the middle of a message
        return _ENDED


def _run(session: pytest.Session, connection: Connection, number: int) -> None:
    """Run files of tests as long as there are any, and end this process."""
    code = 1
    atexit._clear()  # of the process that has collected
    os.register_at_fork(after_in_child=connection.close)  # its end must be seen
    try:
        end_with_parent()
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        _settle(session.config, connection, number)
        while places := _next_file(connection):
            items = [session.items[place] for place in places]
            # What the session has is kept for the next file.
            followers = zip_longest(items, items[1:], fillvalue=session)
            for place, (item, following) in zip(places, followers, strict=True):
                item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
                connection.send(place)
        session._setupstate.teardown_exact(None)
        code = 0
    except KeyboardInterrupt:
        code = 2
    except BaseException:  # its parent cannot see it
        traceback.print_exc()
    finally:
        with suppress(BaseException):  # after an interrupt
            session._setupstate.teardown_exact(None)
        with suppress(BaseException):
            atexit._run_exitfuncs()
            sys.stderr.flush()
        os._exit(code)


def _next_file(connection: Connection) -> list[int]:
    connection.send(None)
    places: list[int] = connection.recv()
    return places


def _settle(config: Any, connection: Connection, number: int) -> None:
    """Have a folder and captured output of its own, and send reports."""
    factory = config._tmp_path_factory
    factory._basetemp = factory.getbasetemp() / f"fork-{number}"
    factory._basetemp.mkdir(mode=0o700)
    plugins = config.pluginmanager
    if (capture := plugins.getplugin("capturemanager")).is_globally_capturing():
        capture.stop_global_capturing()
        capture.start_global_capturing()
    plugins.unregister(name="terminalreporter")
    plugins.register(_Reports(config, connection))


class _Reports:
    """Sends reports: only those of tests, and of fixtures that failed or skipped."""

    def __init__(self, config: pytest.Config, connection: Connection) -> None:
        self._config, self._connection = config, connection

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.passed:
            report.keywords = {}
        if report.when == "call" or not report.passed:
            hook = self._config.hook
            data = hook.pytest_report_to_serializable(
                config=self._config, report=report
            )
            self._connection.send(data)
