"""The commands bring the logs of a crawl through Spark to what `report` makes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.command_forks import ROOT, scrapy
from tests.support.spark_fixtures import has_spark, spark_variables

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

pytestmark = [
    pytest.mark.service,
    pytest.mark.skipif(
        not has_spark() and not os.environ.get("CI"), reason="pyspark is not installed"
    ),
]
DATA = b"<> <urn:x:p> <#it>, <other> ."
SAME = b"<> <urn:x:p> <#it>, _:b . _:b <urn:x:p> 1 ."
SECTIONS = ["crawl", "coverage", "freshness", "usage", "health"]


def crawled(commands: Commands, loopback: Loopback) -> Path:
    """Return the folder of a crawl of two hosts that mirror each other."""
    servers = [loopback(host=f"127.0.74.{n}") for n in (1, 2)]
    for server in servers:
        server.pages |= {
            "/data": loopback.response(DATA),
            "/other": loopback.response(SAME),
        }
    result = commands.crawl([server.url("/data") for server in servers])
    assert result.code == 0, result.stderr
    return result.folder


def told(folder: Path) -> Any:
    """Return what a report in a folder says."""
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))


def test_command_and_submitted_job_make_the_report_of_one_machine(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If a machine has observed, then the command and `spark-submit` report the same.

    That is what `scrapy report` says of the logs.
    """
    of_one = crawled(commands, loopback)
    settings = f"-sCRAWL_DIR={of_one.parent}"
    path, root = tmp_path / "machine.parquet", tmp_path / "spark" / of_one.name
    made = scrapy("report", settings)
    assert made.returncode == 0, made.stderr
    made = scrapy("urldb", "observe", "--to", path, settings)
    assert (made.returncode, made.stderr) == (0, ""), made.stderr
    (tmp_path / "conf").mkdir()
    variables = {**os.environ, **spark_variables(tmp_path / "conf")}
    words = ("spark", path, "--to", root, "--master", "local[1]")
    made = scrapy("urldb", *words, env=variables)
    assert made.returncode == 0, made.stderr
    assert "are ranked" in made.stdout
    expected = told(of_one / "report")
    keys = [section["key"] for section in expected["sections"]]
    assert keys == [*SECTIONS, "mirrors", "same-content"]
    assert told(root / "report") == expected
    (root / "report" / "report.json").unlink()
    submit = Path(sys.executable).with_name("spark-submit")
    job = ROOT / "rdfcrawl" / "spark" / "__main__.py"
    variables |= {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    submitted = subprocess.run(
        [submit, "--master", "local[1]", job, path, "--to", root],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert submitted.returncode == 0, submitted.stderr[-2000:]
    assert "are ranked" in submitted.stdout
    assert told(root / "report") == expected
