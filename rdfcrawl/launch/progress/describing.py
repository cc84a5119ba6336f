"""Describe a finished crawl; a failure does not affect the crawl."""

from __future__ import annotations

import fcntl
import logging
import os
import signal
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Self

from rdfcrawl.core.options.table import OptionsTable, integer, one_of, text
from rdfcrawl.stores.segment_file import list_segments

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rdfcrawl.analysis.description.writing import DescriptionOptions

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
    fd = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        yield False
        return
    except OSError:  # the file system does not support locks
        pass
    try:
        yield True
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
