"""Bound the CPU time of pure Python code from within the process."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

T = TypeVar("T")

# Libraries swallow exceptions, so the timer raises repeatedly.
_REPEAT_SECS: Final = 0.05
_LEAST_SECS: Final = 0.001  # rounding to zero would disable the timer


class OutOfTime(BaseException):
    """The CPU time of an extractor is used up; not caught by `except Exception`."""


class TimeShares:
    """Division of `secs` of CPU time among extractors that run in turn.

    Each may use half of the remaining time, so that a slow one leaves some to the
    others. Main thread only; C code is interrupted when it returns.
    """

    def __init__(self, secs: float) -> None:
        self._left_secs = secs
        self._name = ""
        self._is_running = False
        self._name_secs = self._name_left_secs = 0.0

    def run(self, name: str, step: Callable[[], T]) -> T:
        """Run a step of a named extractor; raise `OutOfTime` if no time is left."""
        if name != self._name:
            self._name, self._name_left_secs = name, self._left_secs / 2
            self._name_secs = self._name_left_secs
        if self._name_left_secs <= 0:
            raise self._out_of_time()
        began = time.process_time()
        before = signal.signal(signal.SIGPROF, self._ring)
        secs = max(self._name_left_secs, _LEAST_SECS)
        signal.setitimer(signal.ITIMER_PROF, secs, _REPEAT_SECS)
        self._is_running = True
        try:
            try:
                return step()
            finally:
                self._is_running = False
        finally:
            self._is_running = False  # the timer may have fired in between
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)
            used_secs = time.process_time() - began
            self._left_secs -= used_secs
            self._name_left_secs -= used_secs

    def _ring(self, *_: Any) -> None:
        if self._is_running:
            self._name_left_secs = 0.0  # the two clocks differ slightly
            raise self._out_of_time()

    def _out_of_time(self) -> OutOfTime:
        return OutOfTime(f"more than {self._name_secs:.1f} s")
