"""Run SPARQL queries on an Oxigraph store that follows a crawl."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice
from typing import Final, TextIO

import pyoxigraph as ox

from rdfcrawl.core.batches import in_batches
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.namespaces import PREFIXES
from rdfcrawl.rdf.results import WRITERS, write_table
from rdfcrawl.stores.followers.query_text import has_dataset, unknown_prefixes

_OF_TRIPLES: Final = {"nt": ox.RdfFormat.N_TRIPLES, "ttl": ox.RdfFormat.TURTLE}
_OF_ASK: Final = {"json": ox.QueryResultsFormat.JSON, "xml": ox.QueryResultsFormat.XML}
_BATCH_TRIPLES: Final = 10_000
_NO_PREFIX: Final = "Prefix not found"  # in errors of pyoxigraph
_MOST_CHARS: Final = 500  # of an error


def run_query(
    store: ox.Store, query: str
) -> ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples:
    """Return the result of a query.

    The default graph is the union of all graphs, unless the query has FROM.

    Raises:
        SyntaxError, ValueError: the query is invalid.
    """
    is_union = not has_dataset(query)
    return store.query(query, prefixes=PREFIXES, use_default_graph_as_union=is_union)


def invalid_query(query: str, error: Exception) -> ConfigError:
    """Return the error of an operator for one of `run_query`, in one line.

    >>> str(invalid_query("ASK { ?s ex:p 1 }", SyntaxError("Prefix not found")))
    'query: ex: is no known prefix; declare it: PREFIX ex: <IRI>'
    """
    text = " ".join(str(error).split())
    if _NO_PREFIX in text and (unknown := unknown_prefixes(query)):
        name = unknown[0]
        text = f"{name}: is no known prefix; declare it: PREFIX {name}: <IRI>"
    return ConfigError(f"query: {text[:_MOST_CHARS]}")


def write_result(
    store: ox.Store,
    query: str,
    file: TextIO,
    *,
    format_name: str | None = None,
    limit: int | None = None,
) -> bool:
    """Write the result of a query; return whether there is one: rows, triples or yes.

    The default graph is the union of all graphs, unless the query has FROM.

    Args:
        store: to query.
        query: SELECT, ASK, CONSTRUCT or DESCRIBE.
        file: to write to.
        format_name: `table`, `json`, `csv`, `tsv`, `xml`, `nt` or `ttl`; by default,
            a table or Turtle on a terminal, and JSON or N-Triples in any other file.
        limit: maximum number of rows or triples.

    Raises:
        ConfigError: the query is invalid, or has no result in this format.
    """
    try:
        result = run_query(store, query)
    except (SyntaxError, ValueError) as error:
        raise invalid_query(query, error) from error
    if isinstance(result, ox.QueryBoolean):
        name = _chosen(format_name, ("table", "json"), ("table", *_OF_ASK), file)
        _write_boolean(result, name, file)
        return bool(result)
    if isinstance(result, ox.QueryTriples):
        name = _chosen(format_name, ("ttl", "nt"), tuple(_OF_TRIPLES), file)
        return _write_triples(islice(result, limit), name, file)
    name = _chosen(format_name, ("table", "json"), ("table", *WRITERS), file)
    names = [variable.value for variable in result.variables]
    first = list(islice(result, min(1, 1 if limit is None else limit)))
    more = islice(result, None if limit is None else max(0, limit - 1))
    rows = (list(row) for row in chain(first, more))
    if name == "table":
        write_table(names, rows, file, prefixes=PREFIXES)
    else:
        WRITERS[name](names, rows, file)
    return bool(first)


def _chosen(
    given: str | None,
    by_default: tuple[str, str],
    possible: tuple[str, ...],
    file: TextIO,
) -> str:
    name = given or by_default[not file.isatty()]
    if name not in possible:
        raise ConfigError(
            f"--format {name}: the result of this query can be {', '.join(possible)}"
        )
    return name


def _write_boolean(result: ox.QueryBoolean, name: str, file: TextIO) -> None:
    if name == "table":
        file.write("yes\n" if result else "no\n")
        return
    written = result.serialize(format=_OF_ASK[name])
    file.write((written or b"").decode() + "\n")


def _write_triples(triples: Iterable[ox.Triple], name: str, file: TextIO) -> bool:
    kind = _OF_TRIPLES[name]
    prefixes = PREFIXES if kind is ox.RdfFormat.TURTLE else None
    has_any = False
    for some in in_batches(triples, _BATCH_TRIPLES):
        written = ox.serialize(some, format=kind, prefixes=prefixes)
        file.write((written or b"").decode())
        has_any = True
    return has_any
