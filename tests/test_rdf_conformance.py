"""The public RDF test suites of the W3C, run by a judge that is not ours."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CONFORMANCE = Path(
    os.environ.get("RDFCRAWL_CONFORMANCE", ROOT.parent / "shared" / "conformance")
)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked suite; the tests are skipped without it, but not in CI."""
    archive = CONFORMANCE / "rdf-tests.tar.xz"
    if not archive.exists():
        if os.environ.get("CI"):
            pytest.fail(f"{archive} is missing")
        pytest.skip(f"{archive} is missing")
    folder = tmp_path_factory.mktemp("conformance")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder / "w3c+rdf-tests"


@pytest.mark.parametrize(
    ("suite", "least", "total"), [("rdf11", 990, 992), ("rdf12", 248, 250)]
)
def test_w3c_suite_reaches_its_floor(
    checkout: Path, suite: str, least: int, total: int
) -> None:
    """If the judge runs the suite through `parse`, then the floor is reached."""
    adapter = "conformance_adapters:n_quads"
    judge = [sys.executable, str(CONFORMANCE / "rdf_tests.py"), str(checkout)]
    done = subprocess.run(
        [*judge, "--suite", suite, "--adapter", adapter],
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    score = re.fullmatch(r"(\d+)/(\d+)", done.stdout.strip().rpartition("\n")[2])
    assert score, done.stderr
    assert int(score[2]) == total
    assert int(score[1]) >= least
