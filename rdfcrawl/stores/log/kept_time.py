"""The time up to which a crawl has come on a machine: a clock set back is noticed.

Of several versions of a document the latest one counts. A worker that begins after the
clock was set back would write versions that are older than those which they are to
replace. So it goes on from the time that is kept here, in `clock.txt` of the crawl.
"""

from __future__ import annotations

import logging
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.clock import begin_at, now_ms

if TYPE_CHECKING:
    from pathlib import Path

logger = logging.getLogger(__name__)

MOST_AHEAD_MS: Final = 86_400_000
"""How far the time that is kept may be ahead: one further ahead was a wrong one."""

_NAME: Final = "clock.txt"
_MOST_DIGITS: Final = 16
_LEAST_TOLD_MS: Final = 1000


class KeptTime:
    """The time that the workers of a crawl on this machine have come to.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.
    """

    def __init__(self, root: Path) -> None:
        self._path = root / _NAME

    def go_on(self) -> None:
        """Let the time of this process go on from there, if it is ahead of the clock.

        The operator is told. More than a day it is not followed.
        """
        ahead_ms = self._read() - now_ms()
        if ahead_ms <= 0:
            return
        if ahead_ms > MOST_AHEAD_MS:
            logger.warning(
                "the clock is %.1f days behind what this crawl has stored: until then,"
                " nothing that is fetched replaces it",
                ahead_ms / MOST_AHEAD_MS,
            )
            return
        begin_at(now_ms() + ahead_ms)
        if ahead_ms >= _LEAST_TOLD_MS:
            logger.warning(
                "the clock was set back by %d s since the last run: the times of this"
                " crawl go on from then",
                ahead_ms // 1000,
            )

    def keep(self) -> None:
        """Keep the present time.

        Raises:
            OSError: the disk refuses it.
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
        """Return the time that is kept, in ms; 0 if there is none."""
        try:
            with self._path.open("rb") as file:
                digits = file.read(_MOST_DIGITS).strip()
        except OSError:
            return 0
        return int(digits) if digits.isdigit() else 0
