"""Read and check the settings of the progress display."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from rdfcrawl.core.options.values import integer, number, one_of

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


class ProgressDisplay(StrEnum):
    """Place where the progress of a crawl is shown."""

    AUTO = "auto"  # a board if stderr is a terminal, else the log
    BOARD = "board"
    LOG = "log"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class ProgressOptions:
    """Options of the progress display."""

    display: ProgressDisplay
    log_secs: float  # between two lines

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        """Read the settings; raise `ConfigError` if one is out of range."""
        return cls(
            one_of(settings, "PROGRESS", ProgressDisplay),
            number(settings, "PROGRESS_LOG_SECS", 1, 86_400),
        )


@dataclass(frozen=True, slots=True)
class ExitCodes:
    """Exit codes of a crawl that finished with failures."""

    failed: int  # URIs were given up because their hosts failed
    own_fault: int  # our own code failed on documents

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        """Read the settings; raise `ConfigError` if one is out of range."""
        return cls(
            failed=integer(settings, "FAILED_EXIT_CODE", 0, 255),
            own_fault=integer(settings, "OWN_FAULT_EXIT_CODE", 0, 255),
        )

    def of(self, *, has_failed: bool, has_own_faults: bool) -> int:
        """Return the exit code of a crawl that has finished."""
        return (has_own_faults and self.own_fault) or (has_failed and self.failed) or 0
