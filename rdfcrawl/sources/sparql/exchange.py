"""Requests to an endpoint, and the meaning of status and headers of its responses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final
from urllib.parse import urlencode

from rdfcrawl.core.content import ByteSource

MAX_GET_CHARS: Final = 2_000  # of a URL; some servers truncate or refuse longer ones

ACCEPT_TABLE: Final = (
    "application/sparql-results+json, application/sparql-results+xml;q=0.9, "
    "text/tab-separated-values;q=0.5, text/csv;q=0.2"
)
ACCEPT_TABLE_XML: Final = (
    "application/sparql-results+xml, application/sparql-results+json;q=0.9"
)
ACCEPT_TRIPLES: Final = (
    "application/n-triples, text/turtle;q=0.9, application/rdf+xml;q=0.8, "
    "application/ld+json;q=0.5"
)
ACCEPT_DESCRIPTION: Final = (
    "text/turtle, application/rdf+xml;q=0.9, application/n-triples;q=0.8, "
    "application/ld+json;q=0.7, text/html;q=0.1"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SparqlRequest:
    """A request, a POST if it has a body; header names are in lower case."""

    url: str
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparqlResponse:
    """A response; header names are in lower case, the body is unpacked."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: ByteSource = field(default_factory=lambda: ByteSource(b""))

    @property
    def media_type(self) -> str:
        """Media type of the Content-Type, lower case, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class SparqlFailure(StrEnum):
    """Reason why a request had no usable response."""

    TIMEOUT = "timeout"  # too much requested; a part may succeed
    BUSY = "busy"  # repeat the request later
    ORDER = "order"  # the endpoint cannot sort so many rows
    REFUSED = "refused"  # another form of the query may succeed
    BROKEN = "broken"  # no response at all; another query may have one
    CLOSED = "closed"  # no query succeeds


# Parameters for endpoints that ignore the header `Accept`, by the wanted types.
_PARAMETERS: Final = {
    ACCEPT_TABLE: ("application/sparql-results+json", "json"),
    ACCEPT_TABLE_XML: ("application/sparql-results+xml", "xml"),
    ACCEPT_TRIPLES: ("text/turtle", "turtle"),
}


def query_request(
    endpoint: str,
    query: str,
    accept: str,
    *,
    max_get_chars: int = MAX_GET_CHARS,
    by_parameter: bool = False,
) -> SparqlRequest:
    """Return the request of a query: a GET if the URL is short, otherwise a POST.

    Args:
        endpoint: its URL.
        query: in SPARQL.
        accept: value of the header `Accept`, one of the constants.
        max_get_chars: longest URL.
        by_parameter: parameters name the wanted format: `format` as of Virtuoso, and
            `output` as of Jena and others.

    Source: SPARQL 1.1 Protocol, 2.1.
    """
    given = {"query": query}
    if by_parameter and accept in _PARAMETERS:
        media_type, name = _PARAMETERS[accept]
        given |= {"format": media_type, "output": name}
        accept = "*/*"
    fields = urlencode(given)
    endpoint = endpoint.partition("#")[0]
    url = f"{endpoint}{'&' if '?' in endpoint else '?'}{fields}"
    if len(url) <= max_get_chars:
        return SparqlRequest(url=url, headers={"accept": accept})
    form = "application/x-www-form-urlencoded"
    headers = {"accept": accept, "content-type": form}
    return SparqlRequest(url=endpoint, headers=headers, body=fields.encode())


# Texts of endpoints in responses of 400 and 500; lower case.
_SAYS_TIMEOUT = re.compile(
    rb"time.?out|timed out|exceeds the limit|estimated execution time|s1tat|s1t00"
    rb"|canceled due to|query execution time|cancelled|memory|out of resources"
    rb"|too (?:large|many|expensive|costly)|deadline"
)
_SAYS_ORDER = re.compile(rb"sr353|sorted top|order by (?:is )?not|sort")
# Errors of queries, which some servers report with status 500.
_SAYS_SYNTAX = re.compile(
    rb"syntax|parse error|malformed|undefined (?:procedure|function)|37000|sp030|sr185"
    rb"|unknown function|not supported|unsupported|sp031"
)


def judge(response: SparqlResponse) -> SparqlFailure | None:
    """Return the failure of an unusable response; None if it is usable.

    A result that the endpoint has cut short (Virtuoso's "anytime" queries, 206) is a
    timeout: its counts are not those of the store.
    """
    status = response.status
    state = response.headers.get("x-sql-state", "").upper()
    if status == 206 or state.startswith("S1TA"):
        return SparqlFailure.TIMEOUT
    if 200 <= status < 300:
        return None
    if status == 503 and _SAYS_TIMEOUT.search(response.body.head()[:2_000].lower()):
        return SparqlFailure.TIMEOUT  # used by Jena for timeouts
    if status in (400, 500):
        return _judge_text(status, response.body.head()[:8_192].lower())
    return _BY_STATUS.get(
        status, SparqlFailure.TIMEOUT if status > 500 else SparqlFailure.REFUSED
    )


_BY_STATUS: Final = (
    dict.fromkeys((429, 503), SparqlFailure.BUSY)
    | dict.fromkeys((408, 413, 502, 504, 509), SparqlFailure.TIMEOUT)
    | dict.fromkeys((401, 403, 404, 407, 410, 451), SparqlFailure.CLOSED)
)


def _judge_text(status: int, text: bytes) -> SparqlFailure:
    # The query is often quoted after the message.
    message = text.partition(b"sparql query:")[0][:2_000]
    if _SAYS_ORDER.search(message) and b"order" in text:
        return SparqlFailure.ORDER
    if _SAYS_SYNTAX.search(message):
        return SparqlFailure.REFUSED
    if _SAYS_TIMEOUT.search(message):
        return SparqlFailure.TIMEOUT
    return SparqlFailure.REFUSED if status == 400 else SparqlFailure.TIMEOUT
