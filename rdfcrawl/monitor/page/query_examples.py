"""Example queries that have results on this crawl."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rdfcrawl.core.namespaces import PREFIXES, RDF_TYPE

_is_safe_iri: Final = re.compile(
    r"[a-z][a-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]+"
).fullmatch
_is_local: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*").fullmatch
_SHOWN: Final = 3  # classes, and predicates
_PROVENANCE: Final = "<urn:rdfcrawl:provenance>"


@dataclass(frozen=True, slots=True)
class QueryExample:
    """A query, and its title."""

    title: str
    query: str


def make_examples(
    classes: Sequence[str], predicates: Sequence[str]
) -> list[QueryExample]:
    """Return queries with terms of the crawl, the frequent ones first."""
    found = [
        QueryExample(
            "The largest documents",
            "SELECT ?document (COUNT(*) AS ?statements)\n"
            "WHERE { GRAPH ?document { ?s ?p ?o } }\n"
            "GROUP BY ?document ORDER BY DESC(?statements) LIMIT 20",
        )
    ]
    if classes:
        found.append(
            QueryExample(
                "Classes, and how many things are of each",
                "SELECT ?class (COUNT(DISTINCT ?thing) AS ?things)\n"
                "WHERE { GRAPH ?document { ?thing a ?class } }\n"
                "GROUP BY ?class ORDER BY DESC(?things) LIMIT 20",
            )
        )
    found += [
        QueryExample(f"Things of the class {name}", _things(name))
        for name in [x for x in map(_term, classes) if x][:_SHOWN]
    ]
    wanted = (_term(each) for each in predicates if each != RDF_TYPE)
    for name in [x for x in wanted if x][:_SHOWN]:
        where = f"GRAPH ?document {{ ?s {name} ?o }}"
        query = f"SELECT ?s ?o\nWHERE {{ {where} }}\nLIMIT 100"
        found.append(QueryExample(f"What {name} relates", query))
    found.append(
        QueryExample(
            "Faults of documents, by reason",
            "SELECT ?reason (COUNT(*) AS ?n)\n"
            f"WHERE {{ GRAPH {_PROVENANCE} {{ ?fault rc:reason ?reason }} }}\n"
            "GROUP BY ?reason ORDER BY DESC(?n)",
        )
    )
    return found


def term_queries(kind: str, iri: str) -> list[QueryExample]:
    """Return queries about a class or property; none if it is no IRI of SPARQL.

    Args:
        kind: `class` or `property`.
        iri: of the term.
    """
    name = _term(iri)
    if not name:
        return []
    if kind == "class":
        properties = (
            "SELECT ?property (COUNT(*) AS ?statements)\n"
            f"WHERE {{ ?thing a {name} ; ?property ?value }}\n"
            "GROUP BY ?property ORDER BY DESC(?statements)"
        )
        return [
            QueryExample("Things of this class", _things(name)),
            QueryExample("Properties of these things", properties),
        ]
    relations = f"SELECT ?s ?o\nWHERE {{ ?s {name} ?o }}\nLIMIT 100"
    classes = (
        "SELECT ?class (COUNT(DISTINCT ?s) AS ?things)\n"
        f"WHERE {{ ?s {name} ?value ; a ?class }}\n"
        "GROUP BY ?class ORDER BY DESC(?things)"
    )
    return [
        QueryExample("Its relations", relations),
        QueryExample("Classes of its subjects", classes),
    ]


def _things(name: str) -> str:
    where = f"GRAPH ?document {{ ?thing a {name} ; ?p ?o }}"
    return f"SELECT ?thing ?p ?o\nWHERE {{ {where} }}\nLIMIT 100"


def shortened(iri: str) -> str:
    """Return an IRI with its prefix, if one is declared.

    >>> shortened("http://rdfs.org/ns/void#Dataset"), shortened("urn:x:y")
    ('void:Dataset', 'urn:x:y')
    """
    for name, namespace in PREFIXES.items():
        if iri.startswith(namespace) and _is_local(iri[len(namespace) :]):
            return f"{name}:{iri[len(namespace) :]}"
    return iri


def shortened_space(space: str) -> str:
    """Return a namespace with its prefix, if one is declared.

    >>> shortened_space("http://rdfs.org/ns/void#"), shortened_space("urn:x:")
    ('void: http://rdfs.org/ns/void#', 'urn:x:')
    """
    found = next((name for name, known in PREFIXES.items() if known == space), "")
    return f"{found}: {space}" if found else space


def _term(iri: str) -> str:
    """Return a term of SPARQL; empty if there is none."""
    if not _is_safe_iri(iri):
        return ""
    short = shortened(iri)
    return f"<{iri}>" if short == iri else short
