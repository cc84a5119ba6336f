"""Try derived mutants: each in a copy of the checkout, with the tests of its module."""

from __future__ import annotations

import multiprocessing
import os
import re
import subprocess
import tempfile
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.mutants.copies import ROOT, copied, replace
from tests.mutants.derived import DerivedMutant, derived_mutants
from tests.mutants.equivalent import EQUIVALENT
from tests.mutants.modules import TESTS
from tests.mutants.nursery import MutantRun, SourceChange, nursery, run_fresh
from tests.support.processes import end_with_parent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from multiprocessing.queues import SimpleQueue

_LEAST_SECS: Final = 20.0  # of the tests of one mutant
_FACTOR: Final = 2.5  # of their time with the unchanged code
_FRESH_SECS: Final = 120.0  # of tests that are started once more, by themselves
_AT_ONCE: Final = 2
_TRIES: Final = 2  # of the unchanged code, as other processes may disturb the first
_ADVICE: Final = (
    "\nNo test fails without these parts. Write one that does, or enter the name in"
    " tests/mutants/equivalent.py with its reason. To try it again: python -m"
    " tests.mutants --derived PATH"
)
_hunks = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE).findall


def try_mutants(mutants: list[DerivedMutant], *, secs: float = float("inf")) -> int:
    """Try mutants, two at a time; return the exit code.

    It is 1 if no test notices one, else 2 if tests fail with the unchanged code.

    Args:
        mutants: those listed as equivalent are left out.
        secs: after which no further one is begun.

    Raises:
        SystemExit: tests cannot be collected.
    """
    wanted = [each for each in mutants if each.name not in EQUIVALENT]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        trial = _Trial(Path(folder), began + secs)
        trial.run(wanted)
    if trial.is_broken:
        print("\nThe tests of some modules do not pass as they are: not tried.")
    n_alive, n_tried = len(trial.alive), trial.n_tried
    print(
        f"\n{n_tried - n_alive} of {n_tried} derived mutants are noticed;"
        f" {len(mutants) - len(wanted)} are equivalent,"
        f" {len(wanted) - n_tried} were not tried; {time.monotonic() - began:.0f} s"
    )
    for each in trial.alive:
        print(f"NOT NOTICED  {each.path}:{each.line}  {each.name}")
    if trial.alive:
        print(_ADVICE)
        return 1
    return 2 if trial.is_broken else 0


