"""Spark computes from the logs of several machines the same as one machine."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from scrapy.cmdline import execute

from rdfcrawl.analysis.ranking.table import FOLDER as RANKS
from rdfcrawl.analysis.ranking.table import TABLE_NAME, open_ranks
from rdfcrawl.analysis.report.making import report_crawl
from rdfcrawl.analysis.report.writing import iter_json
from rdfcrawl.analysis.urldb.columns import write_parquet
from rdfcrawl.analysis.urldb.database import UrlDatabase
from rdfcrawl.analysis.urldb.facts import FactReader
from rdfcrawl.analysis.urldb.files import FOLDER as URLS
from rdfcrawl.analysis.urldb.files import writing_alone
from rdfcrawl.analysis.urldb.mirrors import MirrorSearch, mirror_urls
from rdfcrawl.analysis.urldb.rank_building import rank
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.sorting import SpillFolder
from tests.analysis.urldb.test_facts import same_as
from tests.support.command_forks import ROOT, scrapy
from tests.support.spark_fixtures import SITES, told_events, write_machines
from tests.support.url_events import T0, UrlFetched

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback
    from tests.support.spark_fixtures import ManyMachines

pytestmark = [
    pytest.mark.service,
    pytest.mark.in_turn(3, rooms=("analysis",), together=True),  # three starts of Java
    pytest.mark.usefixtures("spark"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]

CONTENT = (("contentHash", "c" * 32), ("textHash", "d" * 32))


def run(files: list[Path], root: Path) -> Any:
    """Run the job."""
    from rdfcrawl.analysis.spark.job import run_job

    return run_job(files, root, "local[2]")


def segments(root: Path) -> dict[str, bytes]:
    """Return the files of the URL database."""
    return {x.name: x.read_bytes() for x in (root / URLS).glob("*.seg")}


def table(root: Path) -> tuple[dict[str, Any], bytes]:
    """Return the header of the score table, and its other content."""
    ranks = open_ranks(root)
    assert ranks is not None
    content = (root / RANKS / TABLE_NAME).read_bytes()
    n_body = ranks.n_urls * (8 + 3 * 9)
    return {**ranks.facts, "database": ""}, content[len(content) - n_body :]


def rows_of_one(root: Path) -> list[dict[str, Any]]:
    """Return the rows of all URIs as one machine writes them."""
    path = root / "urls.parquet"
    with UrlDatabase(root) as database, SpillFolder(root) as spills:
        ranks = open_ranks(root)
        facts = FactReader(database, ranks).uris()
        mirrors = mirror_urls(MirrorSearch(database, ranks, spills).find(), spills)
        write_parquet(database.records(), path, ranks, facts, mirrors)
    found: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return found


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows in the order of one machine."""
    return sorted(rows, key=lambda row: (row["domain"], row["host"], row["url"]))


@dataclass(frozen=True)
class RankedMachines:
    """The logs of three machines, and the results and output of the command."""

    machines: ManyMachines
    root: Path
    said: str


def ranked(folder: Path, seed: int) -> RankedMachines:
    """Run the command, in the session that is open, for what was told with a seed."""
    first, *others = (f"{site}/same" for site in SITES)
    fetched = [UrlFetched(each, T0, facts=CONTENT) for each in (first, *others)]
    same: list[Any] = [same_as(each, first) for each in others]
    machines = write_machines(folder, [*told_events(seed), *fetched, *same])
    root = folder / "result" / "crawl"
    words = ["urldb", "spark", *map(str, machines.files), "--to", str(root)]
    with (
        chdir(ROOT),
        redirect_stdout(StringIO()) as said,
        pytest.raises(SystemExit) as ended,
    ):
        execute(["scrapy", *words])
    assert ended.value.code == 0
    return RankedMachines(machines, root, said.getvalue())


@pytest.fixture(scope="module")
def first(spark: None, tmp_path_factory: pytest.TempPathFactory) -> RankedMachines:
    """Return the data that the tests share without changing it."""
    del spark
    return ranked(tmp_path_factory.mktemp("first"), 1)


def check_figures(found: RankedMachines) -> None:
    """Check all results against those of one machine."""
    machines, root = found.machines, found.root
    assert segments(root) == segments(machines.one)
    assert table(root) == table(machines.one)
    n_links = table(root)[0]["n_links"]
    assert n_links > 100
    with SpillFolder(machines.one) as spills:
        report = report_crawl(machines.one, spills=spills)
        of_one = without_age("".join(iter_json(report)))
    keys = [section["key"] for section in of_one["sections"]]
    assert keys[-3:] == ["mirrors", "same-content", "quotas"]
    once = of_one["sections"][-2]["items"][-1]
    assert (once["key"], len(once["rows"])) == ("stored-once", len(machines.roots))
    assert told(root / "report") == of_one
    rows = pq.read_table(root / "urls.parquet")
    assert f"{rows.num_rows} URIs with {n_links} links ranked" in found.said
    of_all = rows_of_one(machines.one)
    assert (
        {row["cluster"] for row in of_all} > {None} < {row["mirror"] for row in of_all}
    )
    assert in_order(rows.to_pylist()) == of_all
    assert rows.schema.equals(pq.read_schema(machines.one / "urls.parquet"))


def test_figures_are_those_of_one_machine(first: RankedMachines) -> None:
    """If logs are on three machines, then all is, byte for byte, as if on one.

    The command has made it, in the session that is open.
    """
    check_figures(first)


@pytest.mark.soak
@pytest.mark.parametrize("seed", [2, 3])
def test_figures_of_other_logs_are_so_too(tmp_path: Path, seed: int) -> None:
    """If the logs are others, then all is as if on one machine, too."""
    check_figures(ranked(tmp_path, seed))


