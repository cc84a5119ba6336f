"""`scrapy demo`, where it cannot run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.command_forks import scrapy

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path


def demo(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return scrapy("demo", "--dir", folder, *words)


def test_only_the_missing_redis_is_reported(tmp_path: Path) -> None:
    """If there is no Redis, then one line says so before anything is served."""
    done = demo(tmp_path, "-s", "REDIS_SERVER=/nowhere/redis")
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert "REDIS_SERVER='/nowhere/redis'" in line


def test_crawl_that_cannot_begin_is_not_judged(tmp_path: Path) -> None:
    """If the crawl refuses its settings, then its line is the last one."""
    done = demo(tmp_path, "-s", "FRONTIER_LEASE_SECS=long")
    assert done.returncode == 2
    assert "FRONTIER_LEASE_SECS" in done.stderr.splitlines()[-1]
    assert "recall" not in done.stdout


def test_demo_without_our_spiders_writes_nothing(tmp_path: Path) -> None:
    """If a project has our commands alone, then one line says so, without a folder."""
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = theirs\n")
    (tmp_path / "theirs.py").write_text('COMMANDS_MODULE = "rdfcrawl.commands"\n')
    done = scrapy("demo", folder=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert "linkeddata" in line
    assert not (tmp_path / "demo").exists()
