"""Whether an answer is that of a SPARQL endpoint that was asked without a query.

Recognized, not probed: nothing is sent to find out. What was fetched anyway is looked
at, and an IRI is an endpoint if it is said to be one or answers as one. What RDF says
of services is looked for in its statements (`services`), whatever they came in.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urljoin, urlsplit

from rdfcrawl.uri.origin import is_same_origin

if TYPE_CHECKING:
    from collections.abc import Mapping

HEAD_BYTES: Final = 64 * 1024

PAGE_TYPES: Final = frozenset({"text/html", "application/xhtml+xml", ""})
# What tables of results come as; the registered types first.
TABLE_TYPES: Final = frozenset(
    {
        "application/sparql-results+json",
        "application/sparql-results+xml",
        "text/tab-separated-values",
        "text/csv",
        "application/json",
        "application/xml",
        "text/xml",
        "text/plain",
    }
)
ERROR_STATUSES: Final = frozenset({400, 404, 406, 415, 422, 500, 501})


@dataclass(frozen=True, slots=True, kw_only=True)
class RecognizedEndpoint:
    """An endpoint.

    Attributes:
        endpoint: its URL.
        by: what told it: `form`, `table`, or the name of a store whose page or error
            message it is.
    """

    endpoint: str
    by: str


def recognize(
    url: str, *, status: int, headers: Mapping[str, str], head: bytes
) -> RecognizedEndpoint | None:
    """Return the endpoint that gave an answer, or that its page has a form for.

    Args:
        url: that was asked, after redirects.
        status: HTTP status.
        headers: by name in lower case.
        head: first bytes of the body, not packed; `HEAD_BYTES` are looked at.
    """
    head = head[:HEAD_BYTES]
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if 200 <= status < 300:
        if media_type in PAGE_TYPES and (found := _recognize_page(url, head)):
            return found
        return _recognize_table(url, media_type, head)
    if status in ERROR_STATUSES:
        return _recognize_error(url, status, head)
    return None


# -- URLs --------------------------------------------------------------------------

_SCRIPTS: Final = frozenset({"php", "jsp", "jspx", "asp", "aspx", "cgi", "do", "py"})
_file_end = re.compile(r"\.([A-Za-z][A-Za-z0-9]{0,7})\Z").search
_SEGMENT = (
    r"/(?:\w{1,40}[_-])?sparql(?:[_-]?(?:auth|endpoint|query|service|api|11))?"
    r"(?:\.\w{1,8})?"
)
_SPARQL_PATH: Final = re.compile(_SEGMENT + r"(?:/|\Z)", re.IGNORECASE)
_QUERY_PATH: Final = re.compile(rf"(?:{_SEGMENT}|/query)/?\Z", re.IGNORECASE)
_REPOSITORY: Final = re.compile(
    rf"(?:/repositories/[^/]+|{_SEGMENT})/?\Z", re.IGNORECASE
)
_has_form = re.compile(
    r"\b(?:SELECT|ASK|CONSTRUCT|DESCRIBE)\b[^{<]{0,2000}[{<]", re.IGNORECASE
).search
# Parameters of one query, not of the endpoint. Others may name a repository.
_OF_QUERIES: Final = frozenset(
    {
        "query", "format", "output", "results", "accept", "default-graph-uri",
        "named-graph-uri", "timeout", "debug", "stylesheet", "force-accept", "run",
        "limit", "offset", "callback", "xslt-uri", "should-sponge", "signal_void",
        "infer", "reasoning", "explain",
    }
)  # fmt: skip
_MAX_PARAMETERS: Final = 100


def is_file(url: str) -> bool:
    """Tell whether a URL is that of a file by its name, and of no script.

    >>> is_file("http://a.example/services.ttl"), is_file("http://a.example/sparql.php")
    (True, False)
    """
    found = _file_end(urlsplit(url).path.rpartition("/")[2])
    return found is not None and found[1].lower() not in _SCRIPTS


def is_query(url: str) -> bool:
    """Tell whether a URL holds a query: the parameter `query` of SPARQL's protocol."""
    query = urlsplit(url).query
    if "query=" not in query:
        return False
    try:
        parameters = parse_qsl(query, max_num_fields=_MAX_PARAMETERS)
    except ValueError:
        return False
    return any(name == "query" and _has_form(text) for name, text in parameters)


def _without_query(url: str) -> str:
    """Return the URL as it is asked; a query string may name the repository."""
    before, mark, query = url.partition("#")[0].partition("?")
    kept = [
        x for x in query.split("&")
        if x and unquote(x.partition("=")[0]).lower() not in _OF_QUERIES
    ]  # fmt: skip
    return before + (mark + "&".join(kept) if kept else "")


