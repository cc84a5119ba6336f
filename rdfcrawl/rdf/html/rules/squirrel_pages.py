"""Apply the scraping rules of Squirrel to a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import Reason
from rdfcrawl.rdf.html.iris import is_web_url
from rdfcrawl.rdf.html.rules.names import last_segment, resolved, url_parts
from rdfcrawl.rdf.html.rules.selectors import MAX_MATCHES, JsonValue, SelectorFailed
from rdfcrawl.rdf.html.rules.texts import collapsed, text_of
from rdfcrawl.rdf.terms import iri, literal, statement

if TYPE_CHECKING:
    from rdfcrawl.rdf.html.rules.model import (
        PageRule,
        SquirrelProperty,
        SquirrelResource,
        SquirrelSource,
    )
    from rdfcrawl.rdf.html.rules.selectors import Element, Found


_LINKS = frozenset({"href", "src"})


def squirrel_statements(
    rule: PageRule,
    *,
    url: str,
    root: Element | None,
    note: Callable[[Reason, str], None],
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
    note: Callable[[Reason, str], None]

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
                text = text_of(found, attribute=source.attribute)
                if text := collapsed(text):
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
        counts = [
            len(terms)
            for each, source, terms in self._found
            if source.selector is not None and self._is_counted(each)
        ]
        return max(counts, default=0)

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
