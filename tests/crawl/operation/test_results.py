"""The results of seeds and hosts: at the end of a crawl, and by `scrapy results`."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.command_forks import scrapy
from tests.support.web_archives import HOST, Archive

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

_DATA = b"<urn:x:s> <urn:x:p> <urn:x:o> ."
_CUT = b"<urn:x:s> <urn:x:p> <urn:x:o> . <urn:x:s> nonsense"
_DEAD = "http://127.0.0.2:9/x"
_N_GOOD = 25


class _Crawled:
    """A crawl by two workers of 30 seeds, three of which fail.

    Attributes:
        server: of most seeds.
        folder: `CRAWL_DIR`.
        words: of the command.
        first: result of the command.
    """

    def __init__(self, commands: Commands, loopback: Loopback) -> None:
        good = {f"/{n}": loopback.response(_DATA) for n in range(_N_GOOD)}
        elsewhere = loopback({"/t": loopback.response(_DATA)}, host="127.0.0.3")
        self.server: RawServer = loopback(
            {
                **good,
                "/cut": loopback.response(_CUT),
                "/moved": loopback.redirect(elsewhere.url("/t")),
            }
        )
        self.folder = commands.folder()
        seeds = self.folder / "seeds.txt"
        paths = [*good, "/cut", "/moved", "/gone"]
        lines = [*map(self.server.url, paths), _DEAD, "no seed"]
        seeds.write_text("\n".join(lines))
        self._commands = commands
        self.words = "workers", "-n2", "linkeddata", f"-aseeds=@{seeds}"
        self.first = self.run()

    def run(self, *words: str) -> CrawlResult:
        """Run the command of the crawl."""
        return self._commands.start(*self.words, *words, folder=self.folder).wait()

    def results(self, *words: str) -> str:
        """Return the output of `scrapy results`."""
        where = f"-sCRAWL_DIR={self.folder}", "-sCRAWL_ID=linkeddata"
        done = scrapy("results", *words, *where)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def crawled(commands: Commands, loopback: Loopback) -> _Crawled:
    """Return the crawl."""
    return _Crawled(commands, loopback)


def _of(output: str, name: str) -> dict[str, dict[str, Any]]:
    return {row[name]: row for row in map(json.loads, output.splitlines())}


def test_the_outcome_says_how_many_seeds_failed(crawled: _Crawled) -> None:
    """If seeds fail, then the outcome counts them, and a table begins with them."""
    stderr = crawled.first.stderr
    assert re.search(r"^outcome +finished; 3 of 30 seeds failed$", stderr, re.MULTILINE)
    table = stderr.partition("\nseed ")[2].splitlines()[1:]
    assert {line.split()[0] for line in table[:3]} == {
        crawled.server.url("/gone"),
        _DEAD,
        "seeds.txt:30",
    }
    assert table[3].startswith(crawled.server.url("/cut"))
    assert table[20] == "10 more: `scrapy results seeds --csv`"
    hosts = stderr.partition("\nhost ")[2].splitlines()[1:]
    assert hosts[0].startswith("127.0.0.2 ")
    assert hosts[1].startswith("127.0.0.1 ")
    assert "200 26" in hosts[1]
    assert "404 1" in hosts[1]


def test_each_seed_has_the_result_of_its_last_fetch(crawled: _Crawled) -> None:
    """If a seed was fetched, then its row has status, statements, links and fault."""
    seeds = _of(crawled.results("seeds", "--json"), "url")
    assert len(seeds) == 30
    url = crawled.server.url
    assert seeds[url("/0")]["n_statements"] == 1
    assert seeds[url("/cut")]["status"] == "PARTIAL"
    assert seeds[url("/cut")]["reason"] == "bad_term"
    assert seeds[url("/gone")]["http_status"] == 404
    assert seeds[_DEAD]["reason"]
    moved = seeds[url("/moved")]
    assert (moved["status"], moved["n_statements"]) == ("SUCCESSFUL", 1)


def test_csv_has_all_rows(crawled: _Crawled) -> None:
    """If CSV is asked for, then it has all seeds, or as many rows as `--most` says."""
    rows = list(csv.DictReader(io.StringIO(crawled.results("--csv"))))
    assert [row["status"] for row in rows[:3]] == ["FAILED"] * 3
    assert len(rows) == 30
    hosts = csv.DictReader(io.StringIO(crawled.results("hosts", "--csv", "--most=1")))
    (host,) = hosts
    assert host["host"] == "127.0.0.2"
    assert host["n_bad"] == host["n_documents"]


def test_a_host_has_the_number_of_each_status(crawled: _Crawled) -> None:
    """If hosts respond, then each has the sums of all workers, by status."""
    hosts = _of(crawled.results("hosts", "--json"), "host")
    here = hosts["127.0.0.1"]
    assert here["results"]["200"] == _N_GOOD + 1
    assert here["results"]["404"] == 1
    assert here["n_statements"] == _N_GOOD + 1
    assert here["n_bad"] == 1
    assert list(hosts)[:2] == ["127.0.0.2", "127.0.0.1"]


def test_a_table_has_twenty_rows(crawled: _Crawled) -> None:
    """If there are more than twenty seeds, then the table ends with the command."""
    lines = crawled.results().splitlines()
    assert len(lines) == 22
    assert lines[-1].startswith("10 more:")


def test_other_words_are_refused(crawled: _Crawled) -> None:
    """If a word is neither seeds nor hosts, then one line says what to type."""
    done = scrapy("results", "pages", f"-sCRAWL_DIR={crawled.folder}")
    assert done.returncode == 2
    assert done.stderr == "scrapy: results: type: results [seeds|hosts]\n"


def test_a_crawl_without_the_log_says_so(
    commands: Commands, loopback: Loopback
) -> None:
    """If the log was deleted, then the crawl ends as ever, and the command says why."""
    server = loopback({"/a": loopback.response(_DATA)})
    folder = commands.folder()
    crawled = commands.crawl([server.url("/a")], folder=folder)
    shutil.rmtree(crawled.folder / "results")
    again = commands.start("crawl", "linkeddata", folder=folder).wait()
    assert "results:" not in again.stderr
    shutil.rmtree(crawled.folder / "results")
    done = scrapy("results", f"-sCRAWL_DIR={folder}", "-sCRAWL_ID=linkeddata")
    assert done.returncode == 2
    assert "the crawl has no log of results" in done.stderr


def test_the_next_run_replaces_results(crawled: _Crawled) -> None:
    """If a failed seed is there at the next run, then it counts as found."""
    crawled.server.pages["/gone"] = crawled.server.pages["/0"]
    again = crawled.run("-afresh=1")
    assert "2 of 30 seeds failed" in again.stderr
    seeds = _of(crawled.results("--json"), "url")
    assert seeds[crawled.server.url("/gone")]["status"] == "SUCCESSFUL"


def test_an_archive_is_one_seed(commands: Commands, tmp_path: Path) -> None:
    """If captures come from an archive, then they count for it and for their hosts."""
    archive = Archive()
    archive.add_statement("one")
    archive.add_statement("two")
    archive.add(f"{HOST}/moved", b"", ("Location", "/one"), status="301 Moved")
    (tmp_path / "a.warc.gz").write_bytes(archive.content())
    files = {"files": tmp_path / "a.warc.gz"}
    result = commands.crawl(spider="warc", arguments=files)
    where = f"-sCRAWL_DIR={result.folder.parent}", "-sCRAWL_ID=warc"
    seeds = scrapy("results", "seeds", "--json", *where)
    (row,) = map(json.loads, seeds.stdout.splitlines())
    assert row["n_statements"] == 2
    assert row["status"] == "SUCCESSFUL"
    hosts = _of(scrapy("results", "hosts", "--json", *where).stdout, "host")
    assert hosts["archived.example"]["results"] == {"200": 2, "301": 1}
