"""Extract the RDFa of a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import NeedsSandbox, Reason
from rdfcrawl.rdf.html.host import HostMarkup, sniff_host
from rdfcrawl.rdf.html.page import walk, walk_node
from rdfcrawl.rdf.html.rdfa.events import Event, first_base, read_xml, replay
from rdfcrawl.rdf.html.rdfa.patterns import Triple, copy_patterns
from rdfcrawl.rdf.html.rdfa.processor import RdfaProcessor
from rdfcrawl.rdf.html.rdfa.scope import OutputOverflow, RdfaBudget
from rdfcrawl.rdf.iris import escape_url, resolve

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.rdf.html.page import ParsedPage

# Output limit: 50 times the length of a page, and at least this much.
_MIN_CHARS: Final = 16 * 2**20
_GROWTH: Final = 50
# In a process without bounds, each page gets this much, which takes less than 0.3 s.
_MAX_INLINE_CHARS: Final = 2 * 2**20
_GATHERED: Final = 64  # lines yielded together
_MAX_BASE_CHARS: Final = 4096  # same as in `ParsedPage.base`


def extract_rdfa(
    page: ParsedPage, log: FaultLog, *, version: str = "", is_bounded: bool = True
) -> Iterator[str]:
    """Yield the statements of a page's RDFa as N-Quads, several lines at a time.

    A page that claims to be XML is read as XML if well-formed, else as HTML5
    (`REPAIRED` if served as XML); names of HTML count in any case. Nothing is fetched:
    no document type, profile or vocabulary. `log` takes `TOO_LARGE` if repetition in
    the page exceeds the output limit. `version` ("1.0" or "1.1" of RDFa) overrides
    that of the page. `is_bounded` is that of the process.

    Raises:
        NeedsSandbox: the page may take long, and the process is not bounded.
        SourceFault: see `ParsedPage.tree`.

    Source: RDFa Core 1.1 section 7.5; HTML+RDFa 1.1 section 3; RDFa in XHTML (1.0)
    section 5.5. The vocabularies are not expanded (RDFa Core 1.1 section 10).
    """
    text = page.text
    host = sniff_host(text, media_type=page.media_type, version=version)
    if host.is_xml and not is_bounded and "<!ENTITY" in text:
        raise NeedsSandbox("RDFa with entities")
    read = read_xml(text, is_html=host.is_html) if host.is_xml else None
    if read is None and page.is_served_as_xml:
        log.note(Reason.REPAIRED, "RDFa: XML that is not well-formed, read as HTML")
    document = page.url.partition("#")[0]
    most_chars = max(_MIN_CHARS, _GROWTH * len(text))
    budget = RdfaBudget(most_chars if is_bounded else _MAX_INLINE_CHARS)
    processor = RdfaProcessor(
        host,
        document=document,
        base=_base(page, host, read) or document,
        budget=budget,
        n_elements=text.count("<"),
        is_xml=read is not None,
    )
    overflows = []
    try:
        _process(page, host, read, processor)
    except OutputOverflow:
        overflows.append("RDFa that repeats itself")
    found = processor.statements
    if processor.has_patterns:
        found = _copied(found, budget, overflows)
    if overflows and not is_bounded:
        raise NeedsSandbox(overflows[0])
    for first in range(0, len(found), _GATHERED):
        some = found[first : first + _GATHERED]
        yield "".join([f"{subject} {term} {obj} .\n" for subject, term, obj in some])
    for each in overflows:
        log.note(Reason.TOO_LARGE, each)


def _process(
    page: ParsedPage,
    host: HostMarkup,
    read: list[Event] | None,
    processor: RdfaProcessor,
) -> None:
    if read is not None:
        replay(read, processor)
    elif host.rdfa_version == "1.0":
        walk(page.tree, processor)
    else:
        walk_marked(page.tree, processor)
    processor.close()


def _copied(
    triples: Iterable[Triple], budget: RdfaBudget, overflows: list[str]
) -> list[Triple]:
    """Return the statements with patterns copied, up to the limit."""
    found: list[Triple] = []
    try:
        found.extend(copy_patterns(triples, budget))
    except OutputOverflow:
        overflows.append("RDFa with too many copies of patterns")
    return found


def _base(page: ParsedPage, host: HostMarkup, read: list[Event] | None) -> str:
    """Return the `href` of the `base` element: HTML+RDFa 1.1 section 3.1."""
    if not host.is_html:
        return ""
    if read is None:
        return page.base
    href = (first_base(read) or "").strip()
    if not href or len(href) > _MAX_BASE_CHARS:
        return ""
    return resolve(escape_url(href), page.url).partition("#")[0]


# Attributes that can state something (RDFa Core 1.1 section 7.5). Within an incomplete
# relation, the others can too: they name its object or subject.
_STATING: Final = "[property],[rel],[rev],[typeof],[vocab],[role]"
_NAMING: Final = _STATING + ",[about],[resource],[href],[src]"


def walk_marked(tree: LexborHTMLParser, processor: RdfaProcessor) -> None:
    """Pass the elements that matter to RDFa 1.1 to the processor.

    Most elements of a page state nothing. Selectors find the others in C; only these
    and their ancestors are visited, once each. The result equals that of
    `page.walk`; elements stay open until `close`.
    """
    walk = _MarkedWalk(processor)
    for node in tree.css(_STATING):
        walk.visit(node)


class _MarkedWalk:
    """A walk through one tree in document order."""

    def __init__(self, processor: RdfaProcessor) -> None:
        self._processor = processor
        self._n_open = 0  # elements passed to the processor
        # Number of these around the content of an element, by visited element.
        self._depths: dict[int, int] = {}
        self._is_waiting = False  # an enclosing relation is incomplete

    def visit(self, node: LexborNode) -> None:
        """End elements that do not contain a node; start its ancestors and the node."""
        key = node.mem_id
        # `css` yields an element once per matching selector.
        if key in self._depths:
            return
        processor = self._processor
        above = node.parent
        depth = self._n_open
        if above is None or self._depths.get(above.mem_id) != depth:
            depth = self._go_to(above)
        attributes = node.attributes
        if processor.state(node, attributes):
            self._depths[key] = depth
            return
        self._depths[key] = depth + 1
        self._n_open += 1
        processor.start(node.tag or "", attributes, node.text)
        if processor.is_recording:
            self._process_content(node)
        elif processor.is_waiting and not self._is_waiting:
            self._is_waiting = True
            for inner in node.css(_NAMING):
                self.visit(inner)
            self._is_waiting = False

    def _go_to(self, parent: LexborNode | None) -> int:
        """Go to the parent of a node; return how many elements are open.

        Of it and its ancestors, only the root and the relevant ones go to the
        processor.
        """
        depths = self._depths
        path: list[LexborNode] = []
        above = parent
        while above is not None and above.mem_id not in depths:
            path.append(above)
            above = above.parent
        depth = 0 if above is None else depths[above.mem_id]
        processor = self._processor
        while self._n_open > depth:
            self._n_open -= 1
            processor.end()
        for ancestor in reversed(path):
            if ancestor.is_element_node:
                attributes = ancestor.attributes
                if not depth or processor.is_relevant(ancestor.tag or "", attributes):
                    processor.start(ancestor.tag or "", attributes)
                    depth += 1
            depths[ancestor.mem_id] = depth
        self._n_open = depth
        return depth

    def _process_content(self, node: LexborNode) -> None:
        """Process all content of an element whose markup is recorded."""
        for inner in node.css(_NAMING):
            self._depths[inner.mem_id] = 0
        for child in node.iter(include_text=True):
            walk_node(child, self._processor)
        self._n_open -= 1
        self._processor.end()
