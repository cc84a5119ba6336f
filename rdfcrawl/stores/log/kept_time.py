"""Detect a clock that was set back between two runs on a machine.

The latest version of a document counts. After the clock was set back, a worker would
write versions older than those they replace. So each worker keeps its time in
`clock.txt` of the crawl, and the next one continues from there.
"""

from __future__ import annotations

import logging
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.clock import advance_to, now_ms

if TYPE_CHECKING:
    from pathlib import Path

logger = logging.getLogger(__name__)

MOST_AHEAD_MS: Final = 86_400_000
"""Ignore a kept time that is further ahead: the clock was wrong then."""

_NAME: Final = "clock.txt"
_MOST_DIGITS: Final = 16
_LEAST_REPORTED_MS: Final = 1000


class KeptTime:
    """The latest time that the workers of a crawl have reached on this machine.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.
    """

    def __init__(self, root: Path) -> None:
        self._path = root / _NAME

    def resume(self) -> None:
        """Continue from the kept time, if it is ahead of the clock.

        A warning reports the difference. More than a day ahead is not followed.
        """
        ahead_ms = self._read() - now_ms()
        if ahead_ms <= 0:
            return
        if ahead_ms > MOST_AHEAD_MS:
            logger.warning(
                "the clock is %.1f days behind the last document of this crawl: until"
                " then, no fetched document replaces a stored one",
                ahead_ms / MOST_AHEAD_MS,
            )
            return
        advance_to(now_ms() + ahead_ms)
        if ahead_ms >= _LEAST_REPORTED_MS:
            logger.warning(
                "the clock was set back by %d s since the last run: this crawl goes on"
                " from the time of that run",
                ahead_ms // 1000,
            )

    def keep(self) -> None:
        """Keep the current time.

        Raises:
            OSError: the disk cannot be written.
        """
        now = now_ms()
        if self._read() >= now:
            return
        draft = self._path.with_name(f".{_NAME}-{secrets.token_hex(6)}")
        try:
            draft.write_text(f"{now}\n", encoding="ascii")
            draft.replace(self._path)
        except BaseException:
            with suppress(OSError):
                draft.unlink()
            raise

    def _read(self) -> int:
        """Return the kept time in ms; 0 if there is none."""
        try:
            with self._path.open("rb") as file:
                digits = file.read(_MOST_DIGITS).strip()
        except OSError:
            return 0
        return int(digits) if digits.isdigit() else 0
