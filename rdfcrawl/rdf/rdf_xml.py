"""Read RDF/XML that the strict parser refuses.

The first reader of RDF/XML is pyoxigraph, which ends at the first error. This one
mends (`REPAIRED`), or leaves out a statement (`BAD_TERM`) or a part of the text
(`SYNTAX`), and reads on. It yields statements in the order of pyoxigraph, so that it
can replace it in the middle of a document.

Names are resolved by `MarkupScanner`, which also reads text that is not well-formed.

Source: RDF 1.1 and 1.2 XML Syntax; old forms as in RDF Model and Syntax of 1999.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, BinaryIO, Final

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.messages import counted
from rdfcrawl.core.namespaces import RDF, XML
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.markup import NO_TEXT, MarkupScanner, StartTag
from rdfcrawl.rdf.rdf_xml_parts import StrictParts
from rdfcrawl.rdf.rdf_xml_terms import (
    OF_PROPERTIES,
    OLD,
    RESERVED,
    SYNTAX,
    RdfXmlElement,
    TermMaker,
    UnusableTerm,
    is_node,
    reason_against,
)
from rdfcrawl.rdf.trix import XmlContent

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.rdf.environment import ParseLimits

_ITS: Final = "http://www.w3.org/2005/11/its"
# Pictures and packets of metadata that have RDF: SVG and XMP
_HOSTS: Final = ("http://www.w3.org/2000/svgsvg", "adobe:ns:meta/")
_XSI: Final = "http://www.w3.org/2001/XMLSchema-instance"
_TYPE: Final = f"<{RDF}type>"
_XML_LITERAL: Final = f"{RDF}XMLLiteral"
_NO_TRIPLE: Final = UnusableTerm("rdf:parseType Triple without rdf:version")
_NO_LITERAL: Final = UnusableTerm("no literal, or a long one")
_RDF = re.compile(r"<(?:[\w.-]+:)?RDF[\s>]")
_NAMING: Final = ("about", "ID", "nodeID")
_HEAD_CHARS: Final = 4096  # before the RDF in another document
_RELATIVE = re.compile(r"[\w./#?-]+\Z")


class RdfXmlReader:
    """Reader of one document, in UTF-8; `is_partial` if it ends within an element.

    `scope` separates the labels of blank nodes from those of other documents.
    """

    def __init__(
        self, base: str, *, limits: ParseLimits, log: FaultLog, scope: str = ""
    ) -> None:
        self._log, self._limits = log, limits
        self._terms = TermMaker(scope, log=log, note=self._note)
        self._open = [RdfXmlElement("doc", "", base, "", "")]
        self._ready: list[str] = []
        self._held: list[list[tuple[str, str, str]]] = []  # of triple terms
        self._has_version = False  # of RDF 1.2
        self.is_partial = False

    def read(self, file: BinaryIO) -> Iterator[str]:
        """Yield the statements, unchecked.

        Raises:
            SourceFault: entities that grow too much, or a tag that is too long.
        """
        markup = MarkupScanner(file, self._log)
        parts = StrictParts(self._terms.ids)
        for event in markup.events():
            if ready := self.feed(event, markup):
                yield from ready
            if len(self._open) == 2 and not isinstance(event, str):
                root = self._open[1]
                if root.kind == "rdf" and not self._has_version:
                    yield from parts.read(markup, root)
            if self.is_partial:  # too many errors
                return
        self.is_partial |= markup.is_cut
        for inner in self._open:
            self._emit_first(inner)
        yield from self._ready

    def feed(self, event: str | StartTag | bool, markup: MarkupScanner) -> list[str]:
        """Read the next event, and return the statements that are complete."""
        self._markup = markup
        if type(event) is str:
            self._text(event)
        elif isinstance(event, StartTag):
            self._start(event)
        elif isinstance(event, str):
            self._aside(event)
        else:
            self._end(is_closed=event)
        ready = self._ready
        if ready:
            self._ready = []
        return ready

    # -- elements ------------------------------------------------------------------

    def _start(self, tag: StartTag) -> None:
        around = self._open[-1]
        if around.kind == "literal":
            if around.content is not None and self._has_room(around, len(tag.name)):
                around.content.start(tag.qualified, tag.qualified_attributes)
            self._open.append(RdfXmlElement("literal", tag.name, None, "", ""))
            self._open[-1].content = around.content
            return
        inner = RdfXmlElement(
            "node", tag.name, around.base, around.language, around.direction
        )
        is_rdf = tag.name == f"{RDF}RDF"
        is_root_of_host = around.kind == "doc" and tag.name.startswith(_HOSTS)
        if (around.kind == "host" or is_root_of_host) and not is_rdf:
            inner.kind = "host"
            self._open.append(inner)
            return
        known, others = self._sorted_attributes(tag, inner)
        self._open.append(inner)
        if around.kind == "doc" and not is_rdf and self._is_around(tag, known):
            inner.kind = "doc"  # the RDF may be inside
            self._skip(f"the root is {tag.name}")
        elif is_rdf:
            if around.kind not in ("doc", "host"):
                self._skip("rdf:RDF inside of RDF")
            inner.kind = "rdf"
            if around.kind in ("property", "list"):
                inner.kind, inner.objects = "nested", around.objects
            others = [pair for pair in others if not pair[0].startswith(_XSI)]
            self._skip_attributes(inner, known.keys() & SYNTAX - {"version"}, others)
        elif around.kind == "node" and not is_node(tag.name, known, around):
            self._start_property(around, inner, known, others)
        else:
            if around.kind == "node":
                self._note(Reason.BAD_TERM, f"{tag.name} is no property")
            self._start_node(around, inner, known, others)

    def _is_around(self, tag: StartTag, known: dict[str, str]) -> bool:
        """Return whether an element is not RDF, but may have some."""
        if known or not tag.has_namespace:
            return not tag.has_namespace
        is_root = len(self._open) == 2
        return not is_root or bool(_RDF.search(self._markup.ahead(_HEAD_CHARS)))

    def _sorted_attributes(
        self, tag: StartTag, inner: RdfXmlElement
    ) -> tuple[dict[str, str], list[tuple[str, str]]]:
        """Return attributes of the syntax of RDF, and properties with their values."""
        known: dict[str, str] = {}
        others: list[tuple[str, str]] = []
        for namespace, local, value in tag.attributes:
            if namespace == RDF and local not in RESERVED and local != "type":
                others.append((namespace + local, value))
            elif namespace == RDF or (not namespace and local in OLD):
                if not namespace:
                    self._mend(f"{local} without a namespace")
                if local in SYNTAX:
                    known.setdefault(local, value)
                else:
                    known["removed"] = local
                    self._skip(f"rdf:{local} is not read")
            elif namespace in (XML, _ITS):
                self._set_scope(inner, local, value)
            elif namespace:
                others.append((namespace + local, value))
            elif not local.startswith("xml"):  # reserved names are ignored
                self._skip(f"attribute {local} without a namespace")
        self._has_version |= "version" in known
        return known, others

    def _set_scope(self, inner: RdfXmlElement, local: str, value: str) -> None:
        if local == "lang":
            inner.language = self._terms.language(value)
        elif local == "base":
            inner.base = self._terms.base(value, inner.base)
        elif local == "dir":
            inner.direction = value if value in ("ltr", "rtl") else ""

    def _start_node(
        self,
        around: RdfXmlElement,
        inner: RdfXmlElement,
        known: dict[str, str],
        others: list[tuple[str, str]],
    ) -> None:
        subject = self._subject(inner, known)
        inner.subject = subject
        name = inner.name
        if known.keys() & OF_PROPERTIES:
            self._skip_attributes(inner, known.keys() & OF_PROPERTIES)
        if name.startswith(RDF) and name[len(RDF) :] in RESERVED:
            self._skip(f"{name} is no class")
        elif name != f"{RDF}Description":
            is_unclear = around.objects or "".join(around.text).strip(" \t\r\n")
            if (
                around.kind == "property"
                and is_unclear
                and not known.keys() & {*_NAMING}
            ):
                around.types.append((subject, self._named(name)))
            else:
                self._emit(subject, _TYPE, self._named(name))
        self._emit_attributes(inner, subject, known, others)
        if around.kind in ("property", "list", "nested", "triple"):
            if ":" not in name and not known.keys() & {*_NAMING}:
                subject = UnusableTerm(f"{name[:100]} is markup of a text")
            around.objects.append(subject)

    def _subject(self, inner: RdfXmlElement, known: dict[str, str]) -> str:
        if known.get("removed") in ("aboutEach", "aboutEachPrefix"):
            return UnusableTerm(f"rdf:{known['removed']} is not read")
        names = [each for each in _NAMING if each in known]
        if len(names) > 1:
            self._mend(f"both rdf:{names[0]} and rdf:{names[1]}")
        match names[:1]:
            case ["about"]:
                return self._terms.reference(known["about"], inner.base)
            case ["ID"]:
                return self._terms.identifier(known["ID"], inner.base)
            case ["nodeID"]:
                return self._terms.label(known["nodeID"])
        return self._terms.blank()

    def _emit_attributes(
        self,
        inner: RdfXmlElement,
        subject: str,
        known: dict[str, str],
        others: list[tuple[str, str]],
    ) -> None:
        if "type" in known:
            self._emit(subject, _TYPE, self._terms.reference(known["type"], inner.base))
        for name, value in reversed(others):
            self._emit(subject, self._named(name), self._literal(value, inner))

    def _start_property(
        self,
        node: RdfXmlElement,
        inner: RdfXmlElement,
        known: dict[str, str],
        others: list[tuple[str, str]],
    ) -> None:
        inner.kind, inner.subject, base = "property", node.subject, inner.base
        inner.predicate = self._predicate(inner.name, node)
        if "ID" in known:
            inner.statement_id = self._terms.identifier(known["ID"], base)
        if "annotation" in known:
            inner.annotation = self._terms.reference(known["annotation"], base)
        elif "annotationNodeID" in known:
            inner.annotation = self._terms.label(known["annotationNodeID"])
        if "datatype" in known:
            inner.datatype = self._terms.reference(known["datatype"], base)
        self._skip_attributes(inner, known.keys() & {"about"})
        if "parseType" in known:
            besides = known.keys() & {"resource", "nodeID", "datatype", "type"}
            self._skip_attributes(inner, besides, others)
            self._start_parse_type(inner, known["parseType"])
        elif known.keys() & {"resource", "nodeID", "type"} or others:
            target = self._target(known, base)
            inner.objects.append(target)
            self._emit_attributes(inner, target, known, others)

    def _skip_attributes(
        self,
        inner: RdfXmlElement,
        names: Iterable[str],
        others: Iterable[tuple[str, str]] = (),
    ) -> None:
        """Note attributes that an element must not have."""
        of = inner.name.removeprefix(RDF)
        for each in (*sorted(names), *(name for name, _ in others)):
            self._skip(f"attribute {each} of {of} is not read")

    def _predicate(self, name: str, node: RdfXmlElement) -> str:
        if name == f"{RDF}li":
            node.n_members += 1
            return f"<{RDF}_{node.n_members}>"
        if name.startswith(RDF) and name[len(RDF) :] in RESERVED | {"Description"}:
            return UnusableTerm(f"{name} is no property")
        return self._named(name)

    def _target(self, known: dict[str, str], base: str | None) -> str:
        if "resource" in known:
            if "nodeID" in known:
                self._mend("both rdf:resource and rdf:nodeID")
            return self._terms.reference(known["resource"], base)
        return (
            self._terms.label(known["nodeID"])
            if "nodeID" in known
            else self._terms.blank()
        )

    def _start_parse_type(self, inner: RdfXmlElement, parse_type: str) -> None:
        if parse_type == "Resource":
            target = self._terms.blank()
            self._emit_property(inner, target)
            inner.kind, inner.subject = "node", target
        elif parse_type == "Collection":
            inner.kind = "list"
        elif parse_type == "Triple":
            inner.kind = "triple"
            self._held.append([])
            if not self._has_version:
                inner.predicate = _NO_TRIPLE
        else:  # section 7.2.20: any other value is read as Literal
            inner.kind, inner.content = "literal", XmlContent()

    def _end(self, *, is_closed: bool) -> None:
        """End the innermost element, which may lack its end tag."""
        inner = self._open.pop()
        if inner.kind in ("doc", "host", "rdf", "nested", "node"):
            return
        triples = self._held.pop() if inner.kind == "triple" else []
        if inner.kind == "literal" and self._open[-1].kind == "literal":
            if inner.content is not None:
                inner.content.end()
            if not is_closed:
                self._give_up_literal()
        elif not is_closed:
            self._note(Reason.SYNTAX, f"the end of {inner.name} is missing")
            self._emit_first(inner)
        elif inner.kind == "triple":
            term = f"<<( {' '.join(triples[0] if triples else ())} )>>"
            if len(triples) != 1:
                n_triples = counted(len(triples), "triple")
                term = UnusableTerm(f"a triple term of {n_triples}")
            self._emit_property(inner, term)
        elif inner.kind == "list":
            self._emit_list(inner)
        elif inner.kind == "literal":
            text = inner.content.markup() if inner.content else _NO_LITERAL
            self._emit_property(inner, self._typed(text, f"<{_XML_LITERAL}>"))
        else:
            self._emit_objects(inner)

    # -- statements ----------------------------------------------------------------

    def _emit(self, subject: str, predicate: str, obj: str) -> None:
        for term in (subject, predicate, obj):
            if isinstance(term, UnusableTerm):
                self._note(Reason.BAD_TERM, term)
                return
        if self._held:
            self._held[-1].append((subject, predicate, obj))
        else:
            self._ready.append(terms.statement(subject, predicate, obj))

    def _emit_property(self, inner: RdfXmlElement, obj: str) -> None:
        subject, predicate = inner.subject, inner.predicate
        self._emit(subject, predicate, obj)
        if not inner.annotation and not inner.statement_id:
            return
        if any(isinstance(term, UnusableTerm) for term in (subject, predicate, obj)):
            return
        if inner.annotation:
            triple = f"<<( {subject} {predicate} {obj} )>>"
            self._emit(inner.annotation, f"<{RDF}reifies>", triple)
        if inner.statement_id:
            about = inner.statement_id
            self._emit(about, f"<{RDF}object>", obj)
            self._emit(about, f"<{RDF}predicate>", predicate)
            self._emit(about, f"<{RDF}subject>", subject)
            self._emit(about, _TYPE, f"<{RDF}Statement>")

    def _emit_objects(self, inner: RdfXmlElement) -> None:
        text = "".join(inner.text)
        if not inner.objects:
            if inner.n_chars > self._limits.literal_bytes:
                text = UnusableTerm("a long literal")
            inner.objects.append(self._literal(text, inner))
        elif text.strip(" \t\r\n"):
            self._skip(f"text besides a node: {text.strip()[:100]}")
        elif inner.datatype:
            self._mend("rdf:datatype of a node")
        if len(inner.objects) > 1:
            self._mend("several nodes in one property")
        for obj in inner.objects:
            self._emit_property(inner, obj)
        for subject, name in inner.types:
            self._emit(subject, _TYPE, name)

    def _emit_first(self, inner: RdfXmlElement) -> None:
        """Emit an open property; the nodes after its first one may be properties."""
        is_clear = not "".join(inner.text).strip("> \t\r\n")
        if inner.kind == "property" and inner.objects and is_clear:
            self._emit_property(inner, inner.objects[0])
        for _, name in inner.types:
            self._skip(f"{name} in a property without end")

    def _emit_list(self, inner: RdfXmlElement) -> None:
        nodes = [self._terms.blank() for _ in inner.objects]
        ends = [*nodes, f"<{RDF}nil>"]
        self._emit_property(inner, ends[0])
        for number, obj in enumerate(inner.objects):
            self._emit(ends[number], f"<{RDF}rest>", ends[number + 1])
            self._emit(ends[number], f"<{RDF}first>", obj)

    def _text(self, text: str) -> None:
        inner = self._open[-1]
        if inner.kind == "property":
            inner.n_chars += len(text)
            if inner.n_chars <= self._limits.literal_bytes:
                inner.text.append(text)
        elif inner.kind == "literal":
            if inner.content is not None and self._has_room(inner, len(text)):
                inner.content.text(text)
        elif inner.kind != "host" and text.strip(" \t\r\n\ufeff"):
            self._skip(f"text between elements: {text.strip()[:100]}")

    def _aside(self, text: str) -> None:
        content = self._open[-1].content
        if content is None or not self._has_room(self._open[-1], len(text)):
            return
        if text.startswith("<!"):
            content.comment(text[4:-3])
        else:
            target, _, data = text[2:-2].partition(" ")
            content.instruction(target, data.strip())

    def _has_room(self, inner: RdfXmlElement, n_chars: int) -> bool:
        """Return whether an XML literal may grow; else it is given up."""
        content = inner.content
        if content is None or content.n_chars + n_chars <= self._limits.literal_bytes:
            return True
        self._give_up_literal()
        return False

    def _give_up_literal(self) -> None:
        for each in self._open:
            each.content = None

    # -- terms ---------------------------------------------------------------------

    def _literal(self, text: str, inner: RdfXmlElement) -> str:
        if inner.datatype:
            return self._typed(text, inner.datatype)
        if bad := reason_against(text) or reason_against(inner.language):
            return bad
        language = inner.language
        if inner.direction and not self._has_version:
            self._mend("its:dir without rdf:version")
        elif language and inner.direction:
            language += f"--{inner.direction}"
        return terms.literal(text, language=language)

    def _typed(self, text: str, datatype: str) -> str:
        bad = reason_against(text) or reason_against(datatype)
        return bad or f"{terms.literal(text)}^^{datatype}"

    def _named(self, name: str) -> str:
        """Return the term of a name; one without a namespace is no IRI."""
        if name in self._markup.unbound:
            return UnusableTerm(f"{name} has no namespace")
        found = self._terms.reference(name, None)
        if isinstance(found, UnusableTerm) and _RELATIVE.match(name):
            found = self._terms.reference(name, self._open[0].base)
            self._mend(f"a relative namespace: {name[:100]}")
        return found

    # -- faults --------------------------------------------------------------------

    def _note(self, reason: Reason, detail: str) -> None:
        detail = detail.replace(NO_TEXT, "?")
        self._log.note(reason, f"{self._markup.place()}{detail}")

    def _mend(self, detail: str) -> None:
        self._note(Reason.REPAIRED, detail)

    def _skip(self, detail: str) -> None:
        self._note(Reason.SYNTAX, detail)
        self.is_partial = self._log.count(Reason.SYNTAX) >= self._limits.n_errors
