"""The thresholds of Python's cyclic garbage collector.

A crawl makes few cycles and many objects: by Python's own thresholds, the collector
takes a twentieth of its time, and a tenth of that of a page.
"""

from __future__ import annotations

import gc
from typing import Final

_THRESHOLDS: Final = (20_000, 20, 20)


def raise_gc_thresholds() -> None:
    """Raise the thresholds in this process, and in those that are forked from it."""
    gc.set_threshold(*_THRESHOLDS)
