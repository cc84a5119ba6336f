"""The clock of a web: its time runs faster than ours, or is moved on by hand."""

from __future__ import annotations

import fcntl
import json
import time
from bisect import bisect_right
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

CLOCK_NAME = "clock.jsonl"
MAX_WEB_SECS = 100 * 366 * 86_400.0


@dataclass(frozen=True, slots=True)
class ClockMark:
    """A moment from which on the clock has run evenly.

    Attributes:
        unix: Unix time in seconds.
        web: time of the web then, in seconds since its beginning.
        speed: seconds of the web in one of ours.
    """

    unix: float
    web: float
    speed: float

    def web_time(self, unix: float) -> float:
        """Return the time of the web at a Unix time that is not before the mark."""
        return self.web + max(unix - self.unix, 0.0) * self.speed


class WebClock:
    """Clock of the web, in seconds since its beginning; never runs back.

    Its state is a file of marks, one JSON object per line: processes that share the
    file share the time, and appended marks hold for all of them. A web that is served
    again continues at the time of the clock.

    Args:
        path: file of the marks; made if it is absent. None keeps them in memory.
        speed: seconds of the web in one of ours, from now on; 0 stands still. None
            keeps the present one, 0 for a new clock.

    Raises:
        ConfigError: the file is not a clock's.
    """

    def __init__(self, path: Path | None = None, *, speed: float | None = None) -> None:
        self._path = path
        self._n_bytes = 0
        self._marks: list[ClockMark] = []
        if path is None or not path.exists() or not path.stat().st_size:
            self._append(ClockMark(time.time(), 0.0, speed or 0.0))
        self._read()
        if speed is not None and speed != self._marks[-1].speed:
            self._append(ClockMark(time.time(), self.now(), speed))

    def now(self) -> float:
        """Return the present time of the web."""
        self._read()
        return self._marks[-1].web_time(time.time())

    def web_time(self, unix: float) -> float:
        """Return the time of the web at a Unix time; 0 before its beginning."""
        self._read()
        place = bisect_right(self._marks, unix, key=lambda mark: mark.unix)
        return self._marks[max(place - 1, 0)].web_time(unix)

    @property
    def speed(self) -> float:
        """Seconds of the web that pass now in one of ours."""
        self._read()
        return self._marks[-1].speed

    def advance(self, secs: float) -> float:
        """Move the time of the web on, for all processes; return the new time.

        Raises:
            ConfigError: not a time that lies ahead, within 100 years.
        """
        return self.set_to(self.now() + secs)

    def set_to(self, secs: float) -> float:
        """Move the time of the web on to a time, for all processes; return it.

        Raises:
            ConfigError: not a time that lies ahead, within 100 years.
        """
        now = self.now()
        if not now <= secs <= MAX_WEB_SECS:
            raise ConfigError(
                f"time of the web is {now:g} s, {secs:g} s is not between it and"
                f" {MAX_WEB_SECS:g} s"
            )
        self._append(ClockMark(time.time(), secs, self._marks[-1].speed))
        return secs

    def _append(self, mark: ClockMark) -> None:
        if self._path is None:
            self._marks.append(mark)
            return
        line = json.dumps(asdict(mark)) + "\n"
        try:
            with self._path.open("a", encoding="ascii") as out:
                fcntl.flock(out, fcntl.LOCK_EX)
                out.write(line)
        except OSError as error:
            raise ConfigError(f"cannot write {self._path}: {error.strerror}") from error

    def _read(self) -> None:
        """Read the marks that were appended since the last time, if there are any."""
        if self._path is None:
            return
        try:
            if self._path.stat().st_size == self._n_bytes:
                return
            text = self._path.read_bytes()
            whole = text[: text.rfind(b"\n") + 1]
            self._marks = [ClockMark(**json.loads(line)) for line in whole.splitlines()]
        except (OSError, ValueError, TypeError) as error:
            raise ConfigError(f"{self._path} is no clock of a web: {error}") from error
        if not self._marks:
            raise ConfigError(f"{self._path} is no clock of a web: it is empty")
        self._n_bytes = len(text)
