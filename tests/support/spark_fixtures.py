"""A session of Spark for tests, and the logs of a crawl on three machines."""

from __future__ import annotations

import json
import os
import random
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from rdfcrawl.analysis.report.log_tables import EPOCHS
from rdfcrawl.analysis.urldb.building import build
from rdfcrawl.analysis.urldb.database import UrlDatabase
from rdfcrawl.analysis.urldb.rank_building import rank
from rdfcrawl.core.errors import Reason
from rdfcrawl.core.namespaces import RC
from rdfcrawl.stores.followers.status import FollowerStatus, write_status
from rdfcrawl.uri import NormalForm
from tests.support.command_forks import ROOT
from tests.support.url_events import (
    LinksFound,
    ListedUrl,
    SitemapRead,
    UrlEvent,
    UrlFetched,
    write_events,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

N_MACHINES = 3
NORMAL = NormalForm()
SITES = (
    *("http://a.example", "http://www.a.example", "https://b.example"),
    *("http://c.example:8080", "http://d.example.org", "http://bücher.example"),
)
_T0 = 1_790_000_000_000
# Java reads the classes of Spark from an archive, if `tests.support.spark_classes` has
# written it: half of the CPU of a start. Its class path must be the same, and have no
# folder with files, so that the one of the configuration is empty.
HOME = Path(sys.prefix) / "spark"
ARCHIVE = HOME / "classes.jsa"
# The cheapest settings for little work; a step still has two tasks. A test checks that
# plans which Spark adapts meanwhile give the same.
_DEFAULTS = """
spark.default.parallelism 1
spark.driver.bindAddress 127.0.0.1
spark.driver.host 127.0.0.1
spark.driver.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC {java}
spark.python.daemon.module tests.support.spark_daemon
spark.sql.adaptive.enabled false
spark.sql.codegen.factoryMode NO_CODEGEN
spark.sql.codegen.wholeStage false
spark.sql.shuffle.partitions 2
"""


def has_spark() -> bool:
    """Return whether Spark is installed; a makefile's goal is for that."""
    return bool(list(metadata.distributions(name="pyspark")))


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Pass over the modules that need Spark if it is not there, but not in CI."""
    is_part = collection_path.match("rdfcrawl/analysis/spark/*.py")
    return True if is_part and not has_spark() and not os.environ.get("CI") else None


def spark_variables(folder: Path, java: str = "") -> dict[str, str]:
    """Return variables by which Spark starts quickly, and uses loopback and a folder.

    Args:
        folder: of its configuration, which is written, and of scratch files.
        java: options of its virtual machine; those to read the archive, if empty.
    """
    if not java and ARCHIVE.exists():
        java = f"-XX:SharedArchiveFile={ARCHIVE}"
    configuration = folder / "spark.conf"
    configuration.write_text(_DEFAULTS.format(java=java), encoding="ascii")
    (empty := HOME / "conf").mkdir(parents=True, exist_ok=True)
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        "PYTHONPATH": os.pathsep.join(paths),
        "PYSPARK_SUBMIT_ARGS": f"--properties-file {configuration} pyspark-shell",
        "SPARK_CONF_DIR": str(empty),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
    }


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have a session of Spark on two cores, that jobs take."""
    if not has_spark():
        pytest.skip("pyspark is not installed: make .venv/installed-spark")
    folder = tmp_path_factory.mktemp("spark")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in spark_variables(folder).items():
            patch.setenv(name, value)
        from rdfcrawl.analysis.spark.session import spark_session

        with spark_session("local[2]"):
            yield


class ManyMachines(NamedTuple):
    """The logs of a crawl on several machines, and on one that has all of them.

    Attributes:
        roots: of the machines.
        files: written by each for Spark.
        one: root of the one, with database and ranks.
    """

    roots: list[Path]
    files: list[Path]
    one: Path


def write_machines(folder: Path, events: Sequence[UrlEvent]) -> ManyMachines:
    """Write events to the logs of machines in turn, and to those of one."""
    from rdfcrawl.analysis.spark.machine_file import write_machine_file

    one = folder / "one" / "crawl"
    roots = [folder / f"machine-{n}" / "crawl" for n in range(N_MACHINES)]
    files = [folder / f"machine-{n}.parquet" for n in range(N_MACHINES)]
    for n, (root, path) in enumerate(zip(roots, files, strict=True)):
        for each in (root, one):
            write_events(each, events[n::N_MACHINES], f"w{n}")
            write_epochs(each, n)
            once = {"documents": n + 1, "statements": 7 * n, "bytes": 99}
            name = f"oxigraph:store-{n}"
            status = FollowerStatus(name=name, state="ended", checkpoint={}, once=once)
            write_status(each, status)
        build(root, NORMAL)
        with UrlDatabase(root) as database:
            write_machine_file(root, database, path)
    build(one, NORMAL)
    rank(one)
    return ManyMachines(roots, files, one)


def write_epochs(root: Path, number: int) -> None:
    """Write the log of a worker about domains with a quota: one epoch as all do."""
    shared, own = ("a.example", 1, 6, 4), ("b.example", number, number, 2)
    lines = [
        {"domain": domain, "epoch": epoch, "began_ms": epoch, "ended_ms": _T0 + epoch}
        | {"sitemaps": sitemaps, "links": links, "further": 1, "share": 0.5}
        | {"utility_sitemaps": 0.25, "utility_links": 0.75}
        for domain, epoch, sitemaps, links in (shared, own)
    ]
    path = root / EPOCHS / f"w{number}.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{json.dumps(each)}\n" for each in lines))


