"""Check queries of visitors: they must stay within the store."""

from __future__ import annotations

import re
from typing import Final

from rdfcrawl.core.errors import ConfigError

MAX_QUERY_CHARS: Final = 8000
BUSY: Final = (
    "another process has the store open: `scrapy query`, or a follower; try again later"
)

_NO_SERVICE: Final = (
    "query: SERVICE is refused: a query of the page cannot reach other endpoints"
)
# Tokens that may contain a word without its meaning (SPARQL 1.1, 19.8).
_OPAQUE: Final = re.compile(
    r'<[^<>"{}|^`\\\s]*>|"""(?:[^"\\]|\\.|"(?!""))*"""|\'\'\'(?:[^\'\\]|\\.|\'(?!\'\'))*'
    r"\'\'\'|\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+'|\\.|#[^\n]*",
    re.DOTALL,
)
_SERVICE: Final = re.compile(r"(?<![\w:?$@-])SERVICE(?![\w:-])", re.IGNORECASE)
# In any case, in any place.
_MAYBE_SERVICE: Final = re.compile(r"SERVICE|\\u", re.IGNORECASE)


def check_query(query: str, *, is_confined: bool) -> None:
    """Refuse a query that might reach another endpoint, or is too long.

    Args:
        query: SPARQL.
        is_confined: the kernel keeps its process from the network, so that a disguised
            SERVICE fails; else, the word is refused even in a literal.

    Raises:
        ConfigError: the query is refused.

    >>> check_query("SELECT * { ?s ?service 'SERVICE' }", is_confined=True)
    >>> check_query("SELECT * { SERVICE <http://e/> {} }", is_confined=True)
    Traceback (most recent call last):
    ...
    rdfcrawl.core.errors.ConfigError: query: SERVICE is refused: a query of the page cannot reach other endpoints
    """  # noqa: E501 (the message)
    if len(query) > MAX_QUERY_CHARS:
        raise ConfigError(f"query: longer than {MAX_QUERY_CHARS:,} characters")
    if _SERVICE.search(_OPAQUE.sub(" ", query)):
        raise ConfigError(_NO_SERVICE)
    if not is_confined and _MAYBE_SERVICE.search(query):
        raise ConfigError(f"{_NO_SERVICE}; here, not even the word")
