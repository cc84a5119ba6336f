"""Read rules in our own notation: `docs/reference/scraping.md`.

All functions raise `RuleError` for a mistake.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from rdfcrawl.core.formats import Relation
from rdfcrawl.core.namespaces import RDF_TYPE
from rdfcrawl.rdf.html.rules import selectors
from rdfcrawl.rdf.html.rules.iris import (
    PAGE_NAMES,
    TextTemplate,
    UrlPattern,
    expand,
    glob,
    is_attribute,
    regex,
)
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
    choice,
    entries_of,
    made,
    members,
    table_in,
    table_of,
    text_at,
)
from rdfcrawl.rdf.html.rules.selectors import Selector, is_language

if TYPE_CHECKING:
    from rdfcrawl.rdf.html.rules.model import RulePlace


SELECTORS: Final = ("css", "xpath", "json")

# Steps between a selector and a term.
_STEPS = ("attribute", "whitespace", "split", "pattern", "map", "template")
_VALUE_KEYS = (
    *SELECTORS, "text", "iri", *_STEPS, "as", "datatype", "language", "first",
    "required",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RuleScope:
    """Names defined at a place of a rule file.

    `names` are for templates, `kind` is the kind of node that selectors apply to, and
    `depth` counts the enclosing resources.
    """

    prefixes: Mapping[str, str]
    names: frozenset[str]
    kind: Literal["page", "element", "json"] = "page"
    depth: int = 0


def read_value(
    node: Node, context: RuleScope, line: int, *, is_iri: bool = False
) -> ValueRule:
    """Parse a value; a text alone is a CSS selector.

    `line` is the line of its key. The key `as` overrides `is_iri`.
    """
    entries = entries_of(table_of("css", node), _VALUE_KEYS, "a value")
    selector = read_selector(entries, context, line)
    constants = [name for name in ("text", "iri") if name in entries]
    if (selector is not None) + len(constants) != 1:
        raise RuleError(line, "a value has one of css, xpath, json, text and iri")
    is_iri = is_iri or constants == ["iri"]
    if "as" in entries:
        is_iri = choice(entries["as"], ("iri", "literal")) == "iri"
    _check_keys(entries, line, is_constant=bool(constants), is_iri=is_iri)
    pattern = None
    if "pattern" in entries:
        pattern = made(entries["pattern"][0], regex, text_at(*entries["pattern"]))
        context = replace(context, names=context.names | {*pattern.groupindex})
    if not constants:
        context = replace(context, names=context.names | {"value"})
    template = entries.get(constants[0] if constants else "template")
    return ValueRule(
        selector=selector,
        attribute=_attribute(entries),
        keeps_space="whitespace" in entries
        and choice(entries["whitespace"], ("keep", "collapse")) == "keep",
        split=_text(entries, "split"),
        pattern=pattern,
        mapping=_mapping(entries, context, is_iri=is_iri) if "map" in entries else None,
        template=_template(template, context, is_iri=is_iri) if template else None,
        is_iri=is_iri,
        datatype=_datatype(entries, context),
        language=_language(entries),
        is_first=boolean(entries.get("first")),
        is_required=boolean(entries.get("required")),
    )


def _check_keys(
    entries: Entries, line: int, *, is_constant: bool, is_iri: bool
) -> None:
    for name in _STEPS:
        if is_constant and name in entries:
            raise RuleError(entries[name][0], f"`{name}` needs a selector")
    if "datatype" in entries and "language" in entries:
        raise RuleError(line, "a literal has a datatype or a language, not both")
    for name in ("datatype", "language"):
        if is_iri and name in entries:
            raise RuleError(entries[name][0], f"an IRI has no {name}")


def read_selector(entries: Entries, context: RuleScope, line: int) -> Selector | None:
    """Return the selector of a mapping, or None."""
    if "css" in entries and "xpath" in entries:
        raise RuleError(line, "css and xpath exclude each other")
    selector = None
    for name, read in (("css", selectors.css), ("xpath", selectors.xpath)):
        if name in entries:
            at = entries[name][0]
            if context.kind == "json":
                raise RuleError(at, f"{name} finds nothing in JSON; use json")
            selector = made(at, read, text_at(*entries[name]))
    if "json" not in entries:
        return selector
    at, node = entries["json"]
    if selector is None and context.kind == "element":
        raise RuleError(at, "json also needs css or xpath, to find the JSON")
    text = text_at(at, node)
    query = made(at, selectors.query, text)
    if selector is None:
        return Selector(text, None, query)
    return replace(selector, text=f"{selector.text} {text}", query=query)


def read_iri(line: int, text: str, context: RuleScope) -> str:
    """Return an IRI with its prefix expanded."""
    return made(line, expand, text, context.prefixes)


def _text(entries: Entries, name: str) -> str:
    return text_at(*entries[name]) if name in entries else ""


def _attribute(entries: Entries) -> str:
    name = _text(entries, "attribute")
    if name and not is_attribute(name):
        raise RuleError(entries["attribute"][0], f"{name!r} is not an attribute name")
    return name.lower()


def _template(entry: Entry, context: RuleScope, *, is_iri: bool) -> TextTemplate:
    line = entry[0]
    template = made(line, TextTemplate.parse, text_at(*entry), context.names)
    head = template.head.lstrip()
    if is_iri and ":" in head and head[0] not in "/?#.":
        return template.with_head(read_iri(line, head, context))
    return template


def _mapping(entries: Entries, context: RuleScope, *, is_iri: bool) -> dict[str, str]:
    found = {}
    for key, (line, node) in table_in(entries, "map", None).items():
        text = text_at(line, node)
        if is_iri and ":" in text:
            text = read_iri(line, text, context)
        found[" ".join(key.split())] = text
    return found


def _datatype(entries: Entries, context: RuleScope) -> str:
    text = _text(entries, "datatype")
    return read_iri(entries["datatype"][0], text, context) if text else ""


def _language(entries: Entries) -> str:
    language = _text(entries, "language")
    if language and not is_language(language):
        detail = f"{language!r} is not a language; such are en, de-AT and auto"
        raise RuleError(entries["language"][0], detail)
    return language


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
    links = tuple(_links(entries, context))
    entries.pop("links", None)
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
    entries: Entries, context: RuleScope
) -> Iterator[tuple[Relation, ValueRule]]:
    for name, (line, node) in table_in(entries, "links", tuple(Relation)).items():
        for member in members(node):
            yield Relation(name), _read_iri_value(member, context, line, "a link")


def _read_iri_value(node: Node, context: RuleScope, line: int, what: str) -> ValueRule:
    value = read_value(node, context, line, is_iri=True)
    if not value.is_iri:
        raise RuleError(line, f"{what} is an IRI")
    return value


def _resource(entries: Entries, context: RuleScope, line: int) -> ResourceRule:
    if context.depth >= MAX_NESTING:
        raise RuleError(line, f"resources are nested deeper than {MAX_NESTING}")
    context = replace(context, depth=context.depth + 1)
    items = None
    if "items" in entries:
        items, context = _items(entries["items"], context)
    fields, context = _fields(entries, context)
    subject = None
    if "subject" in entries:
        at, node = entries["subject"]  # a selector needs a mapping here
        subject = _read_iri_value(table_of("iri", node), context, at, "a subject")
    inner = replace(context, names=context.names | {"parent"})
    return ResourceRule(
        items=items,
        subject=subject,
        fields=fields,
        properties=(
            *_types(entries, context),
            *_properties(entries, inner),
        ),
        is_first=boolean(entries.get("first")),
        is_required=boolean(entries.get("required")),
    )


def _items(entry: Entry, context: RuleScope) -> tuple[Selector, RuleScope]:
    line, node = entry
    entries = entries_of(table_of("css", node), SELECTORS, "`items`")
    selector = read_selector(entries, context, line)
    if selector is None:
        raise RuleError(line, "`items` is a selector: css, xpath or json")
    return selector, replace(context, kind="json" if selector.query else "element")


def _fields(
    entries: Entries, context: RuleScope
) -> tuple[tuple[tuple[str, ValueRule], ...], RuleScope]:
    """Return the fields, which can use those before, and a context with their names."""
    fields: list[tuple[str, ValueRule]] = []
    for name, (line, node) in table_in(entries, "fields", None).items():
        if not name.isidentifier() or not name.isascii():
            raise RuleError(line, f"{name!r} cannot be a name in templates")
        if name in _TAKEN_NAMES:
            raise RuleError(line, f"{name!r} has a meaning in templates already")
        fields.append((name, read_value(node, context, line)))
        context = replace(context, names=context.names | {name})
    return tuple(fields), context


def _types(entries: Entries, context: RuleScope) -> Iterator[RuleProperty]:
    for member in members(entries["type"][1]) if "type" in entries else ():
        node = table_of("iri", member)
        value = _read_iri_value(node, context, member.line, "a type")
        yield RuleProperty("type", RDF_TYPE, is_inverse=False, source=value)


def _properties(entries: Entries, context: RuleScope) -> Iterator[RuleProperty]:
    for label, (line, node) in table_in(entries, "properties", None).items():
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
