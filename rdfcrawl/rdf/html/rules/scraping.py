"""Apply rules to a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Final

from lxml import etree

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.formats import Link
from rdfcrawl.core.namespaces import XSD
from rdfcrawl.rdf.html.rules.iris import (
    CompleteIri,
    UrlPart,
    last_segment,
    resolved,
    url_parts,
)
from rdfcrawl.rdf.html.rules.model import (
    PageRule,
    ResourceRule,
    RuleProperty,
    ValueRule,
)
from rdfcrawl.rdf.html.rules.selectors import (
    MAX_MATCHES,
    JsonValue,
    Selector,
    SelectorFailed,
    collapsed,
    language_of,
    link_of,
    parse_json,
    text_of,
)
from rdfcrawl.rdf.html.rules.squirrel import squirrel_statements
from rdfcrawl.rdf.terms import blank, iri, literal, statement

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.rdf.html.page import ParsedPage
    from rdfcrawl.rdf.html.rules.selectors import Element, Found, Scope, Selector

MAX_CHARS: Final = 2**26  # of the statements of one page
MAX_LINKS: Final = 10_000  # of one rule on one page


def scrape(page: ParsedPage, rules: Iterable[PageRule], log: FaultLog) -> Iterator[str]:
    """Yield the statements of rules in a page, as lines of `terms.statement`.

    Links of the rules are added to `page.links`. The time is not bounded here: a
    selector may take quadratic time. `log` takes `RULE_REQUIRED` for each dropped
    resource, `SYNTAX` for a selector that fails on the page, `TOO_LARGE` for matches
    left out.

    Raises:
        SourceFault: `TOO_LARGE`: the statements exceed `MAX_CHARS`.
    """
    parts = PageParts(page, log)
    budget = _Budget()
    for rule in rules:
        work = _Work(rule, parts, log, budget)
        work.links()
        if rule.resource is not None:
            yield from work.statements(rule.resource)
        elif rule.squirrel:
            for line in squirrel_statements(rule, page.url, parts.root, work.note):
                budget.spend(line)
                yield line


@dataclass(slots=True)
class _Budget:
    """Characters and blank nodes of all rules on a page."""

    n_chars: int = 0
    n_blank: int = 0

    def spend(self, line: str) -> None:
        self.n_chars += len(line)
        if self.n_chars > MAX_CHARS:
            detail = f"scraped more than {MAX_CHARS} characters"
            raise SourceFault(Reason.TOO_LARGE, detail)

    def next_blank(self) -> str:
        self.n_blank += 1
        return blank(f"rules{self.n_blank}")


@dataclass(frozen=True, slots=True)
class _Here:
    """Part of a page for a rule (None: the full page), and template values."""

    scope: Scope | None
    values: Mapping[str, str]


class _Missing(Exception):
    """A required value of a resource is missing; the argument names the value."""


@dataclass(frozen=True, slots=True)
class _Work:
    rule: PageRule
    parts: PageParts
    log: FaultLog
    budget: _Budget

    def note(self, reason: Reason, detail: str) -> None:
        """Count a fault under the name of the rule."""
        self.log.note(reason, f"rule {self.rule.name}: {detail}")

    def statements(self, resource: ResourceRule) -> Iterator[str]:
        """Yield the statements of the rule, resource by resource."""
        here = _Here(None, self.parts.values(self.rule.captured))
        for _, lines in self._resources(resource, here):
            yield from lines

    def links(self) -> None:
        here = _Here(None, self.parts.values(self.rule.captured))
        found = (
            Link(target.partition("#")[0], relation)
            for relation, value in self.rule.links
            for target, _ in self._texts(value, here)
        )
        self.parts.page.links.update(islice(found, MAX_LINKS))

    # -- resources ---------------------------------------------------------------------

    def _resources(
        self, resource: ResourceRule, here: _Here
    ) -> Iterator[tuple[str, list[str]]]:
        """Yield the subject and the statements of each complete item."""
        for n, scope in enumerate(self._scopes(resource, here), start=1):
            values = {**here.values, "n": str(n)}
            try:
                made = self._resource(resource, _Here(scope, values))
            except _Missing as missing:
                self.note(Reason.RULE_REQUIRED, f"{missing} is missing")
                continue
            yield made
            if resource.is_first:
                return

    def _scopes(self, resource: ResourceRule, here: _Here) -> Iterator[Scope | None]:
        if resource.items is None:
            yield here.scope
            return
        for found in self._select(resource.items, here):
            if not isinstance(found, str):
                yield found

    def _resource(self, resource: ResourceRule, here: _Here) -> tuple[str, list[str]]:
        here = self._with_fields(resource, here)
        subject = self._first(resource.subject, here) if resource.subject else ""
        if resource.subject and not subject:
            raise _Missing("subject")
        term = iri(subject) if subject else self.budget.next_blank()
        here = _Here(here.scope, {**here.values, "parent": CompleteIri(subject)})
        lines: list[str] = []
        for prop in resource.properties:
            found = self._property(term, prop, here)
            if not found and prop.source.is_required:
                raise _Missing(prop.label)
            lines += found
        return term, lines

    def _with_fields(self, resource: ResourceRule, here: _Here) -> _Here:
        values = dict(here.values)
        for name, value in resource.fields:
            text = self._first(value, _Here(here.scope, values))
            if not text and value.is_required:
                raise _Missing(f"field {name}")
            values[name] = CompleteIri(text) if value.is_iri else text
        return _Here(here.scope, values)

    def _property(self, subject: str, prop: RuleProperty, here: _Here) -> list[str]:
        lines: list[str] = []
        predicate = iri(prop.predicate)
        for obj, nested in self._objects(prop.source, here):
            ends = (obj, subject) if prop.is_inverse else (subject, obj)
            line = statement(ends[0], predicate, ends[1])
            self.budget.spend(line)
            lines.append(line)
            lines += nested
        return lines

    def _objects(
        self, source: ValueRule | ResourceRule, here: _Here
    ) -> Iterator[tuple[str, list[str]]]:
        if isinstance(source, ResourceRule):
            yield from self._resources(source, here)
        else:
            for text, found in self._texts(source, here):
                yield self._term(source, text, found, here), []

    # -- values ------------------------------------------------------------------------

    def _term(
        self, value: ValueRule, text: str, found: Found | None, here: _Here
    ) -> str:
        if value.is_iri:
            return iri(text)
        language = value.language
        if language == "auto":
            language = language_of(found, self._scope(value.selector, here))
        return literal(text, datatype=datatype_of(value, found), language=language)

    def _first(self, value: ValueRule, here: _Here) -> str:
        return next((text for text, _ in self._texts(value, here)), "")

    def _texts(
        self, value: ValueRule, here: _Here
    ) -> Iterator[tuple[str, Found | None]]:
        """Yield texts after all steps of `ValueRule`, each with its selected part."""
        for raw, found in self._raw_texts(value, here):
            for text in refined(value, raw, values=here.values, base=self.parts.base):
                yield text, found
                if value.is_first:
                    return

    def _raw_texts(
        self, value: ValueRule, here: _Here
    ) -> Iterator[tuple[str, Found | None]]:
        if value.selector is None:
            yield "", None
            return
        for found in self._select(value.selector, here):
            if value.is_iri:
                yield link_of(found, value.attribute, is_plain=value.is_plain), found
            else:
                yield text_of(found, value.attribute), found

    def _scope(self, selector: Selector | None, here: _Here) -> Scope | None:
        return self.parts.scope(selector) if here.scope is None else here.scope

    def _select(self, selector: Selector, here: _Here) -> Iterator[Found]:
        found = selector.select(self._scope(selector, here))
        try:
            yield from islice(found, MAX_MATCHES)
            if next(found, None) is not None:
                detail = f"{selector.text}: more than {MAX_MATCHES} matches"
                self.note(Reason.TOO_LARGE, detail)
        except SelectorFailed as error:
            self.note(Reason.SYNTAX, f"{selector.text}: {error}")


_DATATYPES: Final = {bool: "boolean", int: "integer", float: "double"}
# An expression may scan a text once per character.
MAX_PATTERN_TEXT_CHARS: Final = 10_000


def refined(
    value: ValueRule, raw: str, *, values: Mapping[str, str], base: str
) -> Iterator[str]:
    """Yield the texts made from a raw one, which is empty for a value without selector.

    `values` are for templates; IRIs are resolved against `base`.
    """
    for piece in raw.split(value.split) if value.split else (raw,):
        text = piece if value.keeps_space else collapsed(piece)
        if (text or value.selector is None) and (
            text := _refined(value, text, values, base)
        ):
            yield text


def _refined(value: ValueRule, text: str, values: Mapping[str, str], base: str) -> str:
    if value.pattern is not None:
        match = value.pattern.search(text, 0, MAX_PATTERN_TEXT_CHARS)
        if match is None:
            return ""
        values = {**values, **match.groupdict("")}
        text = (match[1] if match.re.groups else match[0]) or ""
    if value.mapping is not None:
        text = value.mapping.get(text, "")
    if value.template is not None:
        values = {**values, "value": text}
        text = value.template.fill(values, is_iri=value.is_iri) or ""
    return resolved(text, base) if value.is_iri else text


def datatype_of(value: ValueRule, found: Found | None) -> str:
    """Return the datatype of a literal; JSON numbers have their own."""
    if value.datatype or value.language or not value.is_plain:
        return value.datatype
    name = _DATATYPES.get(type(found.value)) if isinstance(found, JsonValue) else None
    return XSD + name if name else ""


class PageParts:
    """A page as HTML or as JSON; `log` takes `SYNTAX` for invalid JSON."""

    def __init__(self, page: ParsedPage, log: FaultLog) -> None:
        self.page = page
        self._log = log

    @cached_property
    def base(self) -> str:
        """Base of relative links."""
        return self.page.url if self.page.is_json else self.page.likely_base

    @cached_property
    def root(self) -> Element | None:
        """The root element; None for JSON, and for a page without elements."""
        if self.page.is_json:
            return None
        body = self.page.utf8.replace(b"\0", b"")
        parser = etree.HTMLParser(encoding="utf-8", huge_tree=True)
        try:
            return etree.fromstring(body or b"<html/>", parser)
        except etree.XMLSyntaxError:  # only white space or comments
            return None

    @cached_property
    def json(self) -> JsonValue | None:
        """The value of a JSON page; else None."""
        if not self.page.is_json:
            return None
        try:
            return JsonValue(parse_json(self.page.text.removeprefix("\ufeff")))
        except SelectorFailed as error:
            self._log.note(Reason.SYNTAX, f"page is {error}")
            return None

    def scope(self, selector: Selector | None) -> Scope | None:
        """Return the part of the page to which a selector applies."""
        is_query = selector is not None and selector.path is None
        return self.json if is_query else self.root

    def values(self, captured: Mapping[str, str]) -> Mapping[str, str]:
        """Return the values for templates; `captured` are named parts of the URL."""
        host, path, query = url_parts(self.page.url)
        return {
            "url": CompleteIri(self.page.url),
            "base": CompleteIri(self.base),
            "host": UrlPart(host),
            "path": UrlPart(path),
            "query": UrlPart(query),
            "label": UrlPart(last_segment(path)),
            **{name: UrlPart(text) for name, text in captured.items()},
        }
