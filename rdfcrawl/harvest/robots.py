"""What robots.txt lists, as an answer of a source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.bytesource import head_of
from rdfcrawl.errors import Fault, Reason
from rdfcrawl.robots.parser import MAX_ROBOTS_BYTES, MAX_SITEMAPS
from rdfcrawl.robots.policy import parse_robots

if TYPE_CHECKING:
    from rdfcrawl.records import Document
    from rdfcrawl.robots.policy import RobotsRules


def read_robots(document: Document) -> RobotsRules:
    """Return what a robots.txt says; that there is more of it is a fault."""
    body = head_of(document.response, MAX_ROBOTS_BYTES + 1)
    rules = parse_robots(body)
    if len(body) > MAX_ROBOTS_BYTES:
        detail = f"robots.txt: over {MAX_ROBOTS_BYTES} bytes"
        document.faults.append(Fault(Reason.TOO_LARGE, detail))
    if rules.has_more_sitemaps:
        detail = f"robots.txt: over {MAX_SITEMAPS} sitemaps"
        document.faults.append(Fault(Reason.TOO_MANY_ENTRIES, detail))
    return rules
