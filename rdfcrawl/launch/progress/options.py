"""The settings of the launch: progress display, exit codes, worker processes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from rdfcrawl.core.options.table import (
    OptionsTable,
    integer,
    number,
    one_of,
    part,
    switch,
)
from rdfcrawl.launch.progress.describing import CrawlDescribing

if TYPE_CHECKING:
    from rdfcrawl.launch.progress.stopping import StoppableCrawler
    from rdfcrawl.pipelines.spider_options import SpiderOptions


class ProgressDisplay(StrEnum):
    """Place where the progress of a crawl is shown."""

    AUTO = "auto"  # a board if stderr is a terminal, else the log
    BOARD = "board"
    LOG = "log"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class ProgressOptions(OptionsTable):
    """Options of the progress display."""

    display: ProgressDisplay = one_of("PROGRESS", "auto", ProgressDisplay)
    """a table (`board`) or a line in the log; `auto` is a table if stderr is a
    terminal. `off` leaves out the summary, too"""
    log_secs: float = number("PROGRESS_LOG_SECS", 60.0, 1, 86_400)
    """time between two lines"""


@dataclass(frozen=True, slots=True)
class ExitCodes(OptionsTable):
    """Exit codes of a crawl that finished with failures."""

    failed: int = integer("FAILED_EXIT_CODE", 0, 0, 255)
    """exit code of a crawl that has finished and given up URIs whose hosts failed
    (`frontier/failed`), or owes some (`frontier/owed`)"""
    own_fault: int = integer("OWN_FAULT_EXIT_CODE", 4, 0, 255)
    """exit code of a crawl that has finished, and in which an [own
    fault](faults.md#own-faults) has kept something of a document from being read
    (`own_fault/documents`); it goes before `FAILED_EXIT_CODE`"""

    def of(self, *, has_failed: bool, has_own_faults: bool) -> int:
        """Return the exit code of a crawl that has finished."""
        return (has_own_faults and self.own_fault) or (has_failed and self.failed) or 0


@dataclass(frozen=True, slots=True)
class LaunchOptions(OptionsTable):
    """Options of the process that runs a crawl or starts its workers."""

    progress: ProgressOptions = part(ProgressOptions)
    codes: ExitCodes = part(ExitCodes)
    describing: CrawlDescribing = part(CrawlDescribing)
    may_fork: bool = switch("WORKERS_FORK", True)
    """`scrapy workers` imports what a crawl needs once and forks its workers, on Linux;
    `False`, or elsewhere: each is a new Python process. It has to be off if a module
    of your spiders opens a connection or a file when it is imported: forks would
    share it"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedCrawl:
    """A crawl of one process, or of the workers that it starts, that may begin.

    Attributes:
        crawler: with the settings of the spider.
        arguments: as the operator gave them.
        given: their texts, with their equivalents in the settings.
        options: of the spider.
        launch: of the process.
    """

    crawler: StoppableCrawler
    arguments: dict[str, str]
    given: dict[str, str]
    options: SpiderOptions
    launch: LaunchOptions