def _is_sparql(url: str) -> bool:
    """Tell whether the path of a URL says that it is of SPARQL."""
    return _SPARQL_PATH.search(urlsplit(url).path) is not None


# -- tables ------------------------------------------------------------------------

_is_json_table = re.compile(
    rb"\s*\{\s*\"head\"\s*:\s*\{[^{}]*\}\s*,\s*\"(?:results\"\s*:\s*\{|boolean\")"
).match
_is_xml_table = re.compile(
    rb"\s*(?:<\?[^>]*>\s*|<!--(?:[^-]|-(?!->))*-->\s*)*<(?:\w+:)?sparql\b[^>]*"
    rb"http://www\.w3\.org/2005/sparql-results#"
).match
_is_tsv_table = re.compile(rb"\?\w+(?:\t\?\w+)*\r?(?:\n|\Z)").match
_is_csv_header = re.compile(rb"\"?\w+\"?(?:,\"?\w+\"?)*\r?(?:\n|\Z)").match


def _recognize_table(
    url: str, media_type: str, head: bytes
) -> RecognizedEndpoint | None:
    """Recognize rows: of a query in the URL, or of one that the endpoint has itself.

    Results that lie in a file are no answer of an endpoint.
    """
    if media_type and media_type not in TABLE_TYPES:
        return None
    has_query = is_query(url)
    if media_type == "text/csv":  # its rows do not tell what they are
        is_table = has_query and bool(_is_csv_header(head))
    elif media_type == "text/tab-separated-values":
        is_table = bool(_is_tsv_table(head))
    else:
        is_table = bool(_is_json_table(head) or _is_xml_table(head))
    if is_table and (has_query or not is_file(url)):
        return RecognizedEndpoint(endpoint=_without_query(url), by="table")
    return None


# -- pages -------------------------------------------------------------------------

_is_virtuoso = re.compile(
    rb"<title>\s*(?:openlink )?virtuoso sparql quer", re.IGNORECASE
).search
_FORM = re.compile(rb"<form\b([^>]*)>(.*?)(?:</form|\Z)", re.IGNORECASE | re.DOTALL)
_find_field = re.compile(
    rb"<(textarea|input)\b[^<>]*\bname\s*=\s*[\"']?query[\"'\s>/]", re.IGNORECASE
).search
_ACTION = re.compile(
    rb"\baction\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+))", re.IGNORECASE
)
# Fields and texts of forms for SPARQL, and of no other forms.
_is_sparql_form = re.compile(
    rb"\bsparql\b|default-graph-uri|\b(?:select|construct)\b[^<]{0,200}\{"
    rb"|\bprefix\s+\w*:",
    re.IGNORECASE,
).search
_NAMES: Final = (b"SPARQL", b"sparql", b"Sparql")
_is_editor = re.compile(rb"yasgui|yasqe", re.IGNORECASE).search  # written in scripts
_find_editor = re.compile(
    rb"(?:\bendpoint|\bdata-endpoint)[\"']?\s*[:=]\s*[\"']([^\"'\s<>]{1,500})[\"']"
).search


def _recognize_page(url: str, head: bytes) -> RecognizedEndpoint | None:
    if not any(name in head for name in _NAMES):  # as nearly all
        return None
    if _is_virtuoso(head):
        return RecognizedEndpoint(endpoint=_without_query(url), by="virtuoso")
    for found in _FORM.finditer(head):
        field = _find_field(found[2])
        if field and (target := _target_of_form(url, found[1])):
            is_area = field[1].lower() == b"textarea"  # hardly one for a search
            is_form = _QUERY_PATH.search(urlsplit(target).path) or _is_sparql_form(
                found[2]
            )
            if _is_sparql(target) or (is_area and is_form):
                return RecognizedEndpoint(endpoint=_without_query(target), by="form")
    if _is_editor(head):
        found_editor = _find_editor(head)
        if found_editor and (target := _of_same_site(url, found_editor[1])):
            return RecognizedEndpoint(endpoint=_without_query(target), by="form")
    return None


def _target_of_form(url: str, attributes: bytes) -> str:
    found = _ACTION.search(attributes)
    return _of_same_site(
        url, b"".join(x for x in found.groups() if x) if found else b""
    )


def _of_same_site(url: str, text: bytes) -> str:
    """Return what a page names, absolute; empty if that is of another site.

    Another site's form would be a claim about that site.
    """
    try:
        target = urljoin(url, html.unescape(text.decode("utf-8", "replace")).strip())
    except ValueError:
        return ""
    return target if is_same_origin(target, url) else ""