def told_events(seed: int, n_events: int = 120) -> list[UrlEvent]:
    """Return possible events of a crawl of a few sites."""
    dice = random.Random(seed)
    pages = [f"{site}/{n}" for site in SITES for n in range(8)]
    pages += [f"{site}/" for site in SITES]
    sitemaps = [f"{site}/map{n}.xml" for site in SITES for n in range(2)]
    unknown = [f"{site}/nowhere{n}" for site in SITES for n in range(2)]
    events: list[UrlEvent] = []
    for n in range(n_events):
        ms = _T0 + dice.randrange(n_events) * 10_000_000 + n
        page, sitemap = dice.choice(pages), dice.choice(sitemaps)
        facts = (
            ("contentHash", f"{dice.randrange(9):032x}"),
            ("textHash", f"{dice.randrange(6):032x}"),
            ("run", "1"),
            *((("canonical", dice.choice(pages)),) if n % 4 == 0 else ()),
        )
        listed = tuple(
            ListedUrl(
                each,
                dice.choice(["", f"2026-01-{dice.randrange(1, 29):02}"]),
                priority=dice.choice([None, 0.1, 0.8]),
            )
            for each in dice.sample(pages, 9)
        )
        links = tuple(dice.sample([*pages, *unknown, *sitemaps], 12))
        kinds: list[UrlEvent] = [
            SitemapRead(sitemap, ms, listed),
            SitemapRead(
                f"{dice.choice(SITES)}/index.xml",
                ms,
                tuple(ListedUrl(x, is_sitemap=True) for x in dice.sample(sitemaps, 4)),
            ),
            UrlFetched(page, ms, 200, f'"{n}"', facts=facts),
            UrlFetched(page, ms, 500, fault=dice.choice([*Reason])),
            UrlFetched(page, ms, target=dice.choice([*pages, *unknown, *unknown])),
            UrlFetched(page, ms, chain=(dice.choice([*pages, *unknown]),), facts=facts),
            UrlFetched(
                f"{dice.choice(SITES)}/robots.txt", ms, facts=(("task", "robots()"),)
            ),
            UrlFetched(
                sitemap, ms, 304, facts=(("foundBy", "ping"), ("sitemapFormat", "xml"))
            ),
            LinksFound(page, ms, links),
            LinksFound(dice.choice([page, *unknown]), ms, links),
            LinksFound(page, ms, links[:5], f"{RC}nofollow"),
        ]
        events.append(dice.choice(kinds))
    return events
