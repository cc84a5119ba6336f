"""Copy properties: statements of an `rdfa:Pattern` go to its `rdfa:copy` subjects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rdfcrawl.core.namespaces import RDF_TYPE, RDFA
from rdfcrawl.rdf import terms

if TYPE_CHECKING:
    from rdfcrawl.rdf.html.rdfa.scope import RdfaBudget

Triple = tuple[str, str, str]

_STEP = 64  # cost of visiting a pattern, in characters
_TYPE = terms.iri(RDF_TYPE)
COPY = terms.iri(RDFA + "copy")
PATTERN = terms.iri(RDFA + "Pattern")


def copy_patterns(triples: Iterable[Triple], budget: RdfaBudget) -> Iterator[Triple]:
    """Yield all triples with patterns copied, without the copied patterns.

    Raises `OutputOverflow` for too many copies.

    Source: HTML+RDFa 1.1 section 3.5.
    """
    known = list(dict.fromkeys(triples))
    patterns = {s for s, p, o in known if p == _TYPE and o == PATTERN}
    copies: dict[str, list[str]] = defaultdict(list)
    content: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for subject, predicate, obj in known:
        if predicate == COPY and obj in patterns:
            copies[subject].append(obj)
        elif subject in patterns and (predicate, obj) != (_TYPE, PATTERN):
            content[subject].append((predicate, obj))
    used = {pattern for targets in copies.values() for pattern in targets}
    for triple in known:
        is_copied = triple[1] == COPY and triple[2] in used
        if triple[0] not in used and not is_copied:
            yield triple
    for subject in [one for one in copies if one not in used]:
        for pattern in _reach(subject, copies):
            budget.spend(
                _STEP + sum(len(subject) + len(o) for _, o in content[pattern])
            )
            for predicate, obj in content[pattern]:
                yield subject, predicate, obj


def _reach(subject: str, copies: dict[str, list[str]]) -> Iterator[str]:
    seen = {subject}
    waiting = list(reversed(copies[subject]))
    while waiting:
        pattern = waiting.pop()
        if pattern not in seen:
            seen.add(pattern)
            yield pattern
            waiting += reversed(copies.get(pattern, ()))
