"""Read and apply the scraping rules of Squirrel.

A file is for one host, and has a block for each kind of page: `regex`, searched in the
page's URI, ignoring case, and `resources`, which maps parts of the page to statements
of a subject. Selectors are those of jsoup, as far as XPath can express them. Newer
versions of Squirrel search `regex` as text, older ones as an expression; files for both
are in use, so either match counts.

Two rules are stricter than in Squirrel: only http and https URLs are IRIs, and relative
links are resolved by RFC 3986.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial, partialmethod
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cssselect import SelectorError
from cssselect.xpath import ExpressionError, GenericTranslator, XPathExpr
from parsel.csstranslator import HTMLTranslator

from rdfcrawl.core.errors import Reason
from rdfcrawl.rdf.html.rules.iris import (
    MAX_PATTERN_CHARS,
    MAX_URL_CHARS,
    is_attribute,
    last_segment,
    resolved,
    url_parts,
)
from rdfcrawl.rdf.html.rules.model import (
    PageRule,
    RulePlace,
    SquirrelProperty,
    SquirrelResource,
    SquirrelSource,
)
from rdfcrawl.rdf.html.rules.nodes import (
    Node,
    RuleError,
    TableNode,
    TextNode,
    made,
    members,
)
from rdfcrawl.rdf.html.rules.selectors import (
    MAX_MATCHES,
    MAX_SELECTOR_CHARS,
    JsonValue,
    Selector,
    SelectorFailed,
    collapsed,
    compiled,
    text_of,
)
from rdfcrawl.rdf.iris import is_iri, is_web_url
from rdfcrawl.rdf.terms import iri, literal, statement

if TYPE_CHECKING:
    from cssselect.parser import Function

    from rdfcrawl.rdf.html.rules.selectors import Element, Found


_PSEUDO = re.compile(r":contains(?:Own)?\(")
_EXPRESSION = re.compile(r"~=|:matches\w*(?=\()")
_UNQUOTED = re.compile(r"\[\s*([\w-]+)\s*([|^$*]?=)\s*([^\"'\]\s][^\"'\]]*?)\s*\]")
# XPath 1.0 has no lower-case(): the letters of Latin-1.
_UPPER: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞ"


class _JsoupTranslator(HTMLTranslator):
    """CSS with the extensions of jsoup."""

    def _contains(self, xpath: XPathExpr, function: Function, text: str) -> XPathExpr:
        """Translate `:contains()`, which ignores case."""
        if function.argument_types() not in (["STRING"], ["IDENT"]):
            raise ExpressionError("contains() needs one text")
        wanted = (function.arguments[0].value or "").lower()
        lower = f"translate({text}, '{_UPPER}', '{_UPPER.lower()}')"
        quoted = GenericTranslator.xpath_literal(wanted)
        return xpath.add_condition(f"contains({lower}, {quoted})")

    def _index(self, xpath: XPathExpr, function: Function, operator: str) -> XPathExpr:
        """Translate `:eq(n)`, the n-th child, from 0, and those before or after it."""
        if function.argument_types() != ["NUMBER"]:
            raise ExpressionError("eq(), lt() and gt() need one number")
        number = int(function.arguments[0].value or 0)
        return xpath.add_condition(f"count(preceding-sibling::*) {operator} {number}")

    xpath_contains_function = partialmethod(_contains, text="normalize-space(.)")
    xpath_containsown_function = partialmethod(
        _contains, text="normalize-space(text())"
    )
    xpath_eq_function = partialmethod(_index, operator="=")
    xpath_lt_function = partialmethod(_index, operator="<")
    xpath_gt_function = partialmethod(_index, operator=">")


_translator = _JsoupTranslator()


def jsoup(text: str) -> Selector:
    """Parse a jsoup selector; raise `ValueError` without a translation."""
    text = text.strip()
    if not text or len(text) > MAX_SELECTOR_CHARS:
        raise ValueError(f"a selector has 1 to {MAX_SELECTOR_CHARS} characters")
    if expression := _EXPRESSION.search(text):
        reason = f"{expression[0]} takes a regular expression there"
        raise ValueError(f"selector {text!r}: {reason}")
    quoted = _UNQUOTED.sub(r'[\1\2"\3"]', _quoted(text))
    try:
        return Selector(text, compiled(_translator.css_to_xpath(quoted)))
    except (SelectorError, ValueError, RecursionError) as error:
        raise ValueError(f"selector {text!r}: {error}") from error


def closing(text: str, start: int) -> int:
    """Return the position that closes a parenthesis opened before `start`, or -1."""
    depth = 1
    for index, char in enumerate(text[start:], start):
        depth += (char == "(") - (char == ")")
        if not depth:
            return index
    return -1


def _quoted(text: str) -> str:
    """Quote the argument of `:contains()`, which jsoup does not require."""
    pieces: list[str] = []
    start = 0
    while found := _PSEUDO.search(text, start):
        end = closing(text, found.end())
        if end < 0:
            break
        wanted = text[found.end() : end].strip()
        if wanted[:1] not in {'"', "'"}:
            wanted = '"' + wanted.replace("\\", "\\\\").replace('"', '\\"') + '"'
        pieces += [text[start : found.end()], wanted, ")"]
        start = end + 1
    return "".join(pieces) + text[start:]


FILE_KEY: Final = "file_descriptor"

_WRAPPED = re.compile(r"s\((.*)\)", re.DOTALL)
_CALL = re.compile(r"(l|attr|append)\(", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SquirrelPattern:
    """The host of a file, without `www.`, and the URLs of a block.

    A URL in lower case must contain one of the `texts`, also in lower case, or match
    one of the `expressions`.
    """

    host: str
    texts: tuple[str, ...]
    expressions: tuple[re.Pattern[str], ...]

    @property
    def hosts(self) -> tuple[str, ...]:
        """The host with and without `www.`."""
        return self.host, f"www.{self.host}"

    def match(self, url: str) -> Mapping[str, str] | None:
        """Return an empty mapping if the page matches, else None."""
        host = url_parts(url)[0].partition(":")[0].lower()
        if host not in self.hosts or len(url) > MAX_URL_CHARS:
            return None
        lower = url.lower()
        has_text = any(text in lower for text in self.texts)
        return {} if has_text or any(x.search(url) for x in self.expressions) else None


def iter_rules(
    path: Path, node: Node
) -> Iterator[tuple[str, RulePlace, Callable[[], PageRule]]]:
    """Yield name, place and reader of each block; a reader may raise `RuleError`.

    Raises `RuleError` if the file does not name its host.
    """
    if not isinstance(node, TableNode):
        raise RuleError(node.line, f"`{FILE_KEY}` is a mapping")
    entries = node.entries()
    if "check" not in entries:
        raise RuleError(node.line, "`check` with the `domain` is missing")
    line, check = entries.pop("check")
    checks = check.entries() if isinstance(check, TableNode) else {}
    domain = checks.get("domain", (line, None))[1]
    if not isinstance(domain, TextNode) or not domain.text.strip():
        raise RuleError(line, "`domain` is missing")
    host = domain.text.strip().lower().removeprefix("www.")
    ignore = checks.get("ignore-request", (line, None))[1]
    cuts_query = isinstance(ignore, TextNode) and ignore.text.lower() == "true"
    for name, (line, block) in entries.items():
        place = RulePlace(path, line)
        yield name, place, partial(_rule, name, place, host, block, cuts_query)


def _rule(
    name: str, place: RulePlace, host: str, block: Node, cuts_query: bool
) -> PageRule:
    return PageRule(
        name=name,
        place=place,
        patterns=(_pattern(host, block),),
        squirrel=tuple(_resources(block)),
        cuts_query=cuts_query,
    )


def _pattern(host: str, block: Node) -> SquirrelPattern:
    entries = block.entries() if isinstance(block, TableNode) else {}
    if "regex" not in entries:
        raise RuleError(block.line, "`regex` is missing")
    line, node = entries["regex"]
    texts: list[str] = []
    expressions: list[re.Pattern[str]] = []
    for member in members(node):
        if not isinstance(member, TextNode) or not member.text:
            raise RuleError(line, "`regex` is a text or a list of texts")
        if len(member.text) > MAX_PATTERN_CHARS:
            raise RuleError(member.line, f"longer than {MAX_PATTERN_CHARS} characters")
        texts.append(member.text.lower())
        # Original case: in lower case, `\D` would become `\d`.
        with suppress(re.error, OverflowError, RecursionError):  # a text alone
            expressions.append(re.compile(member.text, re.IGNORECASE))
    return SquirrelPattern(host, tuple(texts), tuple(expressions))


def _resources(block: Node) -> Iterator[SquirrelResource]:
    entries = block.entries() if isinstance(block, TableNode) else {}
    for key, (line, _) in entries.items():
        if key not in {"regex", "resources"}:
            raise RuleError(line, f"{key!r} has no counterpart here")
    line, node = entries.get("resources", (block.line, block))
    if node is block or not isinstance(node, TableNode):
        raise RuleError(line, "`resources` is missing")
    # In the oldest files, predicates of the page have no subject.
    page = tuple(x for x in node.pairs if not isinstance(x[1], TableNode))
    found = list(_resource("$uri", TableNode(node.line, page))) if page else []
    for name, value in node.pairs:
        if isinstance(value, TableNode):
            if name.text == "javascript":
                raise RuleError(name.line, "`javascript` needs a browser")
            found += _resource(name.text, value)
    _check_numbers(found, line)
    yield from found


def _resource(subject: str, table: TableNode) -> Iterator[SquirrelResource]:
    wrapped = _WRAPPED.fullmatch(subject.strip())
    subject = wrapped[1] if wrapped else subject.strip()
    name = subject.removesuffix("*")
    if not name.startswith("$uri") and not is_iri(name.replace("$label", "x")):
        raise RuleError(table.line, f"subject {subject!r} is not an IRI")
    properties: list[SquirrelProperty] = []
    nested: list[SquirrelResource] = []
    for key, value in table.pairs:
        if isinstance(value, TableNode):
            nested += _resource(key.text, value)
            continue
        predicate = key.text.removesuffix("*")
        if not is_iri(predicate):
            raise RuleError(key.line, f"predicate {key.text!r} is not an IRI")
        for member in members(value):
            if not isinstance(member, TextNode) or not member.text.strip():
                raise RuleError(key.line, "an object is a selector or a list of them")
            source = _source(member.line, member.text.strip())
            properties.append(
                SquirrelProperty(predicate, key.text.endswith("*"), source)
            )
    is_numbered = subject.endswith("*") or any(x.is_numbered for x in properties)
    yield SquirrelResource(name, is_numbered, tuple(properties))
    yield from nested


def _check_numbers(resources: list[SquirrelResource], line: int) -> None:
    numbered = {x.subject for x in resources if x.is_numbered}
    for resource in resources:
        for source in (each.source for each in resource.properties):
            if source.is_numbered and source.prefix not in numbered:
                raise RuleError(line, f"there is no subject {source.prefix}*")


def _source(line: int, text: str) -> SquirrelSource:
    call = _CALL.match(text)
    if call is None:
        return SquirrelSource(selector=made(line, jsoup, text), is_link=True)
    end = closing(text, call.end())
    if end < 0:
        raise RuleError(line, f"a parenthesis is not closed: {text!r}")
    argument, rest = text[call.end() : end], text[end + 1 :].strip()
    if call[1] == "l":
        if rest.startswith("+"):
            return SquirrelSource(prefix=argument, selector=made(line, jsoup, rest[1:]))
        if rest not in {"", "*"}:
            raise RuleError(line, f"{rest!r} after l() is not understood")
        argument = argument.strip() + rest
        return SquirrelSource(
            prefix=argument.removesuffix("*"), is_numbered=argument.endswith("*")
        )
    if rest:
        raise RuleError(line, f"{rest!r} after {call[1]}() is not understood")
    if call[1] == "append":
        return SquirrelSource(prefix="$uri", selector=made(line, jsoup, argument))
    attribute, colon, selector = argument.partition(":")
    if not colon or not is_attribute(attribute.strip()):
        raise RuleError(line, "attr() is written attr(name:selector)")
    return SquirrelSource(
        selector=made(line, jsoup, selector), attribute=attribute.strip().lower()
    )


Note = Callable[[Reason, str], None]
_LINKS = frozenset({"href", "src"})


def squirrel_statements(
    rule: PageRule, url: str, root: Element | None, note: Note
) -> Iterator[str]:
    """Yield the statements of a rule, as lines of `terms.statement`.

    `note` takes `SYNTAX` for a selector that fails, `TOO_LARGE` for matches left out.
    """
    if root is None:
        return
    page = _SquirrelPage(url, root, note)
    uri = url.partition("?")[0] if rule.cuts_query else url
    texts = {"$uri": uri, "$label": last_segment(url_parts(uri)[1])}
    found = [(x, _Objects(page, x, texts)) for x in rule.squirrel]
    counts: dict[str, int] = {}
    for resource, objects in found:
        if resource.is_numbered:
            n = max(objects.n_numbered, counts.get(resource.subject, 0))
            counts[resource.subject] = n
    for resource, objects in found:
        subject = _filled(resource.subject, texts)
        if resource.is_numbered:
            for number in range(counts[resource.subject]):
                name = iri(f"{subject}_{number}")
                for predicate, obj in objects.nth(number):
                    yield statement(name, iri(predicate), obj)
        else:
            for predicate, obj in objects.all(counts):
                yield statement(iri(subject), iri(predicate), obj)


@dataclass(frozen=True, slots=True)
class _SquirrelPage:
    url: str
    root: Element
    note: Note

    def terms(self, source: SquirrelSource, prefix: str) -> list[str]:
        if source.selector is None:
            return [_term(prefix)]
        terms: list[str] = []
        try:
            for found in source.selector.select(self.root):
                if len(terms) >= MAX_MATCHES:
                    detail = f"{source.selector.text}: more than {MAX_MATCHES} matches"
                    self.note(Reason.TOO_LARGE, detail)
                    break
                if link := _link(found, source, self.url):
                    terms.append(iri(link))
                    continue
                if text := collapsed(text_of(found, source.attribute)):
                    terms.append(_term(prefix + text))
        except SelectorFailed as error:
            self.note(Reason.SYNTAX, f"{source.selector.text}: {error}")
        return terms


class _Objects:
    def __init__(
        self, page: _SquirrelPage, resource: SquirrelResource, texts: dict[str, str]
    ) -> None:
        self._texts = texts
        self._has_numbered = any(x.is_numbered for x in resource.properties)
        self._found = [
            (x, x.source, page.terms(x.source, _filled(x.source.prefix, texts)))
            for x in resource.properties
        ]

    @property
    def n_numbered(self) -> int:
        """Number of subjects: the most matches of a numbered property."""
        counted = (x for x in self._found if x[1].selector and self._is_counted(x[0]))
        return max((len(terms) for _, _, terms in counted), default=0)

    def all(self, counts: Mapping[str, int]) -> Iterator[tuple[str, str]]:
        """Yield predicates and objects of one subject from all matches."""
        for each, source, terms in self._found:
            if source.is_numbered:
                for number in range(counts[source.prefix]):
                    yield each.predicate, self._numbered(source, number)
            else:
                for term in terms:
                    yield each.predicate, term

    def nth(self, number: int) -> Iterator[tuple[str, str]]:
        """Yield predicates and objects of the n-th subject."""
        for each, source, terms in self._found:
            if source.is_numbered:
                yield each.predicate, self._numbered(source, number)
            elif source.selector is None or not self._is_counted(each):
                for term in terms:
                    yield each.predicate, term
            elif number < len(terms):
                yield each.predicate, terms[number]

    def _is_counted(self, each: SquirrelProperty) -> bool:
        """Return whether the n-th match is for the n-th subject."""
        return each.is_numbered or not self._has_numbered

    def _numbered(self, source: SquirrelSource, number: int) -> str:
        return _term(f"{_filled(source.prefix, self._texts)}_{number}")


def _filled(text: str, texts: Mapping[str, str]) -> str:
    for name, value in texts.items():
        text = text.replace(name, value)
    return text


def _term(text: str) -> str:
    return iri(text) if is_web_url(text) else literal(text)


def _link(found: Found, source: SquirrelSource, url: str) -> str:
    """Return the target of an element, if the source selects links."""
    name = "href" if source.is_link else source.attribute
    if name not in _LINKS or source.prefix or isinstance(found, (str, JsonValue)):
        return ""
    return resolved(found.get(name) or "", url)
