"""Classes and properties: counts, vocabularies as facets, and samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from aiohttp import web

from rdfcrawl.analysis.crawl_index.vocabulary import CLASS, PROPERTY, space_of
from rdfcrawl.monitor.page.context import PageContext
from rdfcrawl.monitor.page.crawl_access import CrawlAccess
from rdfcrawl.monitor.page.query_examples import term_queries
from rdfcrawl.monitor.page.rendering import int_parameter, one_of

KINDS: Final = {"class": CLASS, "property": PROPERTY}
MOST_SPACES: Final = 40
"""Vocabularies that are offered as facets."""
_TERMS: Final = "SELECT kind, term, n FROM vocabulary ORDER BY n DESC, term"
_OF_BOTH: Final = 25  # rows of each kind
_OF_ONE: Final = 100  # rows of a page of one kind
_MOST_PAGES: Final = 1000
_MAX_TEXT: Final = 200
_MAX_TERM: Final = 2000


@dataclass(frozen=True, slots=True)
class TermRow:
    """A class or property.

    Attributes:
        kind: `class` or `property`.
        term: its IRI.
        n: stored statements with it.
    """

    kind: str
    term: str
    n: int


@dataclass(frozen=True, slots=True)
class VocabularyRow:
    """A vocabulary.

    Attributes:
        space: its namespace.
        n_terms: classes and properties of it.
        n: stored statements with these.
    """

    space: str
    n_terms: int
    n: int


class TermChoice(NamedTuple):
    """A choice of terms.

    Attributes:
        text: part of the IRI, in lower case; empty: any.
        space: namespace; empty: any.
    """

    text: str = ""
    space: str = ""

    def has(self, row: TermRow) -> bool:
        """Return whether a term is chosen."""
        return self.text in row.term.lower() and self.space in ("", space_of(row.term))


class TermTable(NamedTuple):
    """The terms of a crawl.

    Attributes:
        rows: the most frequent first.
        n_other: statements with further terms, by kind.
    """

    rows: list[TermRow]
    n_other: dict[str, int]

    def spaces(self, choice: TermChoice) -> list[VocabularyRow]:
        """Return the vocabularies with chosen terms, the most used first."""
        return _spaces(each for each in self.rows if choice.text in each.term.lower())


def _spaces(rows: Iterable[TermRow]) -> list[VocabularyRow]:
    n_terms, n = Counter[str](), Counter[str]()
    for each in rows:
        space = space_of(each.term)
        n_terms[space] += 1
        n[space] += each.n
    return [
        VocabularyRow(space, n_terms[space], n[space]) for space, _ in n.most_common()
    ]


async def read_terms(access: CrawlAccess) -> TermTable:
    """Return the terms of a crawl, 4,000 at most."""
    names = {value: name for name, value in KINDS.items()}
    rows: list[TermRow] = []
    n_other: dict[str, int] = {}
    for kind, term, n in await access.indexed(_TERMS):
        if term:
            rows.append(TermRow(names[kind], term, n))
        else:
            n_other[names[kind]] = n
    return TermTable(rows, n_other)


_SAMPLES: Final = """
SELECT subject, value, document FROM vocabulary_sample WHERE kind = ? AND term = ?
"""


def routes(context: PageContext) -> list[web.RouteDef]:
    """Return the routes of the views."""

    async def many(request: web.Request) -> web.Response:
        values = await _read_classes(context, request.query)
        return context.renderer.respond(request, "classes.html", **values)

    async def one(request: web.Request) -> web.Response:
        kind = one_of(request.query, "kind", KINDS, "class")
        term = request.query.get("u", "")[:_MAX_TERM]
        rows = (await read_terms(context.access)).rows
        n = next((x.n for x in rows if (x.kind, x.term) == (kind, term)), None)
        return context.renderer.respond(
            request,
            "term.html",
            code=404 if n is None else 200,
            kind=kind,
            term=term,
            n=n,
            samples=await context.access.listed(_SAMPLES, KINDS[kind], term),
            queries=term_queries(kind, term),
        )

    return [web.get("/classes", many), web.get("/term", one)]


async def _read_classes(
    context: PageContext, query: Mapping[str, str]
) -> dict[str, Any]:
    """Return the chosen classes and properties.

    Raises:
        web.HTTPBadRequest: a parameter has no such value.
    """
    kind = one_of(query, "kind", KINDS, "")
    text = query.get("q", "")[:_MAX_TEXT].strip().lower()
    choice = TermChoice(text, query.get("space", "")[:_MAX_TERM])
    page = int_parameter(query, "page", 1, least=1, most=_MOST_PAGES)
    table = await read_terms(context.access)
    most = _OF_ONE if kind else _OF_BOTH
    kinds, n_pages = [], 1
    for name in [kind] if kind else KINDS:
        of_kind = [each for each in table.rows if each.kind == name]
        chosen = [each for each in of_kind if choice.has(each)]
        n_pages = max(1, -(-len(chosen) // most)) if kind else 1
        page = min(page, n_pages)
        n_other = table.n_other.get(name, 0)
        kinds.append(
            {
                "kind": name,
                "rows": chosen[(page - 1) * most : page * most],
                "n_rows": len(chosen),
                "n": sum(each.n for each in of_kind) + n_other,
                "n_other": n_other,  # statements with terms that have no rows
            }
        )
    spaces = table.spaces(choice)
    return {
        "kinds": kinds,
        "spaces": spaces[:MOST_SPACES],
        "n_spaces": len(spaces),
        "kind": kind,
        "q": text,
        "space": choice.space,
        "page": page,
        "n_pages": n_pages,
    }
