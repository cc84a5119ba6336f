"""The text of SPARQL queries: their terms, their prefixes and their dataset."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from rdfcrawl.core.namespaces import HTTP, PREFIXES, PROV, SQUIRREL, XSD

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
_NAME: Final = r"(?<![\w:?$@.-])(?<!\^\^)([^\W\d_][\w.-]*|):"
_DECLARATION: Final = re.compile(rf"\bPREFIX\s+{_NAME}\s*<([^<>\s]*)>", re.IGNORECASE)
# Not declared, no datatype, no function, and no endpoint (SPARQL 1.1, 19.8).
_TERM: Final = re.compile(
    rf"(?P<other>\b(?:PREFIX\s++[^\s<]*+|BASE|SERVICE\s++SILENT|SERVICE)\s*+<[^<>\s]*>)"
    r"|(?<!\^\^)<(?P<iri>[A-Za-z][A-Za-z0-9+.-]*:"
    r'[^<>"{}|^`\\\x00-\x20]*)>(?!\s*\()'
    rf"|{_NAME}(?P<local>\w(?:[\w-]|\.(?=[\w-]))*+)(?!\s*\(|[%\\])",
    re.IGNORECASE,
)


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


def terms_of(query: str) -> dict[str, str]:
    """Return the IRI of each term by its name in a query.

    Datatypes, functions, endpoints and names with escapes are left out.

    >>> terms_of("PREFIX e: <http://e/> ASK { ?s e:p 'e:q' FILTER(e:f(?s) = <urn:x>) }")
    {'e:p': 'http://e/p', '<urn:x>': 'urn:x'}
    """
    text = without_texts(query)
    return dict(_terms(text, _prefixes_in(text)))


def _terms(text: str, prefixes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for found in _TERM.finditer(text):
        if found["other"]:
            continue
        if found["iri"]:
            yield found[0], found["iri"]
            continue
        name, _, local = found[0].partition(":")
        space = prefixes.get(name, "")
        if ":" in space and space != XSD:  # else not known, or relative
            yield found[0], space + local


def unknown_prefixes(query: str) -> list[str]:
    """Return the prefixes of a query that are neither declared nor known.

    >>> unknown_prefixes("PREFIX e: <urn:e> ASK { ?s e:p 'a:b' ; ex:p foaf:Person }")
    ['ex']
    """
    text = without_texts(query)
    known = _prefixes_in(text)
    names = (found[0] for found in _TERM.finditer(text) if found["local"])
    prefixes = dict.fromkeys(name.partition(":")[0] for name in names)
    return [prefix for prefix in prefixes if prefix not in known]


def _prefixes_in(text: str) -> dict[str, str]:
    return {**PREFIXES, **dict(_DECLARATION.findall(text))}
