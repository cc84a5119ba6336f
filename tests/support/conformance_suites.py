"""The public test suites, and their judges, which are not ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFORMANCE = Path(
    os.environ.get("RDFCRAWL_CONFORMANCE", ROOT.parent / "shared" / "conformance")
)
_JUDGE_CASES = Path(__file__).with_name("judge_cases.py")
_LONGEST_SECS = 240


@dataclass(frozen=True)
class Suites:
    """The suites, unpacked on demand.

    Attributes:
        folder: where they are unpacked.
    """

    folder: Path

    def checkout(self, name: str) -> Path:
        """Return the folder of a suite; skip the test without it, but not in CI."""
        archive = CONFORMANCE / f"{name}.tar.xz"
        if not archive.exists():
            if os.environ.get("CI"):
                pytest.fail(f"{archive} is missing")
            pytest.skip(f"{archive} is missing")
        folder = self.folder / name
        if not folder.exists():
            with tarfile.open(archive) as tar:
                tar.extractall(folder, filter="data")
        (checkout,) = folder.iterdir()
        return checkout

    def score(self, judge: str, *arguments: str | Path) -> tuple[int, int]:
        """Return how many cases of a suite pass, and how many there are.

        Args:
            judge: program in the folder of the suites.
            arguments: of the judge: the checkout, and the adapter.
        """
        cases = self.cases(judge, *arguments)
        return sum(ok for *_, ok in cases), len(cases)

    def cases(self, judge: str, *arguments: str | Path) -> list[tuple[str, str, bool]]:
        """Return group, name and outcome of each case of a suite; see `score`."""
        done = subprocess.run(
            [sys.executable, _JUDGE_CASES, str(CONFORMANCE / judge), *arguments],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=_LONGEST_SECS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return [tuple(json.loads(line)) for line in done.stdout.splitlines()]
