"""Retry operations that a store or the disk of a log may refuse for a while."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import RdfcrawlError, StoreFault, UnusableStore, passing_fault

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

logger = logging.getLogger(__name__)

_FIRST_WAIT_SECS: Final = 0.5
_MAX_WAIT_SECS: Final = 60.0


class StoreAttempts:
    """Attempts at one operation, with growing pauses.

    Args:
        began: time of the first one, by `monotonic`.
        patience_secs: how long to retry when `is_over` is true.
        is_over: whether to stop retrying after `patience_secs`.
        ends_if_unusable: whether to stop at once on an `UnusableStore`.
        report: called with each failure.
    """

    def __init__(
        self,
        *,
        began: float,
        patience_secs: float,
        is_over: Callable[[], bool],
        ends_if_unusable: bool,
        report: Callable[[str, str], None],
    ) -> None:
        self._patience_secs, self._is_over = patience_secs, is_over
        self._ends_if_unusable, self._report = ends_if_unusable, report
        self._began = began
        self._wait_secs = _FIRST_WAIT_SECS

    def wait(self, fault: StoreFault, error: Exception) -> None:
        """Report a failure, and wait before the next attempt.

        Raises:
            StoreFault: no attempt follows: it has failed for too long, or will always
                fail.
        """
        has_waited = time.monotonic() - self._began >= self._patience_secs
        is_unusable = isinstance(fault, UnusableStore)
        if (
            not fault.may_pass
            or (is_unusable and self._ends_if_unusable)
            or (has_waited and self._is_over())
        ):
            raise fault from error
        self._report("unusable" if is_unusable else "waiting", str(fault))
        logger.warning("%s; trying again in %g s", fault, self._wait_secs)
        time.sleep(self._wait_secs)
        self._wait_secs = min(self._wait_secs * 2, _MAX_WAIT_SECS)


def log_fault(root: Path, error: OSError) -> StoreFault:
    """Return the fault of an unreadable log; it may pass if the disk's error may."""
    what = f"the log cannot be read: {error.filename or root}"
    what += f": {error.strerror or error}"
    if passing_fault(error):
        return StoreFault(what, may_pass=True)
    return UnusableStore(what)


def as_fault(error: Exception) -> StoreFault:
    """Return an exception as a fault of the store; a user's class may raise any.

    Raises:
        RdfcrawlError: the exception is one for the operator.
    """
    if isinstance(error, StoreFault):
        return error
    if isinstance(error, RdfcrawlError):
        raise error
    what = f"{type(error).__qualname__}: {error}"
    return passing_fault(error) or StoreFault(what, may_pass=True)
