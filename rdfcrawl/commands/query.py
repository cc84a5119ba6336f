"""`scrapy query`: SPARQL over the stored statements of a crawl."""

from __future__ import annotations

import argparse
import os
import select
import signal
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any, Final, NoReturn

from scrapy.settings import BaseSettings

from rdfcrawl.core.console import fail, number, option, switch, warn
from rdfcrawl.core.errors import ConfigError, RdfcrawlError
from rdfcrawl.launch.private_crawls import PrivateCrawlCommand

_FORMATS: Final = ("table", "json", "csv", "tsv", "xml", "nt", "ttl")
_BEGUN: Final = b"?"
_PATIENCE_SECS: Final = 10.0
_MAX_QUERY_BYTES: Final = 16 * 1024 * 1024
_MOST_SECS: Final = 365 * 86_400
_MOST_LINKS: Final = 255
_SECS: Final[dict[str, Any]] = {"least": 0, "most": _MOST_SECS, "is_whole": False}


class Command(PrivateCrawlCommand):
    """Bring the store of a crawl up to date, and query it.

    With `--fetch`, query the documents that a small crawl of its own fetches.
    """

    requires_crawler_process = False

    synopsis = "[options] QUERY | @FILE"
    summary = "Query the stored statements of a crawl with SPARQL"
    options = (
        option(
            "--format",
            None,
            "of the result (table or ttl on a terminal, else json or nt)",
            dest="format_name",
            choices=_FORMATS,
        ),
        number("--limit", "N", "limit of rows or triples", least=0),
        number(
            "--timeout",
            "SECS",
            "of the query, without the update before it; 0: none (300)",
            default=300.0,
            **_SECS,
        ),
        switch("--update-only", "only bring the store up to date"),
        number(
            "--watch",
            "SECS",
            "repeat the query when there are new statements, at most once in SECS",
            **_SECS | {"least": 1},
        ),
        number(
            "--fetch",
            "N",
            "fetch the resources in the query, and what N links lead to;"
            " query these alone",
            least=0,
            most=_MOST_LINKS,
        ),
        number(
            "--fetch-documents",
            "N",
            "most documents of --fetch (100)",
            least=1,
            default=100,
        ),
        number(
            "--fetch-secs",
            "SECS",
            "most time of --fetch (60)",
            default=60.0,
            **_SECS | {"least": 1},
        ),
    )

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Apply the options; only `--fetch` needs a crawl."""
        if opts.fetch is None:
            super(PrivateCrawlCommand, self).process_options(args, opts)
        else:
            self.requires_crawler_process = True
            super().process_options(args, opts)

    def act(
        self, settings: BaseSettings, args: list[str], opts: argparse.Namespace
    ) -> int:
        """Check the arguments, and run the query in a child process."""
        from rdfcrawl.stores.crawl_folder import find_crawl
        from rdfcrawl.stores.options import StoreOptions

        if len(args) != (not opts.update_only):
            fail("query: give one query, or @FILE; none with --update-only")
        query = _read_query(args[0]) if args else None
        opts.is_once = StoreOptions.one(settings, "is_once")
        if opts.watch is not None and (query is None or opts.fetch is not None):
            fail(
                "query: --watch needs a query, and goes with neither of --fetch and"
                " --update-only"
            )
        if query is not None and opts.fetch is not None:
            return self._fetch(query, settings, opts)
        if opts.watch is not None:
            return _watch(find_crawl(settings), query, opts)
        return _in_child(find_crawl(settings), query, opts)

    def _fetch(
        self, query: str, settings: BaseSettings, opts: argparse.Namespace
    ) -> int:
        """Fetch the documents of a query into a temporary folder, and run it there."""
        from rdfcrawl.launch.fetched_query import (
            FetchLimits,
            fetch_named,
            named_resources,
        )

        resources = named_resources(query)
        if self.crawler_process is None:
            raise ConfigError("query --fetch: must be run as a command")
        limits = FetchLimits(opts.fetch, opts.fetch_documents, opts.fetch_secs)
        with tempfile.TemporaryDirectory(prefix="query-") as folder:
            root, summary = fetch_named(
                self.crawler_process, settings, resources, limits, folder=Path(folder)
            )
            sys.stderr.write(f"{summary}\n")
            return _in_child(root, query, opts)


def _read_query(argument: str) -> str:
    if not argument.startswith("@"):
        return argument
    path = Path(argument[1:])
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_QUERY_BYTES + 1)
        if len(content) > _MAX_QUERY_BYTES:
            raise ConfigError(f"{path}: longer than {_MAX_QUERY_BYTES} bytes")
        return content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error


def _watch(root: Path, query: str | None, opts: argparse.Namespace) -> int:
    """Repeat a query until Ctrl-C; return the exit code of one that has failed."""
    from rdfcrawl.stores.segment_file import log_bytes

    n_bytes, stopped = -1, Event()

    def stop(_number: int, _frame: object) -> NoReturn:
        stopped.set()  # an exception is lost if it comes amid a fork
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, stop)
    try:
        while not stopped.is_set():
            if (present := log_bytes(root / "quads")) != n_bytes:
                n_bytes = present
                time = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
                sys.stderr.write(f"{time}\n")
                if code := _in_child(root, query, opts):
                    return code
            stopped.wait(opts.watch)
    except KeyboardInterrupt:
        pass
    return 0


def _in_child(root: Path, query: str | None, opts: argparse.Namespace) -> int:
    """Run a query in a child process: a query of Oxigraph cannot be interrupted."""
    sys.stdout.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        _run_and_exit(root, query, opts, writing)
    os.close(writing)
    try:
        if os.read(reading, 1) == _BEGUN and not _is_done(reading, opts.timeout):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            fail(f"--timeout {opts.timeout:g}: the query took longer")
        _, status = os.waitpid(child, 0)
    except KeyboardInterrupt:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        fail(f"query: its process was killed by signal {-code}")
    return code


def _is_done(reading: int, timeout_secs: float) -> bool:
    """Wait for the end of the child, which then closes its end of the pipe."""
    ready, _, _ = select.select([reading], [], [], timeout_secs or None)
    return bool(ready)


def _run_and_exit(
    root: Path, query: str | None, opts: argparse.Namespace, writing: int
) -> NoReturn:
    """Run the query, and exit without the clean-up of the parent."""
    code = 1
    try:
        _run(root, query, opts, writing)
        sys.stdout.flush()
        code = 0
    except BrokenPipeError:  # the reader has closed the pipe
        code = 0
    except RdfcrawlError as error:
        warn(error)
        code = 1 if isinstance(error.__cause__, OSError) else 2
    except KeyboardInterrupt:
        pass
    except Exception as error:  # no caller would print it
        warn(f"query: {error}")
    finally:
        sys.stderr.flush()
        os._exit(code)


def _run(root: Path, query: str | None, opts: argparse.Namespace, writing: int) -> None:
    from rdfcrawl.stores.followers.queried_store import QueriedStore
    from rdfcrawl.stores.followers.query import write_result
    from rdfcrawl.stores.followers.query_text import names_provenance
    from rdfcrawl.stores.followers.term_notes import term_notes
    from rdfcrawl.stores.log.crawl_log import CrawlLog

    log = CrawlLog(root)
    has_provenance = query is not None and names_provenance(query)
    chosen = [QueriedStore.of(root, has_provenance=has_provenance)]
    other = QueriedStore.of(root, has_provenance=True)
    if query is None and other.path.is_dir():  # both are brought up to date
        chosen.append(other)
    for store in chosen:
        follower, following = store.following(
            log, is_once=opts.is_once, patience_secs=_PATIENCE_SECS
        )
        following.open()
        try:
            following.catch_up()
            if query is not None:
                os.write(writing, _BEGUN)
                has_result = write_result(
                    follower.store,
                    query,
                    sys.stdout,
                    format_name=opts.format_name,
                    limit=opts.limit,
                )
                if opts.limit != 0:
                    notes = term_notes(follower.store, query, has_result=has_result)
                    sys.stderr.writelines(f"query: {note}\n" for note in notes)
        finally:
            following.close()
