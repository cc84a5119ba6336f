"""Run SPARQL queries on an Oxigraph store that follows a crawl."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain, islice
from typing import Final, TextIO

import pyoxigraph as ox

from rdfcrawl.core.batches import in_batches
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.namespaces import HTTP, PREFIXES, PROV, SQUIRREL
from rdfcrawl.rdf.results import WRITERS, write_table

FORMATS: Final = ("table", *WRITERS, "nt", "ttl")
_OF_TRIPLES: Final = {"nt": ox.RdfFormat.N_TRIPLES, "ttl": ox.RdfFormat.TURTLE}
_OF_ASK: Final = {"json": ox.QueryResultsFormat.JSON, "xml": ox.QueryResultsFormat.XML}
_BATCH_TRIPLES: Final = 10_000

# SPARQL 1.1, 19.8: terms and comments, in which the word FROM has no meaning.
_OPAQUE: Final = re.compile(
    r'<[^<>"{}|^`\\\s]*>|"""(?:[^"\\]|\\.|"(?!""))*"""|\'\'\'(?:[^\'\\]|\\.|\'(?!\'\'))*'
    r"\'\'\'|\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+'|\\.|#[^\n]*",
    re.DOTALL,
)
_FROM: Final = re.compile(
    r"(?<![\w:?$@.-])FROM\s+(?:NAMED\s+)?(?:<|[\w.-]*:)", re.IGNORECASE
)


# Without its own prefixes, a query names terms of the provenance by these.
_PREFIXED: Final = re.compile(r"(?<![\w:?$@.-])(?:rc|sq|prov|http):\w")
_SPACES: Final = tuple(f"<{each}" for each in ("urn:rdfcrawl:", SQUIRREL, PROV, HTTP))


def names_provenance(query: str) -> bool:
    """Return whether a query is about the provenance.

    It names its graph, one of its nodes, or a term of its vocabularies.

    >>> names_provenance("SELECT * { GRAPH <urn:rdfcrawl:provenance> { ?s ?p ?o } }")
    True
    >>> names_provenance("SELECT * { ?activity sq:status 'FAILED' }")
    True
    >>> names_provenance("SELECT * { ?s <http://example.org/sq:p> 'rc:x' }")
    False
    """
    if _PREFIXED.search(_OPAQUE.sub(_blanked, query)):
        return True
    return any(term.startswith(_SPACES) for term in _OPAQUE.findall(query))


def has_dataset(query: str) -> bool:
    """Return whether a query names its dataset (FROM, FROM NAMED).

    >>> has_dataset("SELECT * FROM <http://e/g> { ?s ?p ?from }")
    True
    >>> has_dataset("SELECT * { ?s ?p 'FROM <x>' } # FROM <y>")
    False
    """
    return bool(_FROM.search(_OPAQUE.sub(_blanked, query)))


def _blanked(found: re.Match[str]) -> str:
    return "<>" if found[0].startswith("<") else " "


def without_texts(query: str) -> str:
    """Return a query without its literals and comments, but with its IRIs and names.

    >>> without_texts("ASK { <a:b> a:c 'd' } # e")
    'ASK { <a:b> a:c   }  '
    """
    return _OPAQUE.sub(_term_or_space, query)


def _term_or_space(found: re.Match[str]) -> str:
    return found[0] if found[0][0] in "<\\" else " "  # the latter escapes in a name


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
        format_name: one of `FORMATS`; by default, a table or Turtle on a terminal,
            and JSON or N-Triples in any other file.
        limit: maximum number of rows or triples.

    Raises:
        ConfigError: the query is invalid, or has no result in this format.
    """
    try:
        result = run_query(store, query)
    except (SyntaxError, ValueError) as error:
        raise ConfigError(f"query: {' '.join(str(error).split())}") from error
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
    has_any = False
    for some in in_batches(triples, _BATCH_TRIPLES):
        written = ox.serialize(some, format=kind, prefixes=_used(kind))
        file.write((written or b"").decode())
        has_any = True
    return has_any


def _used(kind: ox.RdfFormat) -> dict[str, str] | None:
    return PREFIXES if kind is ox.RdfFormat.TURTLE else None
