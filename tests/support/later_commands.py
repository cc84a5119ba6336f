"""Commands at another time: the clock of their process is ahead."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

from tests.conftest import LOOPBACK_NETS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

DAY_SECS = 86_400
_LATER = """
import sys, time
now, now_ns = time.time, time.time_ns
time.time = lambda: now() + {secs}
time.time_ns = lambda: now_ns() + {secs} * 10**9
from scrapy.cmdline import execute
execute(["scrapy", *sys.argv[1:]])
"""


def run_later(
    secs: int, *words: str, folder: Path, **settings: Any
) -> subprocess.CompletedProcess[bytes]:
    """Run `scrapy <words>` with a clock that is ahead by some seconds."""
    quick = {
        "CRAWL_DIR": folder,
        "DOWNLOAD_DELAY": 0,
        "GUARD_ALLOW_NETS": LOOPBACK_NETS,
        "CONTACT_REQUIRED": False,
        "TDM_POLICY": "ignore",
        "DESCRIBE": "off",
    }
    given: Sequence[str] = [f"-s{name}={x}" for name, x in (quick | settings).items()]
    line = [sys.executable, "-c", _LATER.format(secs=secs), *words, *given]
    return subprocess.run(line, capture_output=True, check=False)
