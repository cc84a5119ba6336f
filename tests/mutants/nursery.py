"""A process that has collected tests, and runs them in a fork for each mutant.

To start Python, import libraries and collect tests takes longer than most tests do.
"""

from __future__ import annotations

import gc
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest
from hypothesis import Phase, settings

from tests.mutants.copies import replace
from tests.mutants.patching import patch
from tests.support.processes import (
    adopt_orphans,
    children,
    descendants,
    end_with_parent,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


MOST_BYTES: Final = 6 * 2**30
"""Memory that each process may write to. Browsers reserve more addresses than this."""
_END_SECS: Final = 10.0  # of processes whose parent has ended
_REMEMBERED: Final = 8  # tests that noticed the last mutants
_SLOW_FIXTURES: Final = {"commands", "dump", "redis", "sandbox", "served"}
_OPTIONS: Final = (
    *("-x", "-q", "--tb=native", "-p", "no:cacheprovider"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
    *("-p", "no:hypothesispytest"),  # it reads all modules, for a second
)


class SourceChange(NamedTuple):
    """A module of which another text is tried.

    Attributes:
        path: in the checkout.
        text: the replacement.
        name: of the mutant; empty: the unchanged module.
    """

    path: str
    text: str
    name: str = ""


class MutantRun(NamedTuple):
    """How tests have ended.

    Attributes:
        is_failure: one has failed, or their process has ended.
        failed: the first that has failed, if any.
        secs: that they took.
        is_late: they were ended, as their time was over.
        has_skipped: one was skipped, so that the others prove little if they pass.
    """

    is_failure: bool
    failed: str
    secs: float
    is_late: bool = False
    has_skipped: bool = False


def run_fresh(tree: Path, tests: list[str], *, secs: float) -> MutantRun:
    """Run tests in a process that imports everything itself."""

    def child(result: int) -> None:
        plugin = _Reporter()
        code = pytest.main([*_OPTIONS, *tests], [plugin])
        os.write(result, plugin.said(int(code)))

    return _forked(child, tree, secs)


def nursery(
    tree: Path,
    tests: list[str],
    changes: Iterator[SourceChange],
    report: Callable[[SourceChange, MutantRun], float],
    *,
    secs: float,
) -> None:
    """Collect tests, and run them for each of many changes.

    Args:
        tree: a copy of the checkout.
        tests: files.
        changes: of modules.
        report: called with each change and the outcome of its tests; returns how many
            seconds those of the next one may take.
        secs: that those of the first one may take.
    """
    _enter(tree)
    # A failure is enough: no smaller one is looked for.
    settings.register_profile("mutants", phases=(Phase.explicit, Phase.generate))
    settings.load_profile("mutants")
    code = pytest.main([*_OPTIONS, *tests], [_Nursery(tree, changes, report, secs)])
    if code:
        raise RuntimeError(f"pytest cannot collect {tests}: {code!r}")


def _enter(tree: Path) -> None:
    os.chdir(tree)
    for name in [*sys.modules]:
        package, _, rest = name.partition(".")
        if package in ("rdfcrawl", "tests") and not rest.startswith("mutants"):
            del sys.modules[name]
    sys.path.insert(0, str(tree))
    os.environ["PYTHONPATH"] = str(tree)


class _Reporter:
    """A plugin that remembers the test that failed, and whether one was skipped."""

    failed = ""
    has_skipped = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.has_skipped |= report.skipped and not hasattr(report, "wasxfail")
        if report.failed and not self.failed:
            self.failed = report.nodeid.partition("[")[0]

    def said(self, code: int) -> bytes:
        """Return how the tests have ended, for the process that has started them."""
        return f"{code} {self.has_skipped:d} {self.failed}".encode()


class _Nursery(_Reporter):
    def __init__(
        self,
        tree: Path,
        changes: Iterator[SourceChange],
        report: Callable[[SourceChange, MutantRun], float],
        secs: float,
    ) -> None:
        self._tree = tree
        self._secs = secs
        self._changes = changes
        self._report = report
        self._noticed: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Failed("tests cannot be collected")
        secs = self._secs
        gc.collect()
        gc.freeze()  # a collection in a fork would copy all of the memory
        for change in self._changes:
            path = self._tree / change.path
            text = path.read_text(encoding="utf-8")
            replace(path, change.text)
            try:
                child = self._child(session, change, text)
                ended = _forked(child, self._tree, secs)
            finally:
                replace(path, text)
            if ended.failed in self._noticed:
                self._noticed.remove(ended.failed)
            if ended.failed:
                self._noticed = [ended.failed, *self._noticed[: _REMEMBERED - 1]]
            secs = self._report(change, ended)
        return True

    def _rank(self, item: pytest.Item) -> tuple[int, bool]:
        """Return where a test belongs: those that noticed the latest mutants first."""
        node, latest = item.nodeid.partition("[")[0], self._noticed
        place = latest.index(node) if node in latest else len(latest)
        return place, _is_slow(item)

    def _child(
        self, session: pytest.Session, change: SourceChange, old: str
    ) -> Callable[[int], None]:
        def run(result: int) -> None:
            try:
                name = change.path.removesuffix(".py").replace("/", ".")
                patch(name, old, change.text, str(self._tree / change.path))
            except Exception:
                os.write(result, self.said(2))
                return
            session.items.sort(key=self._rank)
            code = 0
            for n, item in enumerate(session.items):
                rest = session.items[n + 1 :]
                following = rest[0] if rest else None
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if self.failed:
                    code = 1
                    break
            os.write(result, self.said(code))

        return run


def _is_slow(item: pytest.Item) -> bool:
    """Return whether a test tries many values, or needs a server or a crawl."""
    names = set(getattr(item, "fixturenames", ()))
    tries_many = hasattr(getattr(item, "obj", None), "hypothesis")
    return tries_many or not names.isdisjoint(_SLOW_FIXTURES)


def _forked(child: Callable[[int], None], tree: Path, secs: float) -> MutantRun:
    """Call a function in a fork; end all that it has started."""
    began = time.monotonic()
    adopt_orphans()  # a served page outlives the tests that have started it
    others = {*descendants(os.getpid())}
    with _scratch() as scratch:
        out, result = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(out)
            _run(child, result, tree, scratch)
        os.close(result)
        code = _wait(pid, secs)
        _end_all(others)
        with os.fdopen(out, "rb") as answer:
            text = answer.read().decode() if code == 0 else ""
    number, skipped, failed = (*text.split(" ", 2), "", "", "")[:3]
    took = time.monotonic() - began
    return MutantRun(number != "0", failed, took, code is None, skipped == "1")


@contextmanager
def _scratch() -> Iterator[str]:
    """Return a temporary folder; remove it once no process writes to it any more.

    Crawls end soon after the process that started them, in sessions of their own.
    """
    folder = tempfile.mkdtemp(prefix="mutant-")
    yield folder
    deadline = time.monotonic() + _END_SECS
    while Path(folder).exists() and time.monotonic() < deadline:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.02)


def _run(child: Callable[[int], None], result: int, tree: Path, scratch: str) -> None:
    """Call a function in this process, and end it."""
    code = 3
    try:
        end_with_parent()
        os.setsid()
        if "PYTHONPATH" not in os.environ or os.environ["PYTHONPATH"] != str(tree):
            _enter(tree)
        null = os.open(os.devnull, os.O_WRONLY)
        if not os.environ.get("MUTANTS_LOUD"):
            os.dup2(null, 1)
            os.dup2(null, 2)
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
        os.environ["TMPDIR"] = scratch
        tempfile.tempdir = None
        child(result)
        code = 0
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(code)


def _end_all(others: set[int]) -> None:
    """End all descendants of this process but some."""
    while left := set(descendants(os.getpid())) - others:
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in left & {*children(os.getpid())}:
            os.waitpid(pid, 0)


def _wait(pid: int, secs: float) -> int | None:
    """Return the exit code of a process, None if it is late; end all it has started."""
    deadline = time.monotonic() + secs
    code = None
    while code is None and time.monotonic() < deadline:
        found, status = os.waitpid(pid, os.WNOHANG)
        code = os.waitstatus_to_exitcode(status) if found else None
        time.sleep(0.005)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    if code is None:
        os.waitpid(pid, 0)
    return code
