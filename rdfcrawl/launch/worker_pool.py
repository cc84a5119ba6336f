"""Start, watch and restart the worker processes of one crawl."""

from __future__ import annotations

import asyncio
import logging
import re
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from rdfcrawl.core.console import program
from rdfcrawl.core.errors import CrawlGone
from rdfcrawl.core.processes import start_module_async
from rdfcrawl.downloader.spool import WorkerDisk
from rdfcrawl.frontier.connection import FrontierConnection, lost_logs, restart_crawl
from rdfcrawl.frontier.queue.options import RUN, WORKER
from rdfcrawl.frontier.queue.profiles import CrawlMember, SpiderProfiles, keep_settings
from rdfcrawl.frontier.queue.worker_reports import DRAINED, OwnFaults
from rdfcrawl.launch.crawl_summary import RunEnd, print_summary
from rdfcrawl.launch.later_run import queue_later_run
from rdfcrawl.launch.progress import follower_lines, watch
from rdfcrawl.launch.progress_table import (
    CrawlSnapshot,
    take_last_snapshot,
    take_snapshot,
)
from rdfcrawl.stores.crawl_folder import mark_finished
from rdfcrawl.stores.followers.supervision import FollowerProcesses
from rdfcrawl.stores.log.compaction import BackgroundCompaction
from rdfcrawl.uri.guard.gate import EXIT_CODE as REFUSED

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.frontier_client import Frontier
    from rdfcrawl.launch.forks import ForkedWorker, WorkerForks
    from rdfcrawl.launch.options import CheckedCrawl

    Worker = ForkedWorker | asyncio.subprocess.Process


logger = logging.getLogger(__name__)

_MAX_RESTARTS = 1000  # more indicate a fault of the machine, not of documents
_RESTART_SECS = 0.5
_DISK_SECS = 1.0  # between two checks of a full disk
_FINISHED = "finished"
_WORKER_PROCESS = "rdfcrawl.launch.forks"
_UNFINISHED = frozenset({1, 2})  # exit codes by which a worker reports a failure


