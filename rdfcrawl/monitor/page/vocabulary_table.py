"""Classes and properties of a crawl, by its index, with the facets to choose them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from rdfcrawl.analysis.crawl_index.vocabulary import CLASS, PROPERTY, space_of
from rdfcrawl.monitor.page.crawl_access import CrawlAccess

KINDS: Final = {"class": CLASS, "property": PROPERTY}
MOST_SPACES: Final = 40
"""Vocabularies that are offered as facets."""
_TERMS: Final = "SELECT kind, term, n FROM vocabulary ORDER BY n DESC, term"


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
