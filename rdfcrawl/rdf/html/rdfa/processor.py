"""Process RDFa element by element, without recursion.

The steps are those of RDFa Core 1.1 section 7.5; where RDFa 1.0 differs, those of
"RDFa in XHTML: Syntax and Processing" section 5.5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rdfcrawl.core.namespaces import RDF, RDF_TYPE, RDFA, XHTML, XHV
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.html.rdfa.elements import (
    RdfaElement,
    find_subject,
    find_subject_first,
    plain_value,
    time_datatype,
    typed_or_plain,
    value_of_plain,
)
from rdfcrawl.rdf.html.rdfa.patterns import PATTERN, Triple
from rdfcrawl.rdf.html.rdfa.recorder import KeptContent, LiteralRecorder, Mark
from rdfcrawl.rdf.html.rdfa.scope import RdfaBudget, RdfaNames, RdfaScope, Undo
from rdfcrawl.rdf.iris import escape_url, resolve
from rdfcrawl.rdf.terms import language_tag

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from rdfcrawl.rdf.html.host import HostMarkup
    from rdfcrawl.rdf.html.page import Attributes

_TYPE = terms.iri(RDF_TYPE)
_FIRST = terms.iri(RDF + "first")
_REST = terms.iri(RDF + "rest")
_NIL = terms.iri(RDF + "nil")
_XML_LITERAL = RDF + "XMLLiteral"
_HTML_LITERAL = RDF + "HTML"
_FORMS = {_XML_LITERAL: KeptContent.XML, _HTML_LITERAL: KeptContent.HTML}
_USES_VOCABULARY = terms.iri(RDFA + "usesVocabulary")

# An element without any of these (and without `xmlns`) changes nothing.
_RELEVANT = frozenset(
    (
        *("about", "property", "rel", "rev", "resource", "typeof", "href", "src"),
        *("vocab", "prefix", "lang", "xml:lang", "xml:base", "role"),
    )
)
_SCOPING = frozenset(["vocab", "lang", "xml:lang", "xml:base"])
_SECTIONS = frozenset({"head", "body"})
_ROLE = terms.iri(XHV + "role")
_LINE = 16  # characters of a statement without its terms


class _Literal:
    """Properties with the content of an open element as value.

    Attributes:
        slots: lists that wait for the value, with positions.
        text: the content, if it was available at the start; else it is recorded.
    """

    def __init__(self, datatype: str | None, language: str, *, is_time: bool) -> None:
        self.datatype = datatype
        self.language = language
        self.is_time = is_time
        self.text: str | None = None
        self.marks: dict[KeptContent, Mark] = {}
        self.predicates: list[str] = []
        self.slots: list[tuple[list[str], int]] = []


class _Frame:
    """An open element, with the lists and the literal to write at its end."""

    __slots__ = ("lists", "literal", "name", "scope", "subject", "undo")

    def __init__(self, name: str, scope: RdfaScope) -> None:
        self.name = name
        self.scope = scope
        self.subject = ""
        self.lists: list[tuple[str, dict[str, list[str]]]] = []
        self.literal: _Literal | None = None
        self.undo: Undo = []


class RdfaProcessor:
    """Handler that gathers the RDFa statements of a page.

    `n_elements` is an estimate; `is_xml` is set if the page was read as XML.

    Attributes:
        statements: found so far, as N-Quads terms.
        has_patterns: whether some describe property patterns.
    """

    def __init__(
        self,
        host: HostMarkup,
        *,
        document: str,
        base: str,
        budget: RdfaBudget,
        n_elements: int,
        is_xml: bool,
    ) -> None:
        self.statements: list[Triple] = []
        self.has_patterns = False
        self._host = host
        self._is_first = host.rdfa_version == "1.0"
        # XHTML 1 pages use HTML5 attributes too: one set of rules for all.
        self._has_html_rules = host.is_html and not self._is_first
        self._names = RdfaNames(
            host,
            document=document,
            default_namespace="" if is_xml else XHTML,
            budget=budget,
        )
        self._recorder = LiteralRecorder(budget)
        self._spend = budget.spend
        self._document = terms.iri(base)
        scope = RdfaScope(base, self._document)
        self._frames = [_Frame("", scope)]
        self._frames[0].lists.append((self._document, scope.lists))
        # by the attributes of elements; see `value_of_plain`
        self._sources: dict[tuple[str, ...], str] = {}
        self._n_muted = 0
        self._n_elements = n_elements
        self._text_depth = self._max_text_depth = 0

    @property
    def is_recording(self) -> bool:
        """Whether the content of the innermost element is recorded."""
        return self._recorder.n_open > 0

    @property
    def is_waiting(self) -> bool:
        """Whether a relation waits for a resource named within the element."""
        return bool(self._frames[-1].scope.incomplete)

    def start(
        self,
        name: str,
        attributes: Attributes,
        read_text: Callable[[], str] | None = None,
    ) -> None:
        """Handle the start of an element; like `end`, may raise `OutputOverflow`.

        `read_text` returns its text, if it need not be recorded.
        """
        if self._recorder.n_open:
            self._recorder.start(name, attributes)
        outer = self._frames[-1]
        frame = _Frame(name, outer.scope)
        if self._is_first and (self._n_muted or self._is_markup(outer)):
            # RDFa 1.0: the content of an XML literal is not processed.
            self._n_muted += 1
        elif self.is_relevant(name, attributes):
            self._process(name, attributes, frame, read_text)
        self._frames.append(frame)

    def state(self, node: LexborNode, attributes: Attributes) -> bool:
        """Write the statements of a plain element; return False for other elements.

        Otherwise pass the element to `start`.
        """
        scope = self._frames[-1].scope
        is_inner = self._has_html_rules and len(self._frames) > 1
        keys = tuple(attributes)
        source = self._sources.get(keys)
        if source is None:
            source = self._sources[keys] = value_of_plain(keys)
        if scope.incomplete or not is_inner or not source:
            return False
        names = self._names
        value = plain_value(source, node, attributes, scope, names)
        if not value:
            return False
        subject = scope.object
        n_chars = _LINE + len(subject) + len(value)
        for predicate in names.words(attributes["property"] or "", scope):
            if predicate[0] == "<":
                self._spend(n_chars + len(predicate))
                self.statements.append((subject, predicate, value))
                self.has_patterns |= value == PATTERN
        return True

    def text(self, text: str) -> None:
        """Handle text."""
        if self._recorder.n_open:
            self._recorder.text(text, self._frames[-1].name)

    def comment(self, text: str) -> None:
        """Handle a comment."""
        if self._recorder.n_open:
            self._recorder.comment(text)

    def end(self) -> None:
        """Handle the end of the innermost element."""
        frame = self._frames.pop()
        if frame.literal:
            self._finish_literal(frame.literal, frame.subject)
        for subject, lists in frame.lists:
            for predicate, members in lists.items():
                self._write_list(subject, predicate, members)
        if frame.undo:
            self._names.undo(frame.undo)
        if self._n_muted:
            self._n_muted -= 1
        if self._recorder.n_open:
            self._recorder.stop(frame.name)

    def close(self) -> None:
        """Handle the end of the page."""
        while self._frames:
            self.end()

    def _is_markup(self, outer: _Frame) -> bool:
        if outer.literal is None or outer.literal.datatype not in {None, _XML_LITERAL}:
            return False
        outer.literal.datatype = _XML_LITERAL
        return True

    def is_relevant(self, name: str, attributes: Attributes) -> bool:
        """Return whether an element may state something or change the inner scope."""
        if not _RELEVANT.isdisjoint(attributes):
            return True
        if self._is_first and name in _SECTIONS:
            return True
        return any(key.startswith("xmlns") for key in attributes)

    def _process(
        self,
        name: str,
        attributes: Attributes,
        frame: _Frame,
        read_text: Callable[[], str] | None,
    ) -> None:
        outer = frame.scope
        frame.undo = self._names.declare(attributes)
        scope = self._inherit(attributes, outer)
        if "role" in attributes and not self._is_first:
            self._state_role(attributes, scope)
        element = RdfaElement(name, attributes, outer=outer, scope=scope)
        element.is_root = len(self._frames) == 1
        element.is_section = name in _SECTIONS and self._host.is_html
        if "rel" in attributes or "rev" in attributes:
            self._read_links(element)
        find = find_subject_first if self._is_first else find_subject
        find(element, self._names)
        frame.scope = scope
        frame.subject = element.subject
        if element.typed:
            for kind in self._names.words(attributes.get("typeof") or "", scope):
                self._write(element.typed, _TYPE, kind)
        if element.subject != outer.object:
            scope.lists = {}
            frame.lists.append((element.subject, scope.lists))
        if element.rel or element.rev:
            self._link(element)
        if "property" in attributes:
            self._read_property(element, frame, read_text)
        self._set_inner_scope(element, frame)

    def _state_role(self, attributes: Attributes, scope: RdfaScope) -> None:
        """Write the statements of `role`: Role Attribute 1.0, section 4."""
        among = scope.inner()
        among.vocab = XHV
        roles = self._names.words(attributes["role"] or "", among)
        if roles:
            written = attributes.get("id")
            named = self._names.url(f"#{written}", scope) if written else ""
            subject = named or self._names.new_blank()
            for role in roles:
                self._write(subject, _ROLE, role)

    def _inherit(self, attributes: Attributes, outer: RdfaScope) -> RdfaScope:
        """Return the scope of an element: steps 2 to 4."""
        scope = outer.inner()
        if _SCOPING.isdisjoint(attributes):
            return scope
        if (base := attributes.get("xml:base")) and not self._host.is_html:
            scope.base = resolve(escape_url(base), outer.base).partition("#")[0]
        if "vocab" in attributes and not self._is_first:
            vocab = (attributes["vocab"] or "").strip()
            scope.vocab = resolve(escape_url(vocab), scope.base) if vocab else ""
            if vocab:
                self._write(self._document, _USES_VOCABULARY, terms.iri(scope.vocab))
        language = attributes.get("xml:lang", attributes.get("lang"))
        if "xml:lang" in attributes or ("lang" in attributes and self._host.is_html):
            scope.language = language_tag(language or "")
        return scope

    def _read_links(self, element: RdfaElement) -> None:
        attributes, scope = element.attributes, element.scope
        for name in filter(attributes.__contains__, ("rel", "rev")):
            text = attributes[name] or ""
            if self._has_html_rules and "property" in attributes:
                # HTML+RDFa 1.1 section 3.1, rule 7: in an element with `property`,
                # link types of HTML do not count.
                text = " ".join(word for word in text.split() if ":" in word)
                if not text:
                    continue
            found = self._names.words(text, scope, is_link=True)
            setattr(element, name, [one for one in found if one.startswith("<")])

    def _link(self, element: RdfaElement) -> None:
        """Write the statements of `rel` and `rev`, or queue them: steps 9, 10."""
        scope = element.scope
        rel, rev = element.rel or (), element.rev or ()
        in_list = "inlist" in element.attributes and not self._is_first
        if element.object:
            for predicate in rel:
                if in_list:
                    scope.lists.setdefault(predicate, []).append(element.object)
                else:
                    self._write(element.subject, predicate, element.object)
            for predicate in rev:
                self._write(element.object, predicate, element.subject)
            return
        element.object = self._names.new_blank()
        for predicate in rel:
            members = scope.lists.setdefault(predicate, []) if in_list else True
            element.incomplete.append((predicate, members))
        element.incomplete += [(predicate, False) for predicate in rev]

    def _read_property(
        self, element: RdfaElement, frame: _Frame, read_text: Callable[[], str] | None
    ) -> None:
        """Write the statements of `property`: step 11."""
        attributes, scope = element.attributes, element.scope
        found = self._names.words(attributes["property"] or "", scope)
        predicates = [one for one in found if one.startswith("<")]
        if not predicates:
            return
        value = self._value(element)
        if not value:
            frame.literal = self._begin_literal(element, read_text)
        for predicate in predicates:
            if "inlist" in attributes and not self._is_first:
                members = scope.lists.setdefault(predicate, [])
                members.append(value)
                if frame.literal:
                    frame.literal.slots.append((members, len(members) - 1))
            elif frame.literal:
                frame.literal.predicates.append(predicate)
            else:
                self._write(element.subject, predicate, value)

    def _value(self, element: RdfaElement) -> str:
        """Return the value of `property`; empty for the content."""
        attributes = element.attributes
        language = element.scope.language
        text, is_time = None, False
        if "content" in attributes:
            text = attributes["content"] or ""
        elif self._has_html_rules and "datetime" in attributes:
            text, is_time = attributes["datetime"] or "", True
        datatype = time_datatype(text) if text and is_time else ""
        if "datatype" in attributes:
            datatype = self._datatype(element)
        if text is not None:
            return typed_or_plain(text, datatype, language)
        if self._is_first or "datatype" in attributes:
            return ""
        if element.rel is None and element.rev is None and element.target:
            return element.target
        return element.typed if "about" not in attributes else ""

    def _datatype(self, element: RdfaElement) -> str:
        word = (element.attributes["datatype"] or "").strip()
        return self._names.word(word, element.scope)[1:-1] if word else ""

    def _begin_literal(
        self, element: RdfaElement, read_text: Callable[[], str] | None
    ) -> _Literal:
        has_datatype = "datatype" in element.attributes
        datatype = self._datatype(element) if has_datatype else None
        is_time = self._has_html_rules and element.name == "time" and not has_datatype
        literal = _Literal(datatype, element.scope.language, is_time=is_time)
        form = _FORMS.get(datatype or "", KeptContent.TEXT)
        if form is KeptContent.TEXT and read_text is not None:
            literal.text = self._read_text(read_text)
            return literal
        forms = {form}
        if self._is_first and datatype is None:
            forms = {KeptContent.TEXT, KeptContent.XML}
        for one in sorted(forms):
            names = self._names
            spaces: dict[str, str] = {}
            if one is KeptContent.XML:
                # Each literal repeats all prefixes, so they count.
                self._spend(_LINE * (len(names.prefixes) + len(names.namespaces)))
                spaces = {**names.prefixes, **names.namespaces}
            literal.marks[one] = self._recorder.begin(one, spaces)
        return literal

    def _read_text(self, read_text: Callable[[], str]) -> str:
        self._text_depth += 1
        if self._text_depth > self._max_text_depth:
            # Reading visits the nested elements once per enclosing text.
            self._max_text_depth = self._text_depth
            self._spend(self._n_elements)
        text = read_text()
        self._spend(len(text))
        return text

    def _finish_literal(self, literal: _Literal, subject: str) -> None:
        text = literal.text
        if text is None:
            texts = {
                form: self._recorder.end(form, mark)
                for form, mark in reversed(literal.marks.items())
            }
            text = texts[_FORMS.get(literal.datatype or "", KeptContent.TEXT)]
        else:
            self._text_depth -= 1
        datatype = literal.datatype or ""
        if literal.is_time:
            datatype = time_datatype(text)
        value = typed_or_plain(text, datatype, literal.language)
        for members, position in literal.slots:
            members[position] = value
        for predicate in literal.predicates:
            self._write(subject, predicate, value)

    def _set_inner_scope(self, element: RdfaElement, frame: _Frame) -> None:
        """Complete relations, and set the scope of children: steps 12, 13."""
        outer, scope = element.outer, element.scope
        if element.is_skipped:
            return
        for predicate, direction in outer.incomplete:
            if direction is True:
                self._write(outer.subject, predicate, element.subject)
            elif direction is False:
                self._write(element.subject, predicate, outer.subject)
            else:
                direction.append(element.subject)
        scope.subject = element.subject
        scope.object = element.object or element.subject
        scope.incomplete = element.incomplete
        if scope.object != element.subject:
            # Nested lists belong to the object, like everything else within.
            scope.lists = {}
            frame.lists.append((scope.object, scope.lists))

    def _write_list(self, subject: str, predicate: str, members: list[str]) -> None:
        nodes = [*(self._names.new_blank() for _ in members), _NIL]
        self._write(subject, predicate, nodes[0])
        for node, member, following in zip(nodes, members, nodes[1:], strict=False):
            self._write(node, _FIRST, member)
            self._write(node, _REST, following)

    def _write(self, subject: str, predicate: str, obj: str) -> None:
        self._spend(_LINE + len(subject) + len(predicate) + len(obj))
        self.statements.append((subject, predicate, obj))
        if obj == PATTERN:
            self.has_patterns = True
