"""Compact the log of a crawl while its workers run.

`BackgroundCompaction` starts `python -m rdfcrawl.stores.log.background`, and writes one
line of JSON to its standard input. The process ends when its standard input does.
"""

from __future__ import annotations

import json
import logging
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn, Self

from rdfcrawl.core.errors import RdfcrawlError
from rdfcrawl.core.json_logs import json_lines, log_to
from rdfcrawl.core.processes import finish, start_module
from rdfcrawl.stores.identity import read_identity
from rdfcrawl.stores.log.compaction import compact
from rdfcrawl.stores.log.crawl_log import CrawlLog

if TYPE_CHECKING:
    import subprocess
    from types import FrameType

logger = logging.getLogger(__name__)

_MODULE: Final = "rdfcrawl.stores.log.background"
_LEAST_SHARE: Final = 0.5  # of a segment, so that each byte is rarely copied
_GROWTH: Final = 1.25  # of the log since the last compaction
_PATIENCE_SECS: Final = 10.0  # at the end of the crawl


class BackgroundCompaction:
    """The process that compacts the log of a crawl, if `COMPACTION_SECS` is set."""

    def __init__(self, process: subprocess.Popen[bytes] | None) -> None:
        self._process = process

    @classmethod
    def begin(cls, root: Path, secs: float) -> Self:
        """Return the process, started; it compacts every so many seconds."""
        if not secs:
            return cls(None)
        log_file = root / "logs" / "compaction.log"
        log_file.parent.mkdir(parents=True, exist_ok=True)
        with log_file.open("ab") as file:
            job = {"root": str(root), "secs": secs, "is_json": bool(json_lines())}
            return cls(start_module(_MODULE, job=job, stdout=file, stderr=file))

    def finish(self) -> None:
        """End the process; terminate a compaction that takes too long."""
        if self._process is not None:
            finish(self._process, patience_secs=_PATIENCE_SECS)


def main() -> None:
    """Compact the log each time it has grown, until standard input ends."""
    given = json.loads(sys.stdin.buffer.readline())
    root, secs = Path(given["root"]), given["secs"]
    log_to(None, is_json=given["is_json"])
    signal.signal(signal.SIGTERM, _leave)
    n_last = 0
    while not select.select([sys.stdin], [], [], secs)[0]:
        n_bytes = _n_bytes(root / "quads")
        if n_bytes < n_last * _GROWTH:
            continue
        try:
            if read_identity(root / "quads") is None:  # nothing is stored yet
                continue
            report = compact(CrawlLog(root), least_share=_LEAST_SHARE, scratch=root)
        except (RdfcrawlError, OSError) as error:
            logger.warning("%s", error)
            continue
        n_last = n_bytes - report.n_bytes_before + report.n_bytes_after
        logger.info("%s", report)


def _n_bytes(folder: Path) -> int:
    """Return the length of all segments in a folder."""
    n_bytes = 0
    for path in folder.glob("*.nq.gz"):
        with suppress(FileNotFoundError):  # it was empty
            n_bytes += path.stat().st_size
    return n_bytes


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    """Exit by an exception, so that `compact` removes its draft."""
    sys.exit(1)


if __name__ == "__main__":
    main()
