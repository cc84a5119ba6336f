"""The statements of microformats, shortened."""

from __future__ import annotations

import re

from rdfcrawl.core.errors import FaultLog
from rdfcrawl.rdf.checking import iter_checked
from rdfcrawl.rdf.html.microformats import extract_microformats
from rdfcrawl.rdf.html.page import ParsedPage

PREFIXES = {
    "a": "http://www.w3.org/1999/02/22-rdf-syntax-ns#type",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "ical": "http://www.w3.org/2002/12/cal/icaltzd#",
    "schema": "http://schema.org/",
    "mf": "http://microformats.org/profile/",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "": "http://e.org/",
}
URL = "http://e.org/dir/page"


def lines(html: str, log: FaultLog | None = None) -> list[str]:
    """The statements of a page, checked, with IRIs as prefixed names."""
    log = FaultLog() if log is None else log
    page = ParsedPage(html.encode(), url=URL, charset="utf-8")
    checked = b"".join(iter_checked(extract_microformats(page, log), log)).decode()
    return [short(line) for line in checked.splitlines()]


def short(line: str) -> str:
    """Return a statement with prefixed names."""
    line = line.removesuffix(" .").replace(f"<{PREFIXES['a']}>", "a")
    for prefix, start in PREFIXES.items():
        line = re.sub(f"<{re.escape(start)}([^>/#]*)>", f"{prefix}:\\1", line)
    return line


def values(html: str, predicate: str) -> list[str]:
    """The objects of a predicate."""
    found = (line.split(" ", 2) for line in lines(html))
    return [parts[2] for parts in found if parts[1] == predicate]
