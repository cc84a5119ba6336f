"""Read the scripts of a page that contain Turtle, RDF/XML and other formats.

Source: Turtle (W3C, 2014), appendix "Embedding Turtle in HTML documents": each script
is a document with its own prefixes and blank nodes; the base is that of the page.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rdfcrawl.core import formats
from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.rdf.output import QuadOutput
from rdfcrawl.rdf.parse import DocumentParser

if TYPE_CHECKING:
    from rdfcrawl.rdf.environment import ParseLimits, ReaderContext
    from rdfcrawl.rdf.html.page import ParsedPage

MAX_SCRIPTS: Final = 1000

_OTHERS: Final = (formats.JSON_LD, formats.HDT, formats.HTML)
# Wrappers that hide a script from old browsers and from XML.
_BEGIN = re.compile(r"\s*+(?:#|//|/\*)?\s*+(<!\[CDATA\[|<!--)(?:[ \t]*+\*/|[ \t]*+//)?")
_ENDS: Final = {"<!--": "-->", "<![CDATA[": "]]>"}


def extract_scripts(
    page: ParsedPage, environment: ReaderContext, limits: ParseLimits, log: FaultLog
) -> Iterator[bytes]:
    """Yield the statements of all scripts, as canonical N-Quads that may have graphs.

    An unreadable script does not affect the others; its faults name its line.

    Raises:
        NeedsSandbox: a script is not read here.
        SourceFault: see `ParsedPage.tree`.
    """
    lines = _Lines(page.utf8)
    for number, (form, text) in enumerate(_scripts(page)):
        if number == MAX_SCRIPTS:
            log.note(Reason.TOO_LARGE, f"more than {MAX_SCRIPTS} scripts")
            return
        found, place = FaultLog(), lines.place_of(text)
        yield from _read(page, form, text, environment, limits, found, number)
        for fault in found.all():
            detail = f"{form.name} in the script{place}: {fault.detail}"
            log.note(fault.reason, detail, fault.count, apart=True)


def _scripts(page: ParsedPage) -> Iterator[tuple[formats.Format, str]]:
    for node in page.tree.css("script[type]"):
        form = formats.format_of_media_type(node.attributes["type"] or "")
        if form is None or form in _OTHERS:
            continue
        written = node.text()
        text = _unwrapped(written)
        if page.is_served_as_xml and text is written and "<" not in text:
            text = html.unescape(text)
        if text.strip():
            yield form, text


def _unwrapped(text: str) -> str:
    """Return the text of a script without a comment or CDATA section around it."""
    begin = _BEGIN.match(text)
    if begin is None:
        return text
    end = _ENDS[begin[1]]
    rest = text[begin.end() :].rstrip().removesuffix("*/").rstrip()
    inner = rest.removesuffix(end)
    if inner is rest or end in inner:
        return text
    return inner.rstrip().removesuffix("//").removesuffix("/*").removesuffix("#")


class _Lines:
    """Finder of the lines at which scripts begin, in one pass through a page."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position, self._line = 0, 1

    def place_of(self, text: str) -> str:
        """Return the place of the next script; empty if it is not found."""
        written = text.strip().encode("utf-8", "replace")
        found = self._data.find(written, self._position)
        if found < 0:
            self._data = b""  # nor are later ones searched
            return ""
        self._line += self._data.count(b"\n", self._position, found)
        place = f" at line {self._line}"
        self._line += written.count(b"\n")
        self._position = found + len(written)
        return place


def _read(
    page: ParsedPage,
    form: formats.Format,
    text: str,
    environment: ReaderContext,
    limits: ParseLimits,
    log: FaultLog,
    number: int,
) -> Iterator[bytes]:
    """Yield the statements of one script; the page places their graphs."""
    output = QuadOutput(
        url=page.url,
        graph=None,
        key=f"script{number} {page.url}",
        trust="all",
        limits=limits,
        log=log,
    )
    yield from DocumentParser(
        ByteSource(text.strip().encode("utf-8", "replace")),
        formats.FormatDecision(form, "content-type"),
        charset="utf-8",
        base=page.base,
        limits=limits,
        environment=environment,
        log=log,
        output=output,
    )
