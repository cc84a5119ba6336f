"""The public RDFa test suite, run by a judge that is not ours."""

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
HOSTS = "html4,html5,html5-invalid,svg,xhtml1,xhtml5,xhtml5-invalid,xml"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked suite; the tests are skipped without it, but not in CI."""
    archive = CONFORMANCE / "rdfa.tar.xz"
    if not archive.exists():
        if os.environ.get("CI"):
            pytest.fail(f"{archive} is missing")
        pytest.skip(f"{archive} is missing")
    folder = tmp_path_factory.mktemp("conformance")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder / "rdfa+rdfa.github.io"


@pytest.mark.parametrize(
    ("hosts", "adapter", "least", "total"),
    [
        (HOSTS, "rdfa", 905, 905),
        ("html5", "rdfa", 170, 170),
        ("html4,html5,xhtml1,xhtml5", "rdfa_as_html", 697, 697),
    ],
    ids=["all", "html5", "served-as-html"],
)
def test_rdfa_suite_reaches_its_floor(
    checkout: Path, hosts: str, adapter: str, least: int, total: int
) -> None:
    """If the judge runs the suite through `extract_rdfa`, then the floor is reached."""
    judge = [sys.executable, str(CONFORMANCE / "rdfa_suite.py"), str(checkout)]
    options = ["--versions", "rdfa1.1", "--hosts", hosts]
    done = subprocess.run(
        [*judge, *options, "--adapter", f"conformance_adapters:{adapter}"],
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
