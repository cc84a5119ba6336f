"""Commands at another time: the clock of their process is ahead."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

from tests.conftest import LOOPBACK_NETS
from tests.support.command_forks import shared_forks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

DAY_SECS = 86_400
_LATER = """
import sys, time
now, now_ns = time.time, time.time_ns
time.time = lambda: now() + {secs}
time.time_ns = lambda: now_ns() + {secs} * 10**9
from rdfcrawl.core import times
times._time.began_ns += {secs} * 10**9  # set when it was imported
from scrapy.cmdline import execute
execute(["scrapy", *sys.argv[1:]])
"""


def scrapy_later(secs: int) -> list[str]:
    """Return the options of Python for `scrapy` with a clock ahead by some seconds."""
    return ["-c", _LATER.format(secs=secs)]


def run_later(
    secs: int, *words: str, folder: Path, **settings: Any
) -> subprocess.CompletedProcess[str]:
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
    return shared_forks().run(*scrapy_later(secs), *words, *given)
