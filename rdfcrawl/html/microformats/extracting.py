"""Extract the microformats of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mf2py

from rdfcrawl.errors import Reason
from rdfcrawl.html.microformats.gathering import ItemGatherer
from rdfcrawl.html.microformats.writing import MicroformatWriter
from rdfcrawl.html.walking import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.faultlog import FaultLog
    from rdfcrawl.html.page import ParsedPage


def extract_microformats(page: ParsedPage, log: FaultLog) -> Iterator[str]:
    """Yield the statements of a page's microformats as lines of N-Quads.

    `docs/reference/microformats.md` lists them. Nothing is fetched. `log` takes
    `TOO_DEEP` and `TOO_LARGE` for items that would take too long, and `PARSE_CRASH` if
    mf2py fails.

    Raises:
        SourceFault: see `ParsedPage.tree`.

    Source: the microformats2 parsing specification, and its rules for classic
    microformats.
    """
    gatherer = ItemGatherer(page.default_language, page.base, log)
    walk(page.tree, gatherer)
    writer = MicroformatWriter(page.url.partition("#")[0], gatherer.authored)
    for soup in gatherer.items:
        try:
            parsed = mf2py.parse(doc=soup, url=page.base, expose_dom=True)
        except Exception as error:
            # Items of others must not be lost by what a library does with this one.
            log.note(Reason.PARSE_CRASH, f"mf2py: {error!r}")
            continue
        for item in parsed["items"]:
            yield from writer.statements(item)