class _Trial:
    def __init__(self, folder: Path, ends_at: float) -> None:
        self._trees = [copied(folder / str(n)) for n in range(_AT_ONCE)]
        self._ends_at = ends_at
        self._context = multiprocessing.get_context("fork")
        self._told: SimpleQueue[tuple[SourceChange, MutantRun] | None] = (
            self._context.SimpleQueue()
        )
        self.alive: list[DerivedMutant] = []
        self.n_tried = 0
        self.is_broken = False

    def run(self, wanted: list[DerivedMutant]) -> None:
        groups: dict[tuple[str, ...], list[DerivedMutant]] = defaultdict(list)
        for each in wanted:
            groups[TESTS[each.path]].append(each)
        for tests, mutants in groups.items():
            if self._left_secs() > 0:
                self._run_group([*tests], mutants)

    def _run_group(self, tests: list[str], mutants: list[DerivedMutant]) -> None:
        """Try the mutants that have the same tests."""
        by_name = {each.name: each for each in mutants}
        parts = [mutants[n::_AT_ONCE] for n in range(_AT_ONCE)]
        processes = [
            self._context.Process(target=self._serve, args=(tree, tests, part))
            for tree, part in zip(self._trees, parts, strict=True)
        ]
        for process in processes:
            process.start()
        n_open = len(processes)
        doubted: list[DerivedMutant] = []
        while n_open:
            told = self._told.get()
            if told is None:
                n_open -= 1
            elif not told[0].name:
                self._judge_first(told[1], tests)
            else:
                self._take(by_name[told[0].name], told[1], doubted)
        for process in processes:
            process.join()
            if process.exitcode:
                raise SystemExit(f"cannot try the mutants of {tests}")
        for mutant in dict.fromkeys(doubted):
            self._try_fresh(mutant)

    def _judge_first(self, ended: MutantRun, tests: list[str]) -> None:
        """Check that tests pass with the unchanged code."""
        if ended.is_failure and self._left_secs() > 0:
            print(f"fails as it is: {ended.failed or tests}", flush=True)
            self.is_broken = True

    def _take(
        self, mutant: DerivedMutant, ended: MutantRun, doubted: list[DerivedMutant]
    ) -> None:
        if ended.is_failure and not ended.is_late:
            self._report(mutant, ended)
        else:  # other processes may have slowed it down
            print(f"{ended.secs:5.1f}  to be tried again  {mutant.name}", flush=True)
            doubted.append(mutant)

    def _report(self, mutant: DerivedMutant, ended: MutantRun) -> None:
        self.n_tried += 1
        word = "noticed" if ended.is_failure else "NOT NOTICED"
        if ended.has_skipped and not ended.is_failure:
            word = "not judged, as tests were skipped"
            self.n_tried -= 1
        by = "no end" if ended.is_late else ended.failed.rpartition("::")[2]
        print(f"{ended.secs:5.1f}  {word}  {mutant.name}  ({by})", flush=True)
        if word == "NOT NOTICED":
            self.alive.append(mutant)

    def _left_secs(self) -> float:
        return self._ends_at - time.monotonic()

    def _serve(
        self, tree: Path, tests: list[str], mutants: list[DerivedMutant]
    ) -> None:
        """Try mutants by a process that has collected their tests."""
        end_with_parent()
        allowed = most = min(2 * _FRESH_SECS, self._left_secs())
        passes, n_left = False, _TRIES

        def changes() -> Iterator[SourceChange]:
            first = mutants[0].path
            while n_left and not passes:
                yield SourceChange(first, (tree / first).read_text(encoding="utf-8"))
            for mutant in mutants:
                if passes and self._left_secs() > 0:
                    yield SourceChange(mutant.path, mutant.text, mutant.name)

        def report(change: SourceChange, ended: MutantRun) -> float:
            nonlocal allowed, passes, n_left
            if not change.name:
                passes, n_left = not ended.is_failure, n_left - 1
                allowed = max(_LEAST_SECS, _FACTOR * ended.secs) if passes else most
            if change.name or passes or not n_left:
                self._told.put((change, ended))
            return min(allowed, max(self._left_secs(), 0.0))

        if not mutants:
            self._told.put(None)
            return
        if not os.environ.get("MUTANTS_LOUD"):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            nursery(tree, tests, changes(), report, secs=allowed)
        finally:
            self._told.put(None)

    def _try_fresh(self, mutant: DerivedMutant) -> None:
        """Try a mutant by processes that import everything themselves, to be sure."""
        if self._left_secs() <= 0:
            return
        tree = self._trees[0]
        path = tree / mutant.path
        text = path.read_text(encoding="utf-8")
        replace(path, mutant.text)
        secs = min(_FRESH_SECS, self._left_secs())
        try:
            ended = run_fresh(tree, [*TESTS[mutant.path]], secs=secs)
        finally:
            replace(path, text)
        if not ended.is_late or secs == _FRESH_SECS:
            self._report(mutant, ended)


def mutants_of(paths: Iterable[str]) -> list[DerivedMutant]:
    """Return the mutants of modules."""
    return [mutant for path in paths for mutant in derived_mutants(ROOT, path)]


def changed_mutants(revision: str) -> list[DerivedMutant]:
    """Return the mutants of lines that differ from a revision.

    Args:
        revision: of Git; empty: where this branch has left `origin/main`, or else some
            commits ago. Nothing differs if there is none, as in a shallow clone.

    Raises:
        SystemExit: there is no such revision.
    """
    base = revision or _last_landing()
    if not base:
        print("No earlier revision is known here: there are no changed lines to try.")
        return []
    if not _commit(base):
        raise SystemExit(f"{base} is no revision of this repository.")
    changed = _changed_lines(base)
    found = []
    for path in TESTS:
        lines = changed.get(path, set())
        found += [each for each in derived_mutants(ROOT, path) if each.line in lines]
    print(f"{len(found)} derived mutants of lines that differ from {base}")
    return found


def _changed_lines(base: str) -> dict[str, set[int]]:
    """Return the numbers of lines that differ from a revision, by the path of today."""
    found: dict[str, set[int]] = {}
    diff = _git("diff", "--find-renames", "-l0", "--unified=0", base, "--", "rdfcrawl")
    for part in diff.split("\n+++ b/")[1:]:
        path, _, hunks = part.partition("\n")
        found[path] = {
            line
            for first, n in _hunks(hunks)
            for line in range(int(first), int(first) + int(n or 1))
        }
    return found


def _last_landing() -> str:
    """Return the revision before the latest changes; empty if there is none."""
    head = _git("rev-parse", "HEAD")
    base = _git("merge-base", "HEAD", "origin/main")
    if base and base != head:
        return base
    return next(filter(None, (_commit(f"HEAD~{n}") for n in (20, 5, 1))), "")


def _commit(revision: str) -> str:
    """Return the name of a commit; empty if there is none."""
    return _git("rev-parse", "--quiet", "--verify", revision + "^{commit}")


def _git(*words: str) -> str:
    """Return the output of Git; empty if it fails, or is not there."""
    with suppress(OSError):
        done = subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
        return "" if done.returncode else done.stdout.strip()
    return ""