# -- errors ------------------------------------------------------------------------


class _Saying(NamedTuple):
    """What a store answers to a GET without a query.

    Attributes:
        store: its name.
        find: finds it in the text, in lower case.
        has_path: finds it in the path, where others than this store might say so.
    """

    store: str
    find: re.Pattern[bytes]
    has_path: re.Pattern[str] | None = None


_SAYINGS: Final = (
    # Fuseki 1 puts its version behind, and "Error 404" before.
    _Saying(
        "fuseki",
        re.compile(
            rb"\A\s*(?:error 404:\s*)?service description: /\S+\s*(?:fuseki\b.*)?\Z",
            re.DOTALL,
        ),
    ),
    _Saying("fuseki", re.compile(rb"\bsparql query: no 'query=' parameter")),
    # Joseki, and D2R that has it inside.
    _Saying("joseki", re.compile(rb"\bno query string\b"), _SPARQL_PATH),
    _Saying(
        "virtuoso", re.compile(rb"\brequest does not contain text of sparql query\b")
    ),
    # Sesame and GraphDB as well.
    _Saying("rdf4j", re.compile(rb"\A\s*missing parameter: query\s*\Z"), _REPOSITORY),
    _Saying(
        "allegrograph",
        re.compile(
            rb"\A\s*(?:missing|invalid|malformed) parameters?:[^\n]{0,80}\bquery\b"
            rb"|\bquery (?:parameter|argument) (?:is )?(?:missing|required)"
        ),
        _REPOSITORY,
    ),
    _Saying("stardog", re.compile(rb"\"code\"\s*:\s*\"(?:qe0|0d0|us2)\w+\"[^}]*quer")),
    _Saying(
        "stardog",
        re.compile(rb"quer[^}]*\"code\"\s*:\s*\"(?:qe0|0d0|us2)\w+\""),
    ),
    _Saying(
        "oxigraph", re.compile(rb"\byou should set the 'query' parameter"), _QUERY_PATH
    ),
    _Saying(
        "qlever",
        re.compile(
            rb"\A\s*\{(?=.*\"exception\"\s*:)(?=.*\"resultsize\"\s*:)", re.DOTALL
        ),
    ),
    _Saying(
        "qlever",
        re.compile(rb"must contain a query or update|no query (?:or|and) no update"),
    ),
    _Saying(
        "marklogic",
        re.compile(rb"rest-(?:invalid|required)param[^<}]*\bquery\b"),
        _SPARQL_PATH,
    ),
    _Saying(
        "neptune",
        re.compile(
            rb"\A(?=.*\"detailedmessage\"\s*:)(?=.*\"code\"\s*:\s*\"(?:missingparameter"
            rb"|badrequest|malformedquery|invalidparameter)exception\")",
            re.DOTALL,
        ),
        _SPARQL_PATH,
    ),
    _Saying("4store", re.compile(rb"\bsparql protocol error\b")),
)
_says_query_is_missing = re.compile(
    rb"(?:missing|required?|requires|absent|provide|specify|specified|empty|no|without)"
    rb"\b[^.\n<]{0,40}['\"`]?\bquery\b['\"`]?"
    rb"|['\"`]?\bquery\b['\"`]?[^.\n<]{0,40}(?:missing|required|absent|must|empty)"
).search
_says_sparql_query = re.compile(
    rb"\bsparql(?:[ -](?:query|endpoint|protocol|request))?\b[^.\n<]{0,40}\bquery\b"
    rb"|\b(?:missing|no|without|provide|specify|empty)\b[^.\n<]{0,20}\bsparql query\b"
).search
_says_types = re.compile(rb"application/sparql-(?:results\+|query)").search


def _recognize_error(url: str, status: int, head: bytes) -> RecognizedEndpoint | None:
    text = head[:4_096].lower()
    path = urlsplit(url).path
    for saying in _SAYINGS:
        if saying.find.search(text) and (
            saying.has_path is None or saying.has_path.search(path)
        ):
            return RecognizedEndpoint(endpoint=_without_query(url), by=saying.store)
    if _is_unknown_store(url, status, text):
        return RecognizedEndpoint(endpoint=_without_query(url), by="generic")
    return None


def _is_unknown_store(url: str, status: int, text: bytes) -> bool:
    """Tell whether an error is one of SPARQL's protocol, whoever says it.

    "The parameter query is missing" is said by any search: the URL or the message
    itself has to say that it is SPARQL.
    """
    if status in (406, 415):
        return bool(_says_types(text))
    if status not in (400, 422, 500, 501) or not _says_query_is_missing(text):
        return False
    return _is_sparql(url) or bool(_says_sparql_query(text))
