"""The thresholds of Python's cyclic garbage collector.

A crawl makes few cycles and many objects: with Python's default thresholds, the
collector takes a twentieth of its time, and a tenth of the time of a page.
"""

from __future__ import annotations

import gc
from typing import Final

_THRESHOLDS: Final = (20_000, 20, 20)


def raise_gc_thresholds() -> None:
    """Raise the thresholds in this process and its future forks."""
    gc.set_threshold(*_THRESHOLDS)
