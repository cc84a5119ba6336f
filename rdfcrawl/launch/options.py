"""The settings of the launch, and the description of a crawl that has ended."""

from __future__ import annotations

import logging
import os
import signal
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Self

from rdfcrawl.core.options.table import (
    OptionsTable,
    integer,
    number,
    one_of,
    part,
    switch,
    text,
)
from rdfcrawl.stores.files import try_lock
from rdfcrawl.stores.segment_file import list_segments

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rdfcrawl.analysis.description.writing import DescriptionOptions
    from rdfcrawl.launch.scrapy_classes import StoppableCrawler
    from rdfcrawl.pipelines.spider_options import SpiderOptions


logger = logging.getLogger(__name__)

_QUICK_BYTES: Final = 1024 * 1024  # of segments: a second or two
_PROVENANCE_SHARE: Final = 8  # provenance is read this much faster
_MOST_TIMES: Final = 3  # while other processes continue to write
_STOPS: Final = (signal.SIGINT, signal.SIGTERM)
_HINT: Final = "to do so, run `export --describe`"


class DescribeMode(StrEnum):
    """Whether a crawl is described at its end."""

    AUTO = "auto"  # if that is quick
    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlDescribing(OptionsTable):
    """Options for the description of a crawl."""

    mode: DescribeMode = one_of("DESCRIBE", "auto", DescribeMode)
    """whether the crawl is [described](description.md) when it has ended; `auto`: if
    its segments have no more than 1 MiB, those of the provenance counting an eighth,
    which takes a second or two"""
    n_hosts: int = integer("DESCRIBE_HOSTS", 1000, 0, 10_000_000)
    """hosts that are described one by one: those with most statements"""
    publisher: str | None = text("DESCRIBE_PUBLISHER", None, allowed="name")
    """who publishes the description; `None`: `USER_AGENT`"""

    def by(self, user_agent: str) -> Self:
        """Return these options with a user agent as the default publisher."""
        return replace(self, publisher=self.publisher or user_agent)

    def options(self, root: Path) -> DescriptionOptions:
        """Return the options for the crawl in a folder."""
        from rdfcrawl.analysis.description.writing import DescriptionOptions  # noqa: PLC0415

        return DescriptionOptions(
            title=root.name,
            publisher=self.publisher or "",
            n_hosts=self.n_hosts,
            scratch=root,
        )

    def describe_ended(self, root: Path) -> None:
        """Write the descriptions of a crawl in a folder, if the mode says so.

        Errors are logged as one line. If several processes end a crawl, only one of
        them writes.
        """
        if self.mode is DescribeMode.OFF:
            return
        try:
            with _stoppable():
                self._describe(root)
        except KeyboardInterrupt:
            logger.warning("stopped before the crawl was described; %s", _HINT)
        except Exception as error:
            logger.error("the crawl was not described: %s; %s", error, _HINT)  # noqa: TRY400

    def _describe(self, root: Path) -> None:
        sizes = _sizes(root / "quads")
        n_bytes = sum(sizes.values())
        if not n_bytes:
            return
        n_bytes += sum(_sizes(root / "provenance").values()) // _PROVENANCE_SHARE
        if self.mode is DescribeMode.AUTO and n_bytes > _QUICK_BYTES:
            logger.info("the crawl is large and was not described; %s", _HINT)
            return
        from rdfcrawl.analysis.description.writing import write_descriptions  # noqa: PLC0415
        from rdfcrawl.stores.log.crawl_log import CrawlLog  # noqa: PLC0415

        # A process that found the folder locked has written its data before this lock
        # is released, so check once more.
        for _ in range(_MOST_TIMES):
            with _locked(root) as is_locked:
                if not is_locked:
                    return
                write_descriptions(CrawlLog(root), self.options(root))
            described, sizes = sizes, _sizes(root / "quads")
            if sizes == described:
                return


def _sizes(folder: Path) -> dict[str, int]:
    """Return the lengths of the segments in a folder."""
    sizes = {}
    for path in list_segments(folder) if folder.is_dir() else ():
        with suppress(FileNotFoundError):  # removed because it was empty
            sizes[path.name] = path.stat().st_size
    return sizes


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Lock a folder against other describing processes; yield whether it succeeded."""
    fd, is_locked = os.open(folder, os.O_RDONLY), True
    try:
        with suppress(OSError):  # the file system does not support locks
            is_locked = try_lock(fd)
        yield is_locked
    finally:
        os.close(fd)


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM interrupt the block, replacing the crawl's handlers."""

    def stop(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = {name: signal.signal(name, stop) or signal.SIG_DFL for name in _STOPS}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


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
    (`frontier/failed`), owes some (`frontier/owed`), or has read a source in part
    (`fault/incomplete`)"""
    own_fault: int = integer("OWN_FAULT_EXIT_CODE", 4, 0, 255)
    """exit code of a crawl that has finished, and in which an [own
    fault](faults.md#own-faults) has kept something of a document from being read
    (`own_fault/documents`), or a component has failed outside of documents; it goes
    before `FAILED_EXIT_CODE`"""

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
