"""An item pipeline that notes which functions lead a seed, a page or an entry on."""

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
# From the start of the crawl, and of one page.
FROM_START = "RdfSpider.start", "VisitProcessor._process_harvested"
OF_PAGE = "StoreTee.__anext__", "DiscoverPipeline.process_item", "LinkSender.send"
# Neither of them: documents are compared, or sent to the pipelines.
OTHERS = {"StoreTee.__aiter__", "CopiedPages.note", "Scraper.start_itemproc_async"}


class WayProbe:
    """Notes the functions below each stage, in their order.

    They are written to the file that the variable `WAY_PROBE` names: for each stage,
    its stops, which are file and function; comprehensions are none. The page is the
    document whose URL ends in `/page`.
    """

    def __init__(self) -> None:
        self._stops: dict[str, list[list[str]]] = {}
        self._stages = set(FROM_START)
        sys.setprofile(self._note)

    def process_item(self, item: object) -> object:
        """Take notes of the page when it comes."""
        if isinstance(item, Document) and item.url.endswith("/page"):
            self._stages.update(OF_PAGE)
        return item

    def close_spider(self) -> None:
        """Write the notes."""
        sys.setprofile(None)
        text = json.dumps(self._stops)
        Path(os.environ["WAY_PROBE"]).write_text(text, encoding="utf-8")

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(ROOT):
            return
        if "<" in code.co_name or (stage := self._stage_of(frame)) is None:
            return
        stop = [code.co_filename.removeprefix(ROOT), code.co_qualname]
        stops = self._stops.setdefault(stage, [])
        if stop not in stops:
            stops.append(stop)

    def _stage_of(self, frame: FrameType | None) -> str | None:
        while frame is not None:
            name = frame.f_code.co_qualname
            if name in OTHERS:
                return None
            if name in self._stages:
                return name
            frame = frame.f_back
        return None
