"""`scrapy demo`: serve, crawl and measure a small Data Web on this machine."""

from __future__ import annotations

import argparse
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.settings import BaseSettings

from rdfcrawl.core.console import (
    QuietCommand,
    fail,
    option,
    program,
    switch,
    write_lines,
)
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.processes import module_command

if TYPE_CHECKING:
    from rdfcrawl.dataweb.config import WebConfig

_HOSTS = 30
_SPIDER = "linkeddata"
_USAGE = 2  # exit code: wrong usage
_CRAWL_DELAY_SECS = 0.1


class Command(QuietCommand):
    """Show a complete crawl in less than a minute, without the Internet."""

    requires_project = True
    summary = "Crawl a synthetic Data Web on this machine and show the result"
    options = (
        option("--dir", "DIR", "folder of the demo (demo)", default="demo"),
        switch(
            "--page", "serve the page of the crawl, during the crawl and until Ctrl-C"
        ),
    )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Serve, crawl, measure."""
        from rdfcrawl.dataweb.process import TRUTH_NAME, run_dataweb
        from rdfcrawl.dataweb.recall import judge

        if args:
            fail(f"demo: unknown argument {args[0]}")
        overrides = [f"-s{override}" for override in opts.set]
        _check_redis(self.settings)
        _check_spider(self.settings)
        folder = Path(opts.dir)
        shutil.rmtree(folder / "crawl", ignore_errors=True)
        try:
            with run_dataweb(_web(), folder) as web:
                write_lines(
                    f"A synthetic Data Web of {_HOSTS} hosts is served on loopback.\n"
                )
                self.exitcode = _crawl(folder, overrides, has_page=opts.page)
                log = web.log()
            if self.exitcode == _USAGE:
                return  # the crawl has printed the reason
            report = judge(folder / TRUTH_NAME, [str(_quads(folder))])
        except ConfigError as error:
            fail(str(error))
        twice, rude = log.total("n_duplicates"), log.total("n_disallowed_requested")
        write_lines(
            f"\nfetched twice: {twice}, though disallowed: {rude}",
            f"recall {report.micro:.4f} ({report.n_found} of {report.n_expected})",
            f"\nLook at it:  zcat {_quads(folder)}/*.nq.gz | head",
        )
        self.exitcode = self.exitcode or int(report.micro < 1)
        words = ["page", "-s", f"CRAWL_DIR={folder / 'crawl'}"]
        if opts.page:
            _serve_page(words)
        else:
            write_lines(f"See it:      {' '.join([program(), *words])}")


def _web() -> WebConfig:
    """Return the parameters of the web."""
    from rdfcrawl.dataweb.config import NodeKind, WebConfig

    return WebConfig(
        n_nodes=_HOSTS,
        weights={NodeKind.DEREFERENCING: 1.0},
        delay_secs=_CRAWL_DELAY_SECS,
        disallowed=0.1,
        port=0,
    )


def _check_redis(settings: BaseSettings | None) -> None:
    """Exit if no Redis is available."""
    from rdfcrawl.frontier.redis.embedded import find_server

    try:
        if settings is not None and not settings.get("REDIS_URL"):
            find_server(settings.get("REDIS_SERVER"))
    except ConfigError as error:
        fail(str(error))


def _check_spider(settings: BaseSettings | None) -> None:
    """Exit if the crawl would, because no project has its spider."""
    from rdfcrawl.launch.crawls import check_name, load_spiders

    if settings is not None:
        check_name(_SPIDER, load_spiders(settings))


def _serve_page(words: list[str]) -> None:
    """Show the finished crawl until Ctrl-C, which the page receives, too."""
    with suppress(KeyboardInterrupt):
        subprocess.run(module_command(program(), *words), check=False)


def _crawl(folder: Path, overrides: list[str], *, has_page: bool) -> int:
    from rdfcrawl.dataweb.process import NETWORK, SEEDS_NAME

    command = [program(), "workers", "-n", "2", _SPIDER]
    given = ["-a", f"seeds=@{folder / SEEDS_NAME}"]
    settings = ["-s", "DOWNLOAD_DELAY=0", "-s", f"CRAWL_DIR={folder / 'crawl'}"]
    settings += ["-s", f"GUARD_ALLOW_NETS={NETWORK}", *overrides]
    settings += ["--page"] if has_page else []
    write_lines("$ " + " ".join([*command, *given, *settings]) + "\n")
    line = module_command(*command, *given, *settings)
    return subprocess.run(line, check=False).returncode


def _quads(folder: Path) -> Path:
    return folder / "crawl" / _SPIDER / "quads"