class WorkerPool:
    """Runner of `scrapy crawl` n times on one frontier.

    `words` are options of each worker's command, such as `-sNAME=VALUE`. Without
    `forks`, each worker is a new process.
    """

    def __init__(
        self,
        checked: CheckedCrawl,
        *,
        member: CrawlMember,
        words: Sequence[str],
        n_workers: int,
        forks: WorkerForks | None = None,
    ) -> None:
        self._checked = checked
        self._spider = member.spider
        self._member = member
        self._arguments = dict(member.given)
        self._words = list(words)
        self._settings = checked.crawler.settings
        self._n_workers = n_workers
        self._started: set[int] = set()  # numbers of workers
        self._forks = forks
        self._options = checked.options.crawl
        self._progress, codes = checked.launch.progress, checked.launch.codes
        # Exit codes of a worker whose crawl has finished.
        self._finished = {0, REFUSED, codes.failed, codes.own_fault} - _UNFINISHED
        self._own_fault_code = codes.own_fault
        least = checked.options.fetch.min_free_bytes
        self._disk = WorkerDisk([self._options.paths.root], min_free_bytes=least)
        self._children: dict[int, Worker] = {}
        self._lost_logs: list[str] = []
        self._not_due = ""
        self._is_stopping = False
        self._run = 0  # number of earlier runs
        self._is_drained = False  # all workers ended before the end of the crawl

    async def run(self) -> int:
        """Run the crawl to its end; return the exit code."""
        began = monotonic()
        link = await FrontierConnection.connect(
            self._options, self._settings, may_load=True
        )
        try:
            with link.explaining():
                first = await self._begin(link)
            link.opened()
            root, stores = self._options.paths.root, self._options.stores
            followers = None
            if stores.followers:
                dumps = self._settings.getbool("STATS_DUMP")
                followers = FollowerProcesses.begin(root, stores, dumps=dumps)
            compaction = BackgroundCompaction.begin(root, stores.compaction_secs)
            code = await self._keep_all(link.frontier)
            link.ending()
            with link.explaining():
                outcome = await self._outcome(link.frontier, code)
            if outcome == _FINISHED:
                mark_finished(self._options.paths.quads)
            await asyncio.to_thread(compaction.finish)
            try:
                with link.explaining():
                    last = await take_last_snapshot(link.frontier)
            except CrawlGone as gone:
                logger.critical("%s", gone)
                return code or 1
            end = self._end_of(first, last, outcome, monotonic() - began)
            if code == self._own_fault_code and not end.own:  # after the last report
                logs = {"of a worker as it ended": str(self._options.paths.logs)}
                end = replace(end, own=OwnFaults(0, dict.fromkeys(logs, 1), logs))
            print_summary(end)
            if followers is not None:
                await asyncio.to_thread(followers.finish)
            if code == REFUSED:
                self._log_refusal()
        finally:
            await link.close()
        return code

    def _end_of(
        self, first: CrawlSnapshot, last: CrawlSnapshot, outcome: str, secs: float
    ) -> RunEnd:
        """Return the end of the run, for its summary."""
        return RunEnd(
            now=last,
            crawl=self._options,
            member=self._member,
            run=self._run,
            n_done=last.documents - first.documents,
            secs=secs,
            outcome=outcome,
            own=OwnFaults.of(last.figures, last.examples, first.figures),
            lost_logs=self._lost_logs,
            not_due=self._not_due,
        )

    def describe(self) -> None:
        """Describe the crawl, unless it was stopped or drained."""
        if not (self._is_stopping or self._is_drained):
            agent = self._checked.options.fetch.user_agent
            describing = self._checked.launch.describing.by(agent)
            describing.describe_ended(self._options.paths.root)

    async def _begin(self, link: FrontierConnection) -> CrawlSnapshot:
        """Create or join the crawl for all workers; return the first snapshot."""
        frontier = link.frontier
        if self._member.accepts.parse(self._arguments).fresh:
            await restart_crawl(frontier, self._options.paths)
            del self._arguments["fresh"]
        await frontier.open()
        await keep_settings(frontier, self._options, self._settings)
        await SpiderProfiles(frontier, link.outage).enter(self._member)
        self._arguments.pop("reset", None)
        self._lost_logs = await lost_logs(frontier, self._options)
        self._not_due = await queue_later_run(self._checked)
        self._run = await frontier.begin_run()
        self._words.append(f"-s{RUN}={self._run}")
        return await take_snapshot(frontier)

    async def _keep_all(self, frontier: Frontier) -> int:
        """Run all workers and show their progress; return the first bad exit code."""
        loop = asyncio.get_running_loop()
        for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(name) is signal.SIG_IGN:  # SIGHUP, with nohup
                continue
            loop.add_signal_handler(name, self._stop, name)
        watcher = asyncio.create_task(self._watch(frontier))
        if self._forks is not None:
            await self._forks.open()
        codes = await asyncio.gather(
            *(self._keep(number) for number in range(self._n_workers))
        )
        watcher.cancel()
        await asyncio.gather(watcher, return_exceptions=True)
        bad = [code for code in codes if code not in self._finished]
        if bad:
            return bad[0]
        for code in (REFUSED, self._own_fault_code):
            if code in codes:
                return code
        return max(codes)

    async def _outcome(self, frontier: Frontier, code: int) -> str:
        """Return the outcome of the run; drained workers end before the crawl does."""
        if code not in self._finished:
            return "not finished"
        with suppress(CrawlGone):  # reported by the caller
            counts, n_ended = await frontier.counts(), await frontier.begin_run()
            self._is_drained = not counts.is_over and n_ended == self._run
        return DRAINED if self._is_drained else _FINISHED

    async def _watch(self, frontier: Frontier) -> None:
        stores = follower_lines(
            self._options.paths.root, has_any=bool(self._options.stores.followers)
        )
        await watch(frontier, self._progress, stores)

    def _log_refusal(self) -> None:
        logger.error(
            "the guard refused seeds: see %s/worker-*.log for their names, and for the"
            " settings that allow them (GUARD_ALLOW_NETS, GUARD_PORTS)",
            self._options.paths.logs,
        )

    async def _keep(self, number: int) -> int:
        code = 1
        for _ in range(_MAX_RESTARTS):
            await self._wait_for_room(number)
            child = self._children[number] = await self._start(number)
            if self._is_stopping:  # it did not exist when the signal was passed on
                child.send_signal(signal.SIGTERM)
            code = await child.wait()
            if code in self._finished or self._is_stopping:
                break
            # On a full disk, a new worker cannot even write its log.
            if code in _UNFINISHED and not await self._lack():
                break
            logger.warning("worker %d died (%d), restarting it", number, code)
            await asyncio.sleep(_RESTART_SECS)
            if self._is_stopping:
                break
        return code if code >= 0 else 1

    async def _wait_for_room(self, number: int) -> None:
        """Wait until a worker can write to the disk, or the pool is stopping."""
        lack = await self._lack()
        if lack:
            logger.warning("worker %d waits for room on the disk: %s", number, lack)
        while lack and not self._is_stopping:
            await asyncio.sleep(_DISK_SECS)
            lack = await self._lack()

    async def _lack(self) -> str:
        """Return the name of a full disk; empty if there is none."""
        return self._disk.lack() or await asyncio.to_thread(self._disk.refusal)

    async def _start(self, number: int) -> Worker:
        logs = self._options.paths.logs
        logs.mkdir(parents=True, exist_ok=True)
        out = logs / f"worker-{number}.out"
        words = [
            *("crawl", self._spider),
            *(f"-a{name}={value}" for name, value in self._arguments.items()),
            *self._options_of(number),
            *("-s", f"{WORKER}={number}", "-s", "STORES={}", "-s", "DESCRIBE=off"),
            *("-s", "COMPACTION_SECS=0"),
            *("-s", "PROGRESS=off", "-s", "LOG_FILE_APPEND=True"),
            *("--logfile", str(logs / f"worker-{number}.log")),
        ]
        forked = await self._forks.start(words, out) if self._forks else None
        return forked or await _start_process(words, out)

    def _options_of(self, number: int) -> list[str]:
        """Return the options of a worker; a restarted one appends to its feeds."""
        if number in self._started:
            return [re.sub("^-O", "-o", word) for word in self._words]
        self._started.add(number)
        return self._words

    def _stop(self, name: signal.Signals) -> None:
        """Pass a signal on to the workers, unless the terminal does."""
        self._is_stopping = True
        if name == signal.SIGINT and sys.stdin.isatty():
            return  # the terminal sent it to the process group
        for child in self._children.values():
            if child.returncode is None:
                child.send_signal(name)


async def _start_process(words: Sequence[str], out: Path) -> Worker:
    with out.open("ab") as file:
        return await start_module_async(
            *(_WORKER_PROCESS, program()), job=words, stdout=file, stderr=file
        )
