"""Read values of rules in our own notation: selectors, and steps to terms.

All functions raise `RuleError` for a mistake.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from rdfcrawl.rdf.html.rules import selectors
from rdfcrawl.rdf.html.rules.model import ValueRule
from rdfcrawl.rdf.html.rules.names import expand, is_attribute
from rdfcrawl.rdf.html.rules.nodes import (
    Entries,
    Entry,
    Node,
    RuleError,
    boolean,
    choice,
    entries_of,
    made,
    table_of,
    text_at,
)
from rdfcrawl.rdf.html.rules.patterns import TextTemplate, regex
from rdfcrawl.rdf.html.rules.selectors import Selector, is_language

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
        mapping=_mapping(entries.get("map"), context, is_iri=is_iri),
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
    selector: Selector | None = None
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
    line, node = entry
    template = made(line, TextTemplate.parse, text_at(line, node), context.names)
    head = template.head.lstrip()
    if is_iri and ":" in head and head[0] not in "/?#.":
        return template.with_head(read_iri(line, head, context))
    return template


def _mapping(
    entry: Entry | None, context: RuleScope, *, is_iri: bool
) -> dict[str, str] | None:
    if entry is None:
        return None
    found = {}
    for key, (line, node) in entries_of(entry[1], None, "`map`").items():
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
