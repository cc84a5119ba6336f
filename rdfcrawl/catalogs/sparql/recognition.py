"""Whether an answer is that of a SPARQL endpoint that was asked without a query.

Recognized, not probed: nothing is sent to find out. What was fetched anyway is looked
at, and an IRI is an endpoint if it is said to be one or answers as one.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

HEAD_BYTES: Final = 64 * 1024

_TABLE_TYPES = (
    "application/sparql-results+json",
    "application/sparql-results+xml",
)
# What the stores answer to a GET without a query, in lower case.
_SAYS: Final = (
    ("fuseki", re.compile(rb"\Aservice description: /\S+\s*\Z")),
    (
        "fuseki",
        re.compile(rb"sparql query: no query (?:specified|string)|no query string"),
    ),
    ("rdf4j", re.compile(rb"\A\s*missing parameter: query\s*\Z")),
    ("stardog", re.compile(rb"\"code\"\s*:\s*\"(?:qe0|0d0|us2)\w+\"[^}]*quer")),
    ("oxigraph", re.compile(rb"you should set the 'query' parameter")),
    (
        "qlever",
        re.compile(rb"must contain a query or update|no query (?:or|and) no update"),
    ),
    (
        "allegrograph",
        re.compile(rb"query (?:parameter|argument) (?:is )?(?:missing|required)"),
    ),
    ("marklogic", re.compile(rb"rest-invalidparam[^<]*query")),
    (
        "generic",
        re.compile(
            rb"(?:missing|required?|absent|provide|specify|no|without)\b[^.\n]{0,40}"
            rb"['\"`]?\bquery['\"`]?\b"
            rb"|['\"`]query['\"`][^.\n]{0,40}(?:missing|required|absent|must)"
        ),
    ),
)
_SPARQL_PATH = re.compile(
    r"(?:^|/)(?:sparql|query|sparql-auth|snorql)/?$", re.IGNORECASE
)
_IS_VIRTUOSO = re.compile(
    rb"<title>\s*(?:openlink )?virtuoso sparql quer", re.IGNORECASE
)
_FORM = re.compile(rb"<form\b([^>]*)>(.*?)(?:</form|\Z)", re.IGNORECASE | re.DOTALL)
_FIELD = re.compile(
    rb"<(?:textarea|input)\b[^>]*\bname\s*=\s*[\"']?query[\"'\s>/]", re.IGNORECASE
)
_ACTION = re.compile(
    rb"\baction\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+))", re.IGNORECASE
)
_SERVICE = re.compile(rb"sparql-service-description#(?:>|Service\b|\")", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognized:
    """An endpoint.

    Attributes:
        endpoint: its URL.
        by: what told it: `description`, `form`, `table`, or the name of a store
            whose error message it is.
    """

    endpoint: str
    by: str


def recognize(
    url: str, *, status: int, headers: Mapping[str, str], head: bytes
) -> Recognized | None:
    """Return the endpoint that gave an answer, or that its page has a form for.

    Args:
        url: that was asked, after redirects.
        status: HTTP status.
        headers: by name in lower case.
        head: first bytes of the body, not packed; `HEAD_BYTES` are looked at.
    """
    head = head[:HEAD_BYTES]
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type in _TABLE_TYPES:
        return Recognized(endpoint=_without_query(url), by="table")
    if 200 <= status < 300:
        return _recognize_page(url, media_type, head)
    if status in (400, 404, 406, 422, 500):
        return _recognize_error(url, status, headers, head)
    return None


def is_service_iri(predicate: str, *, is_object: bool) -> bool:
    """Whether the object (or the subject) of a statement is said to be an endpoint.

    >>> is_service_iri("http://rdfs.org/ns/void#sparqlEndpoint", is_object=True)
    True
    """
    return is_object and predicate in ENDPOINT_PROPERTIES


ENDPOINT_PROPERTIES: Final = frozenset(
    (
        "http://www.w3.org/ns/sparql-service-description#endpoint",
        "http://www.w3.org/ns/sparql-service-description#url",
        "http://rdfs.org/ns/void#sparqlEndpoint",
        "http://sw.deri.org/2007/07/sitemapextension/scschema#sparqlEndpointLocation",
    )
)


def _recognize_page(url: str, media_type: str, head: bytes) -> Recognized | None:
    if "html" not in media_type:
        if _SERVICE.search(head) or b"sd:Service" in head:
            return Recognized(endpoint=_without_query(url), by="description")
        return None
    if _IS_VIRTUOSO.search(head):
        return Recognized(endpoint=_without_query(url), by="virtuoso")
    if b"sparql" not in head.lower():
        return None
    for found in _FORM.finditer(head):
        if _FIELD.search(found[2]):
            return _of_form(url, found[1])
    return None


def _of_form(url: str, attributes: bytes) -> Recognized | None:
    found = _ACTION.search(attributes)
    action = b"".join(x for x in found.groups() if x) if found else b""
    try:
        target = urljoin(url, html.unescape(action.decode("utf-8", "replace")).strip())
        is_same_site = urlsplit(target)[:2] == urlsplit(url)[:2]
    except ValueError:
        return None
    # Another site's form would be a claim about that site.
    return (
        Recognized(endpoint=_without_query(target), by="form") if is_same_site else None
    )


def _recognize_error(
    url: str, status: int, headers: Mapping[str, str], head: bytes
) -> Recognized | None:
    text = head[:4_096].lower()
    if status == 404 and "fuseki-request-id" not in headers:
        return None
    for name, pattern in _SAYS:
        if not pattern.search(text):
            continue
        if name == "generic":
            is_sparql = b"sparql" in text or _SPARQL_PATH.search(urlsplit(url).path)
            if status != 400 or not is_sparql:
                continue
        return Recognized(endpoint=_without_query(url), by=name)
    return None


def _without_query(url: str) -> str:
    """Return the URL as it is asked; a query string may name the repository."""
    before, mark, query = url.partition("#")[0].partition("?")
    kept = [
        x for x in query.split("&") if x and not x.startswith(("query=", "format="))
    ]
    return before + (mark + "&".join(kept) if kept else "")
