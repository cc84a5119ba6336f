"""An item pipeline that notes which functions lead the links of a page to Redis."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rdfcrawl
from rdfcrawl.core.records import Document

if TYPE_CHECKING:
    from types import FrameType

ROOT = str(Path(rdfcrawl.__file__).parent)
STAGES = "DiscoverPipeline.process_item", "LinkSender.send"
# Other stages: the document is read and stored, and compared with others.
OTHERS = {"StoreTee.__aiter__", "StoreTee.__anext__", "CopiedPages.note"}


class WayProbe:
    """Notes, from one document on, the functions below each stage, in their order.

    They are written to the file that the variable `WAY_PROBE` names: for each stage,
    its stops, which are file and function; comprehensions are none. The document is
    the one whose URL ends in `/page`.
    """

    def __init__(self) -> None:
        self._stops: dict[str, list[list[str]]] = {stage: [] for stage in STAGES}

    def process_item(self, item: object) -> object:
        """Begin to take notes when the page comes."""
        if isinstance(item, Document) and item.url.endswith("/page"):
            sys.setprofile(self._note)
        return item

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(ROOT):
            return
        stop = [code.co_filename.removeprefix(ROOT), code.co_qualname]
        stage = _stage_of(frame)
        if stage and "<" not in code.co_name and stop not in self._stops[stage]:
            self._stops[stage].append(stop)
            text = json.dumps(self._stops)
            Path(os.environ["WAY_PROBE"]).write_text(text, encoding="utf-8")


def _stage_of(frame: FrameType | None) -> str:
    while frame is not None:
        name = frame.f_code.co_qualname
        if name in OTHERS:
            return ""
        if name in STAGES:
            return name
        frame = frame.f_back
    return ""
