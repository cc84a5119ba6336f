"""Counts the settings and arguments that one crawl reads.

`python -m tests.support.reading_probe FILE crawl ...` runs a command of rdfcrawl, and
writes the counts as JSON: how often each declared setting was read, and how often each
function of `COUNTED` was called.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import rdfcrawl
from rdfcrawl.cli import main

if TYPE_CHECKING:
    from types import FrameType

ROOT: Final = str(Path(rdfcrawl.__file__).parent)
COUNTED: Final = {"apply_defaults", "seed_url"}
_GETTER: Final = "BaseSettings.__getitem__"  # the others call it


class ReadingProbe:
    """Records which settings are read, and from where in the package."""

    def __init__(self) -> None:
        self.settings: dict[str, Counter[str]] = {}
        self.calls: Counter[str] = Counter()

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        """Note one call, as a function for `sys.setprofile`."""
        code = frame.f_code
        if event != "call":
            return
        if code.co_qualname in COUNTED and code.co_filename.startswith(ROOT):
            self.calls[code.co_qualname] += 1
        elif code.co_qualname == _GETTER:
            name, reader = frame.f_locals["opt_name"], _reader(frame)
            if reader:
                self.settings.setdefault(name, Counter())[reader] += 1


def _reader(frame: FrameType | None) -> str:
    """Return the function that reads a setting; empty if it is Scrapy's."""
    while frame is not None and "/scrapy/settings/" in frame.f_code.co_filename:
        frame = frame.f_back
    if frame is None or not frame.f_code.co_filename.startswith(ROOT):
        return ""
    return frame.f_code.co_qualname


def run(path: Path, words: list[str]) -> None:
    """Run a command; write the counts when this process ends."""
    probe, process = ReadingProbe(), os.getpid()

    def write() -> None:
        sys.setprofile(None)
        if os.getpid() == process:
            counts = {"settings": probe.settings, "calls": probe.calls}
            path.write_text(json.dumps(counts), encoding="utf-8")

    atexit.register(write)
    sys.argv = ["rdfcrawl", *words]
    sys.setprofile(probe.note)
    main()


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2:])
