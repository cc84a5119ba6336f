"""Recognition of SPARQL endpoints by responses to requests without a query.

No probes are sent: only responses to other requests count. Statements about services,
in any format, are handled by `services`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, unquote, urljoin, urlsplit

from rdfcrawl.uri.hosts import is_same_origin

HEAD_BYTES: Final = 64 * 1024

PAGE_TYPES: Final = frozenset({"text/html", "application/xhtml+xml", ""})
# Media types of result tables; registered types first.
TABLE_TYPES: Final = frozenset(
    {
        *("application/sparql-results+json", "application/sparql-results+xml"),
        *("text/tab-separated-values", "text/csv"),
        *("application/json", "application/xml", "text/xml", "text/plain"),
    }
)
ERROR_STATUSES: Final = frozenset({400, 404, 406, 415, 422, 500, 501})


def recognize(url: str, *, status: int, headers: Mapping[str, str], head: bytes) -> str:
    """Return the URL of the endpoint of a response; empty if there is none.

    The response is from the endpoint, or a page with a form for it. Header names are in
    lower case; the first `HEAD_BYTES` of the unpacked body are used.
    """
    head = head[:HEAD_BYTES]
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if 200 <= status < 300:
        found = _recognize_page(url, head) if media_type in PAGE_TYPES else ""
        return found or _recognize_table(url, media_type, head)
    return _recognize_error(url, status, head) if status in ERROR_STATUSES else ""


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
    r"\b(?:SELECT|ASK|CONSTRUCT|DESCRIBE)\b[^{<]{0,500}+[{<]", re.IGNORECASE
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
    """Return whether a URL names a file, not a script.

    >>> is_file("http://a.example/services.ttl"), is_file("http://a.example/sparql.php")
    (True, False)
    """
    found = _file_end(urlsplit(url).path.rpartition("/")[2])
    return found is not None and found[1].lower() not in _SCRIPTS


def is_query(url: str) -> bool:
    """Return whether a URL has a query in the parameter `query` (SPARQL Protocol)."""
    query = urlsplit(url).query
    if "query=" not in query:
        return False
    try:
        parameters = parse_qsl(query, max_num_fields=_MAX_PARAMETERS)
    except ValueError:
        return False
    return any(name == "query" and _has_form(text) for name, text in parameters)


def _without_query(url: str) -> str:
    """Return the URL of an endpoint; its query string may name the repository."""
    before, mark, query = url.partition("#")[0].partition("?")
    kept = [
        x for x in query.split("&")
        if x and unquote(x.partition("=")[0]).lower() not in _OF_QUERIES
    ]  # fmt: skip
    return before + (mark + "&".join(kept) if kept else "")


def _is_sparql(url: str) -> bool:
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


def _recognize_table(url: str, media_type: str, head: bytes) -> str:
    """Return the endpoint of a table, unless the table is in a file."""
    if media_type and media_type not in TABLE_TYPES:
        return ""
    has_query = is_query(url)
    if media_type == "text/csv":  # rows of CSV are not distinctive
        is_table = has_query and bool(_is_csv_header(head))
    elif media_type == "text/tab-separated-values":
        is_table = bool(_is_tsv_table(head))
    else:
        is_table = bool(_is_json_table(head) or _is_xml_table(head))
    is_result = is_table and (has_query or not is_file(url))
    return _without_query(url) if is_result else ""


# -- pages -------------------------------------------------------------------------

_is_virtuoso = re.compile(
    rb"<title>\s*(?:openlink )?virtuoso sparql quer", re.IGNORECASE
).search
_FORM = re.compile(rb"<form\b([^<>]*+)>(.*?)(?:</form|\Z)", re.IGNORECASE | re.DOTALL)
_find_field = re.compile(
    rb"<(textarea|input)\b[^<>]*\bname\s*=\s*[\"']?query[\"'\s>/]", re.IGNORECASE
).search
_ACTION = re.compile(
    rb"\baction\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+))", re.IGNORECASE
)
# Fields and texts that only forms for SPARQL have.
_is_sparql_form = re.compile(
    rb"\bsparql\b|default-graph-uri|\b(?:select|construct)\b[^<]{0,200}\{"
    rb"|\bprefix\s+\w*:",
    re.IGNORECASE,
).search
# The letter "q" is rare, so both are found in half the time of three plain names.
_names_sparql = re.compile(rb"ql(?<=[sS]parql)").search
_names_in_capitals = re.compile(rb"QL(?<=SPARQL)").search
_is_editor = re.compile(rb"yasgui|yasqe", re.IGNORECASE).search  # written in scripts
_find_editor = re.compile(
    rb"(?:\bendpoint|\bdata-endpoint)[\"']?\s*[:=]\s*[\"']([^\"'\s<>]{1,500})[\"']"
).search


def _recognize_page(url: str, head: bytes) -> str:
    if not (_names_sparql(head) or _names_in_capitals(head)):  # the common case
        return ""
    if _is_virtuoso(head):
        return _without_query(url)
    for found in _FORM.finditer(head):
        field = _find_field(found[2])
        if field and (target := _target_of_form(url, found[1])):
            is_area = field[1].lower() == b"textarea"  # unlikely for a search form
            is_query_path = _QUERY_PATH.search(urlsplit(target).path)
            is_form = is_query_path or _is_sparql_form(found[2])
            if _is_sparql(target) or (is_area and is_form):
                return _without_query(target)
    if _is_editor(head) and (editor := _find_editor(head)):
        return _without_query(_of_same_site(url, editor[1]))
    return ""


def _target_of_form(url: str, attributes: bytes) -> str:
    found = _ACTION.search(attributes)
    action = next(filter(None, found.groups()), b"") if found else b""
    return _of_same_site(url, action)


def _of_same_site(url: str, text: bytes) -> str:
    """Return an absolute URL; empty for another site, where it is not credible."""
    try:
        target = urljoin(url, html.unescape(text.decode("utf-8", "replace")).strip())
    except ValueError:
        return ""
    return target if is_same_origin(target, url) else ""


# -- errors ------------------------------------------------------------------------

# Responses of stores to a GET without a query, in lower case, with a pattern of the
# path where other servers might respond similarly.
_ANYWHERE: Final = re.compile("")
_SAYINGS: Final = tuple(
    (path, re.compile(text, re.DOTALL))
    for path, text in (
        # Fuseki; version 1 adds its version, and "Error 404" before.
        (
            _ANYWHERE,
            rb"\A\s*(?:error 404:\s*)?service description: /\S+\s*(?:fuseki\b.*)?\Z",
        ),
        (_ANYWHERE, rb"\bsparql query: no 'query=' parameter"),
        (_SPARQL_PATH, rb"\bno query string\b"),  # Joseki, and D2R with Joseki inside
        # Virtuoso
        (_ANYWHERE, rb"\brequest does not contain text of sparql query\b"),
        # RDF4J, Sesame, GraphDB
        (_REPOSITORY, rb"\A\s*missing parameter: query\s*\Z"),
        # AllegroGraph
        (
            _REPOSITORY,
            rb"\A\s*(?:missing|invalid|malformed) parameters?:[^\n]{0,80}\bquery\b",
        ),
        (_REPOSITORY, rb"\bquery (?:parameter|argument) (?:is )?(?:missing|required)"),
        # Stardog
        (_ANYWHERE, rb"\"code\"\s*:\s*\"(?:qe0|0d0|us2)\w+\"[^}]{0,300}quer"),
        (_ANYWHERE, rb"quer[^}]{0,300}\"code\"\s*:\s*\"(?:qe0|0d0|us2)\w+\""),
        (_QUERY_PATH, rb"\byou should set the 'query' parameter"),  # Oxigraph
        # QLever
        (_ANYWHERE, rb"\A\s*\{(?=.*\"exception\"\s*:)(?=.*\"resultsize\"\s*:)"),
        (_ANYWHERE, rb"must contain a query or update|no query (?:or|and) no update"),
        # MarkLogic
        (_SPARQL_PATH, rb"rest-(?:invalid|required)param[^<}]{0,300}\bquery\b"),
        # Neptune
        (
            _SPARQL_PATH,
            rb"\A(?=.*\"detailedmessage\"\s*:)(?=.*\"code\"\s*:\s*\"(?:%s)exception\")"
            % b"missingparameter|badrequest|malformedquery|invalidparameter",
        ),
        (_ANYWHERE, rb"\bsparql protocol error\b"),  # 4store
    )
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


def _recognize_error(url: str, status: int, head: bytes) -> str:
    text, path = head[:4_096].lower(), urlsplit(url).path
    is_known = any(
        at.search(path) is not None and saying.search(text) is not None
        for at, saying in _SAYINGS
    )
    return _without_query(url) if is_known or _is_unknown(url, status, text) else ""


def _is_unknown(url: str, status: int, text: bytes) -> bool:
    """Return whether an error of an unknown store is one of the SPARQL Protocol.

    Any search form may report "The parameter query is missing"; URL or message must
    also name SPARQL.
    """
    if status in (406, 415):
        return bool(_says_types(text))
    if status not in (400, 422, 500, 501) or not _says_query_is_missing(text):
        return False
    return _is_sparql(url) or bool(_says_sparql_query(text))
