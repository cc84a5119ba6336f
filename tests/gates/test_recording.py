"""The recording of the first minute in the README."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from tests.support.terminal_recording import PICTURE, drawn, record

if TYPE_CHECKING:
    from pathlib import Path


def texts(svg: str) -> list[str]:
    """Return the lines of a recording, without their numbers."""
    found = ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return [re.sub(r"[\d.,]+", "0", "".join(each.itertext())) for each in found]


def test_the_recording_is_current(tmp_path: Path) -> None:
    """If the output of a command changes, then `make pictures` is due."""
    kept = PICTURE.read_text(encoding="utf-8")
    assert texts(kept) == texts(drawn(record(tmp_path, delay_secs=0)))
    last = max(map(float, re.findall(r"animation-delay:([\d.]+)s", kept)))
    assert last < 30
