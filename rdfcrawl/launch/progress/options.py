"""The settings of the launch: progress display, exit codes, worker processes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rdfcrawl.core.options.table import (
    OptionsTable,
    integer,
    number,
    one_of,
    part,
    switch,
)
from rdfcrawl.launch.progress.describing import CrawlDescribing


class ProgressDisplay(StrEnum):
    """Place where the progress of a crawl is shown."""

    AUTO = "auto"  # a board if stderr is a terminal, else the log
    BOARD = "board"
    LOG = "log"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class ProgressOptions(OptionsTable):
    """Options of the progress display."""

    display: ProgressDisplay = one_of("PROGRESS", ProgressDisplay)
    log_secs: float = number("PROGRESS_LOG_SECS", 1, 86_400)


@dataclass(frozen=True, slots=True)
class ExitCodes(OptionsTable):
    """Exit codes of a crawl that has finished, but did not get all there was."""

    failed: int = integer("FAILED_EXIT_CODE", 0, 255)
    own_fault: int = integer("OWN_FAULT_EXIT_CODE", 0, 255)

    def of(self, *, has_failed: bool, has_own_faults: bool) -> int:
        """Return the exit code of a crawl that has finished."""
        return (has_own_faults and self.own_fault) or (has_failed and self.failed) or 0


@dataclass(frozen=True, slots=True)
class LaunchOptions(OptionsTable):
    """Options of the process that runs a crawl, or of that which starts its workers."""

    progress: ProgressOptions = part(ProgressOptions)
    codes: ExitCodes = part(ExitCodes)
    describing: CrawlDescribing = part(CrawlDescribing)


@dataclass(frozen=True, slots=True)
class WorkerProcesses(OptionsTable):
    """How `scrapy workers` starts its workers."""

    may_fork: bool = switch("WORKERS_FORK")
