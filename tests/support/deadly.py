"""Kills its worker, as a document or a robots.txt might."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from rdfcrawl.core.records import Document
from rdfcrawl.downloader.robots import cache, parser

if TYPE_CHECKING:
    from rdfcrawl.downloader.robots.parser import RobotsRecords

_parse = parser.read_records


def _parse_or_die(body: bytes, agent: str) -> RobotsRecords:
    if b"deadly" in body:
        os.kill(os.getpid(), signal.SIGKILL)
    return _parse(body, agent)


class DeadlyRobots:
    """An extension: the worker dies of each robots.txt that says so."""

    def __init__(self) -> None:
        vars(cache)["read_records"] = _parse_or_die


class DeadlyPipeline:
    """Dies of each document whose URL says so."""

    def process_item(self, item: object) -> object:
        """Die, or pass on other documents."""
        if isinstance(item, Document) and item.status and "deadly" in item.url:
            os.kill(os.getpid(), signal.SIGKILL)
        return item
