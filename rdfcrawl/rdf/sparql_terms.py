"""Checked terms of SPARQL queries."""

from __future__ import annotations

import re
from typing import Final

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf import terms

MAX_KEY_CHARS: Final = 400
# SPARQL 1.1, 19.2: escapes are decoded before the query is parsed, so an escaped
# `>` would end the IRI; some implementations also decode them after `\\`.
_BAD_TEXT: Final = re.compile(r"[\\\ud800-\udfff\x00]")


def is_safe(key: str) -> bool:
    """Return whether a key is safe in queries and tasks, and sorts in comparison order.

    Virtuoso 7 sorts non-ASCII strings in a different order than it compares them.
    """
    return len(key) <= MAX_KEY_CHARS and key.isascii() and not _BAD_TEXT.search(key)


def iri(value: str) -> str:
    """Return an IRI as a term of SPARQL.

    Raises:
        SourceFault: the value has characters that are not allowed in IRIs.
    """
    if terms.has_forbidden(value):
        raise SourceFault(Reason.BAD_TERM, f"not a valid IRI: {value[:100]!r}")
    return f"<{value}>"


def can_be_named(value: str) -> bool:
    """Return whether a value is valid as an IRI in a query."""
    return not terms.has_forbidden(value)


def text(value: str) -> str:
    """Return a string as a term of SPARQL.

    Raises:
        SourceFault: the value has characters that are not safe at every endpoint.
    """
    if _BAD_TEXT.search(value):
        raise SourceFault(Reason.BAD_TERM, f"not a safe text: {value[:100]!r}")
    return terms.literal(value)