def crawled(commands: Commands, loopback: Loopback) -> Path:
    """Return the folder of a crawl of two hosts that mirror each other."""
    servers = [loopback(host=f"127.0.74.{n}") for n in (1, 2)]
    for server in servers:
        server.pages |= {
            "/data": loopback.response(b"<> <urn:x:p> <#it>, <other> ."),
            "/other": loopback.response(b"<> <urn:x:p> <#it>, [ <urn:x:p> 1 ] ."),
        }
    result = commands.crawl([server.url("/data") for server in servers])
    assert result.code == 0, result.stderr
    return result.folder


def without_age(text: str) -> Any:
    """Return a report in JSON without the table that depends on the time."""
    found = json.loads(text)
    for section in found["sections"]:
        section["items"] = [x for x in section["items"] if x["key"] != "freshness"]
    return found


def told(folder: Path) -> Any:
    """Return the report in a folder."""
    return without_age((folder / "report.json").read_text(encoding="utf-8"))


def everything(root: Path) -> dict[str, bytes]:
    """Return all files of results but locks and drafts."""
    paths = (x for x in root.rglob("*") if x.is_file() and not x.name.startswith("."))
    return {str(x.relative_to(root)): x.read_bytes() for x in paths}


def test_damaged_file_changes_nothing(tmp_path: Path, first: RankedMachines) -> None:
    """If a file is damaged in the middle, one line says so, and nothing has changed.

    Nor has anything where another job writes.
    """
    from rdfcrawl.analysis.spark.session import SparkFault

    machines = write_machines(tmp_path, told_events(4, n_events=60))
    root = tmp_path / "result" / "crawl"
    shutil.copytree(first.root, root, symlinks=True)
    before = everything(root)
    content = bytearray(machines.files[2].read_bytes())
    for n in range(4, len(content) // 3):
        content[n] ^= 0xFF
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(content)
    with pytest.raises(SparkFault) as raised:
        run([*machines.files[:2], damaged], root)
    assert "\n" not in str(raised.value)
    assert "Exception" in str(raised.value)
    assert everything(root) == before
    with (
        writing_alone(root / URLS, ""),
        pytest.raises(ConfigError, match="is being written already"),
    ):
        run(machines.files, root)
    assert everything(root) == before


def kill_behind_database(commands: Commands, path: Path, root: Path) -> None:
    """Begin the command; kill the driver as soon as the URL database is complete."""
    words = ["--to", str(root), "--master", "local[1]"]
    running = commands.start("urldb", "spark", str(path), *words)
    named = root / ".draft" / URLS / "urldb.json"
    commands.wait_until(lambda: named.exists() or running.has_ended())
    running.send(signal.SIGKILL)
    running.process.wait()
    assert running.process.returncode == -signal.SIGKILL, running.stderr


def submit(path: Path, root: Path) -> None:
    """Run `spark-submit` for the file of a machine, with plans that adapt."""
    program = Path(sys.executable).with_name("spark-submit")
    words = ["--master", "local[1]", "--conf", "spark.sql.adaptive.enabled=true"]
    words += os.environ["PYSPARK_SUBMIT_ARGS"].split()[:2]
    job = ROOT / "rdfcrawl" / "analysis" / "spark" / "__main__.py"
    submitted = subprocess.run(
        [program, *words, job, path, "--to", root],
        env=os.environ | {"PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert submitted.returncode == 0, submitted.stderr[-2000:]
    assert " ranked, in " in submitted.stdout


def test_killed_and_submitted_jobs(
    commands: Commands, loopback: Loopback, tmp_path: Path, first: RankedMachines
) -> None:
    """If the driver is killed once a database is complete, then all is as it was.

    The command opens a session of its own there. The next job, by `spark-submit`,
    replaces the results, and makes the report that `scrapy report` makes of the logs.
    """
    of_one = crawled(commands, loopback)
    path, root = tmp_path / "machine.parquet", tmp_path / "spark" / of_one.name
    for words in (("report",), ("urldb", "observe", "--to", path)):
        made = scrapy(*words, f"-sCRAWL_DIR={of_one.parent}")
        assert made.returncode == 0, made.stderr
    shutil.copytree(first.root, root, symlinks=True)
    before = everything(root)
    kill_behind_database(commands, path, root)
    left = everything(root)
    assert {name: left[name] for name in left if ".draft" not in name} == before
    assert left.keys() > before.keys()
    submit(path, root)
    expected = told(of_one / "report")
    keys = [section["key"] for section in expected["sections"]]
    first_keys = ["crawl", "coverage", "lists", "freshness", "usage", "health"]
    assert keys == [*first_keys, "mirrors", "same-content"]
    assert told(root / "report") == expected
    rank(of_one)
    assert segments(root) == segments(of_one)
    assert table(root) == table(of_one)
    assert not list(root.rglob("*draft*"))


def test_one_machine_without_links_or_pages(tmp_path: Path) -> None:
    """If nothing links to anything, or no URI is known, then there are results."""
    only_rules = UrlFetched(
        "http://a.example/robots.txt", 1, facts=(("task", "robots()"),)
    )
    machines = write_machines(tmp_path, [only_rules])
    root = tmp_path / "result"
    assert run(machines.files, root)[:3] == (1, 0, 0)
    assert segments(root) == segments(machines.one)
    shutil.rmtree(root)
    assert run(machines.files[1:], root)[:3] == (0, 0, 0)
    assert pq.read_table(root / "urls.parquet").num_rows == 0
