"""Read rules in our own notation: `docs/reference/scraping.md`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.link_relations import Relation
from rdfcrawl.core.namespaces import RDF_TYPE
from rdfcrawl.rdf.html.rules.model import (
    PageRule,
    ResourceRule,
    RuleProperty,
    ValueRule,
)
from rdfcrawl.rdf.html.rules.nodes import (
    Entries,
    Entry,
    Node,
    RuleError,
    TableNode,
    TextNode,
    boolean,
    entries_of,
    made,
    members,
    table_of,
    text_at,
)
from rdfcrawl.rdf.html.rules.patterns import PAGE_NAMES, UrlPattern, glob, regex
from rdfcrawl.rdf.html.rules.values import (
    SELECTORS,
    RuleScope,
    read_iri,
    read_selector,
    read_value,
)

if TYPE_CHECKING:
    from rdfcrawl.rdf.html.rules.model import RulePlace
    from rdfcrawl.rdf.html.rules.selectors import Selector

MAX_NESTING: Final = 8

_RESOURCE_KEYS = (
    "items", "subject", "type", "fields", "properties", "first", "required",
)  # fmt: skip
_RULE_KEYS = ("match", "items", "subject", "type", "fields", "properties", "links")
# Any of these keys makes a nested resource instead of a value.
_NESTED_KEYS = frozenset(_RESOURCE_KEYS) - {"first", "required"}
_TAKEN_NAMES = PAGE_NAMES | {"value", "parent"}


def read_rule(
    name: str, place: RulePlace, node: Node, prefixes: Mapping[str, str]
) -> PageRule:
    """Parse a rule; raise `RuleError` if something is wrong."""
    entries = entries_of(node, _RULE_KEYS, "a rule")
    if "match" not in entries:
        raise RuleError(place.line, "`match` is missing: give the URLs of the pages")
    patterns = tuple(_patterns(entries.pop("match")[1]))
    captured = {name for x in patterns for name in x.expression.groupindex}
    context = RuleScope(prefixes, PAGE_NAMES | captured)
    links = tuple(_links(entries.pop("links", None), context))
    if not links and not entries.keys() & {"type", "properties"}:
        raise RuleError(place.line, "it has neither `properties` nor `links`")
    return PageRule(
        name=name,
        place=place,
        patterns=patterns,
        resource=_resource(entries, context, place.line) if entries else None,
        links=links,
    )


def _patterns(node: Node) -> Iterator[UrlPattern]:
    if not members(node):
        raise RuleError(node.line, "`match` is empty")
    for member in members(node):
        if isinstance(member, TextNode):
            yield made(member.line, glob, member.text)
            continue
        entries = entries_of(member, ("regex",), "`match`")
        if "regex" not in entries:
            raise RuleError(member.line, "`match` is a pattern, or has a `regex`")
        line, text = entries["regex"]
        expression = made(line, regex, text_at(line, text))
        if taken := expression.groupindex.keys() & _TAKEN_NAMES:
            raise RuleError(line, f"{min(taken)!r} has a meaning in templates already")
        yield UrlPattern(expression)


def _links(
    entry: Entry | None, context: RuleScope
) -> Iterator[tuple[Relation, ValueRule]]:
    if entry is None:
        return
    for name, (line, node) in entries_of(entry[1], tuple(Relation), "`links`").items():
        for member in members(node):
            value = read_value(member, context, line, is_iri=True)
            if not value.is_iri:
                raise RuleError(line, "a link is an IRI")
            yield Relation(name), value


def _resource(entries: Entries, context: RuleScope, line: int) -> ResourceRule:
    if context.depth >= MAX_NESTING:
        raise RuleError(line, f"resources are nested deeper than {MAX_NESTING}")
    context = replace(context, depth=context.depth + 1)
    items = None
    if "items" in entries:
        items, context = _items(entries["items"], context)
    fields, context = _fields(entries.get("fields"), context)
    subject = None
    if "subject" in entries:
        at, node = entries["subject"]  # a selector needs a mapping here
        subject = read_value(table_of("iri", node), context, at, is_iri=True)
        if not subject.is_iri:
            raise RuleError(at, "a subject is an IRI")
    inner = replace(context, names=context.names | {"parent"})
    return ResourceRule(
        items=items,
        subject=subject,
        fields=fields,
        properties=(
            *_types(entries.get("type"), context),
            *_properties(entries.get("properties"), inner),
        ),
        is_first=boolean(entries.get("first")),
        is_required=boolean(entries.get("required")),
    )


def _items(entry: Entry, context: RuleScope) -> tuple[Selector, RuleScope]:
    line, node = entry
    selector = read_selector(
        entries_of(table_of("css", node), SELECTORS, "`items`"), context, line
    )
    if selector is None:
        raise RuleError(line, "`items` is a selector: css, xpath or json")
    return selector, replace(context, kind="json" if selector.query else "element")


def _fields(
    entry: Entry | None, context: RuleScope
) -> tuple[tuple[tuple[str, ValueRule], ...], RuleScope]:
    """Return the fields, which can use those before, and a context with their names."""
    fields: list[tuple[str, ValueRule]] = []
    if entry is not None:
        for name, (line, node) in entries_of(entry[1], None, "`fields`").items():
            if not name.isidentifier() or not name.isascii():
                raise RuleError(line, f"{name!r} cannot be a name in templates")
            if name in _TAKEN_NAMES:
                raise RuleError(line, f"{name!r} has a meaning in templates already")
            fields.append((name, read_value(node, context, line)))
            context = replace(context, names=context.names | {name})
    return tuple(fields), context


def _types(entry: Entry | None, context: RuleScope) -> Iterator[RuleProperty]:
    if entry is None:
        return
    for member in members(entry[1]):
        node = table_of("iri", member)
        value = read_value(node, context, member.line, is_iri=True)
        if not value.is_iri:
            raise RuleError(member.line, "a type is an IRI")
        yield RuleProperty("type", RDF_TYPE, is_inverse=False, source=value)


def _properties(entry: Entry | None, context: RuleScope) -> Iterator[RuleProperty]:
    if entry is None:
        return
    for label, (line, node) in entries_of(entry[1], None, "`properties`").items():
        is_inverse = label.startswith("^")
        predicate = read_iri(line, label.removeprefix("^"), context)
        for member in members(node):
            source = _source(member, context, line)
            if is_inverse and isinstance(source, ValueRule) and not source.is_iri:
                raise RuleError(line, "`^` needs an IRI or a resource; add `as: iri`")
            yield RuleProperty(label, predicate, is_inverse=is_inverse, source=source)


def _source(node: Node, context: RuleScope, line: int) -> ValueRule | ResourceRule:
    if isinstance(node, TableNode) and any(
        k.text in _NESTED_KEYS for k, _ in node.pairs
    ):
        entries = entries_of(node, _RESOURCE_KEYS, "a nested resource")
        return _resource(entries, context, line)
    return read_value(node, context, line)
