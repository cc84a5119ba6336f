"""Read the scripts of a page that contain Turtle, RDF/XML and other formats.

Source: Turtle (W3C, 2014), appendix "Embedding Turtle in HTML documents": each script
is a document with its own prefixes and blank nodes; the base is that of the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rdfcrawl.core import formats
from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.rdf import sniffing
from rdfcrawl.rdf.html.jsonld import iter_as_text
from rdfcrawl.rdf.html.visible_text import unescaped
from rdfcrawl.rdf.output import QuadOutput
from rdfcrawl.rdf.parse import DocumentParser

if TYPE_CHECKING:
    from rdfcrawl.rdf.environment import ParseLimits, ReaderContext
    from rdfcrawl.rdf.html.page import ParsedPage

MAX_SCRIPTS: Final = 1000

_OTHERS: Final = (formats.JSON_LD, formats.HDT, formats.HTML)
# Wrappers that hide a script from old browsers and from XML.
_BEGIN = re.compile(
    r"\s*+(?:#|//|/\*)?\s*+(<!--//--><!\[CDATA\[//><!--|<!\[CDATA\[|<!--)"
    r"(?:[ \t]*+\*/|[ \t]*+//)?"
)
_ENDS: Final = {"<!--": "-->", "<![CDATA[": "]]>"}
_QUOTE = re.compile(r"&(?:amp;)*(?:quot|#0*34|#x0*22);", re.IGNORECASE)
_BRACKET = re.compile(r"&(?:amp;)*(?:lt|#0*60|#x0*3c);", re.IGNORECASE)
_MAX_ESCAPED: Final = 4  # times


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
    for number, (declared, text) in enumerate(_scripts(page)):
        if number == MAX_SCRIPTS:
            log.note(Reason.TOO_LARGE, f"more than {MAX_SCRIPTS} scripts")
            return
        found, place = FaultLog(), lines.place_of(text)
        decision = _decided(declared, text := _as_written(page, text, found))
        yield from _read(page, decision, text, environment, limits, found, number)
        name = decision.format.name if decision.format else ""
        for fault in found.all():
            detail = f"{name} in the script{place}: {fault.detail}"
            log.note(fault.reason, detail, fault.count, apart=True)


def _scripts(page: ParsedPage) -> Iterator[tuple[str, str]]:
    """Yield media type and text of each script that is not empty."""
    nodes = page.tree.css("script[type]")
    if any(child.is_element_node for node in nodes for child in node.iter()):
        # Within SVG the parser reads tags; the text is that of the page.
        found = iter_as_text(page)
    else:
        found = ((node.attributes["type"] or "", node.text()) for node in nodes)
    for media_type, text in found:
        form = formats.format_of_media_type(media_type)
        if form is not None and form not in _OTHERS and _unwrapped(text).strip():
            yield media_type, text


def _as_written(page: ParsedPage, text: str, log: FaultLog) -> str:
    """Return the text of a script without wrappers, and without escapes of HTML."""
    inner = _unwrapped(text)
    if page.is_served_as_xml and inner is text and "<" not in text:
        inner = unescaped(text)
    for _ in range(_MAX_ESCAPED):
        is_escaped = "<" not in inner and _BRACKET.search(inner)
        if not (is_escaped or ('"' not in inner and _QUOTE.search(inner))):
            break
        inner = unescaped(inner)
        log.note(Reason.REPAIRED, "HTML entities", apart=True)
    return inner if inner is text else _unwrapped(inner)


def _decided(media_type: str, text: str) -> formats.FormatDecision:
    """Return the format of a script, which may be another one than the declared."""
    head = text[: formats.HEAD_BYTES].encode("utf-8", "replace")
    decision = sniffing.decide(media_type, "", head)
    if decision.format is None or decision.format in _OTHERS[1:]:
        declared = formats.format_of_media_type(media_type)
        return formats.FormatDecision(declared, "content-type")
    return decision


def _unwrapped(text: str) -> str:
    """Return the text of a script without a comment or CDATA section around it."""
    begin = _BEGIN.match(text)
    if begin is None:
        return text
    end = _ENDS.get(begin[1], "//--><!]]>")
    rest = text[begin.end() :].rstrip().removesuffix("*/").rstrip()
    inner = rest.removesuffix(end)
    is_markup = rest.lstrip().startswith("<")
    if end in inner or (inner is rest and begin[1] == "<!--" and not is_markup):
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
    decision: formats.FormatDecision,
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
        decision,
        charset="utf-8",
        base=page.base,
        limits=limits,
        environment=environment,
        log=log,
        output=output,
    )
