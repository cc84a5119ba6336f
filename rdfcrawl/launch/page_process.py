"""The page of a crawl: `python -m rdfcrawl.launch.page_process PROGRAM`.

Standard input is one line of JSON with the words after `scrapy`: settings may contain
passwords, and all users of a machine can read command lines. The page ends when its
standard input does, and thus with the crawl in any case.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from scrapy_redis.connection import SETTINGS_PARAMS_MAP

from rdfcrawl.core.console import fail, program
from rdfcrawl.core.errors import ConfigError, install_hint
from rdfcrawl.core.processes import finish, start_module
from rdfcrawl.launch.forks import execute, read_words
from rdfcrawl.monitor.page.crawl_tail import LOG
from rdfcrawl.monitor.page.options import SOCKET, PageOptions, page_socket, url_of

if TYPE_CHECKING:
    import argparse
    import subprocess
    from collections.abc import Iterator

    from scrapy.settings import BaseSettings

    from rdfcrawl.frontier.queue.options import CrawlOptions


_MODULE: Final = "rdfcrawl.launch.page_process"
_PATIENCE_SECS: Final = 5.0  # at the end of the crawl
_NICE: Final = 10
_LIBRARY: Final = "jinja2"  # of the extra `page`; not imported here
_PLACES: Final = ("CRAWL_DIR=", "CRAWL_ID=")


@contextmanager
def serving_page(
    opts: argparse.Namespace, settings: BaseSettings, crawl: CrawlOptions
) -> Iterator[None]:
    """Serve the page of a crawl while it runs.

    Exit with 2 and one line if it cannot be served.

    Args:
        opts: of the command that crawls.
        settings: with those of the spider.
        crawl: options of the crawl.
    """
    try:
        process = _begin(opts.set, settings, crawl)
    except ConfigError as error:
        fail(f"--page: {error}")
    try:
        yield
    finally:
        finish(process, patience_secs=_PATIENCE_SECS)
        places = [f"-s {each}" for each in opts.set if each.startswith(_PLACES)]
        _print(f"ended; to see it again: {' '.join([program(), 'page', *places])}")


def _begin(
    given: list[str], settings: BaseSettings, crawl: CrawlOptions
) -> subprocess.Popen[bytes]:
    if find_spec(_LIBRARY) is None:
        raise ConfigError(f"{_LIBRARY} is missing: {install_hint('page')}")
    options = PageOptions.checked(environment=os.environ)
    with page_socket(options) as bound:
        words = _words(given, settings, crawl, bound.fileno())
        process = start_module(
            *(_MODULE, program()),
            job=words,
            stdout=2,  # stdout may be a feed of the crawl
            pass_fds=[bound.fileno()],
        )
        url = url_of(bound, options)
    _print(url)
    return process


def _words(
    given: list[str], settings: BaseSettings, crawl: CrawlOptions, fd: int
) -> list[str]:
    """Return the command of a page, without the credentials of stores."""
    own = {
        "CRAWL_DIR": crawl.paths.root.parent,
        "CRAWL_ID": crawl.crawl_id,
        SOCKET: fd,
        **({LOG: settings["LOG_FILE"]} if settings.get("LOG_FILE") else {}),
        **{name: settings[name] for name in SETTINGS_PARAMS_MAP if settings.get(name)},
    }
    return [
        "page",
        *(f"-s{each}" for each in given if not each.startswith("STORES=")),
        *(f"-s{name}={value}" for name, value in own.items()),
    ]


def _print(text: str) -> None:
    with suppress(OSError):  # the terminal may be closed
        sys.stderr.write(f"page          {text}\n")
        sys.stderr.flush()


def main() -> None:
    """Serve a page until standard input ends."""
    lasting = os.dup(0)
    words = read_words()
    threading.Thread(target=_end_with, args=(lasting,), daemon=True).start()
    with suppress(OSError):
        os.nice(_NICE)
    if words:
        execute(words)


def _end_with(fd: int) -> None:
    while os.read(fd, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
