"""Take out one defence after another, and see a test fail: `make mutants`.

Those of the threats are patches written by hand (`threats`). All others follow from the
code of modules that defend something (`modules`): each member of a table, alternative
of a pattern, limit, check and call is taken out by itself (`derived`). Works in copies
of the checkout.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from tests.mutants.copies import copied, replace
from tests.mutants.modules import TESTS
from tests.mutants.nursery import MOST_BYTES
from tests.mutants.threats import MUTANTS
from tests.mutants.trying import changed_mutants, mutants_of, try_mutants

if TYPE_CHECKING:
    from tests.mutants.mutant import Mutant

FAILED: Final = 1  # exit code of pytest; others are its own errors
MOST_SECS: Final = 120.0  # with a defence taken out: some tests never end then
NO_END: Final = "no end after"
ALL_SECS: Final = 1800.0  # of all tests with the unchanged code
_counts = re.compile(r"\b(\d+) (failed|passed|error|errors|skipped)\b").findall


def main() -> int:
    """Run it; return the exit code."""
    parser = argparse.ArgumentParser("python -m tests.mutants", description=__doc__)
    parser.add_argument("threats", nargs="*", type=int, help="by number; none: all")
    parser.add_argument("--derived", metavar="PATH", help="those of modules alone")
    parser.add_argument(
        "--changed",
        metavar="REVISION",
        nargs="?",
        const="",
        help="those of lines that differ from a revision; none: the last landing",
    )
    parser.add_argument("--secs", type=float, default=float("inf"), help="then end")
    given = parser.parse_args()
    if given.changed is not None:
        mutants = changed_mutants(given.changed)
        return try_mutants(mutants, secs=given.secs) if mutants else 0
    paths = [path for path in TESTS if (given.derived or "") in path]
    if given.derived is not None:
        return try_mutants(mutants_of(paths), secs=given.secs)
    code = try_threats(set(given.threats))
    if not given.threats:
        code = try_mutants(mutants_of(paths)) or code
    return code


def try_threats(wanted: set[int]) -> int:
    """Take out the defences of threats, or of all; return the exit code."""
    mutants = [each for each in MUTANTS if not wanted or each.threat in wanted]
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = copied(Path(folder) / "rdfcrawl")
        tests = sorted({each.tests for each in mutants})
        done = run(tree, *tests, secs=ALL_SECS)
        if done.code:
            print(done.said[-5000:], "The tests do not pass as it is.", sep="\n")
            return 2
        print(f"as it is: {done.counts['passed']} passed\n\nthreat  secs  defence")
        alive = [each for each in mutants if not is_noticed(tree, each)]
    n_threats = len({each.threat for each in mutants})
    n_alive = len({each.threat for each in alive})
    print(f"\n{n_threats - n_alive} of {n_threats} threats are noticed", end=", ")
    print(f"by {len(mutants) - len(alive)} of {len(mutants)} patches")
    return 1 if alive else 0


def is_noticed(tree: Path, mutant: Mutant) -> bool:
    """Take out a defence, run its tests, and put the defence back."""
    path = tree / mutant.path
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise SystemExit(f"{mutant.path}: not there once: {mutant.old!r}")
    began = time.monotonic()
    replace(path, text.replace(mutant.old, mutant.new))
    try:
        done = run(tree, mutant.tests)
    finally:
        replace(path, text)
    secs = time.monotonic() - began
    told = "NOT NOTICED"
    if done.is_failure:
        told = "failed" if done.code > 0 else f"ended by signal {-done.code}"
        if done.said.startswith(NO_END):
            told = done.said
    print(f"{mutant.threat:6} {secs:5.0f}  {mutant.path}: {told}: {mutant.tests}")
    if not done.is_failure:
        print(done.said[-3000:])
    sys.stdout.flush()
    return done.is_failure


class Outcome(NamedTuple):
    """Outcome of tests."""

    code: int
    said: str
    counts: dict[str, int]  # by `failed`, `passed` ...

    @property
    def is_failure(self) -> bool:
        """Whether a test has failed, or took all memory or time that it was given."""
        has_failed = self.code == FAILED and self.counts.get("failed", 0) > 0
        return has_failed or self.code < 0


def run(tree: Path, *tests: str, secs: float = MOST_SECS) -> Outcome:
    """Run tests in a tree."""
    options = ("-q", "-p", "no:cacheprovider", "-m", "not soak")
    # A defence that limits memory or time may be off now.
    bounds = "prlimit", f"--data={MOST_BYTES}"
    words = [*bounds, sys.executable, "-m", "pytest", *options, *tests]
    with subprocess.Popen(
        words,
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate(timeout=secs)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return Outcome(process.wait(), f"{NO_END} {secs:.0f} s", {})
    last = said.strip().rpartition("\n")[2]
    return Outcome(
        process.returncode, said, {name: int(n) for n, name in _counts(last)}
    )


if __name__ == "__main__":
    sys.exit(main())
