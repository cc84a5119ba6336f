"""Self-descriptions of endpoints, and recognition of endpoints."""

from __future__ import annotations

import pytest

from rdfcrawl.core.errors import ConfigError, FaultLog, Reason
from rdfcrawl.rdf.parse import parse
from rdfcrawl.rdf.queries import parse_user_query
from rdfcrawl.sources.sparql.recognition import recognize
from rdfcrawl.sources.sparql.services import read_description

URL = "http://example.org/sparql"
_PREFIXES = """
@prefix sd: <http://www.w3.org/ns/sparql-service-description#> .
@prefix void: <http://rdfs.org/ns/void#> .
@prefix f: <http://www.w3.org/ns/formats/> .
"""


def _chunks(turtle: str) -> list[bytes]:
    source = (_PREFIXES + turtle).encode()
    return list(parse(source, url=URL, graph=URL, media_type="text/turtle"))


def test_everything_a_service_describes() -> None:
    """If a service describes its graphs, then their names are known."""
    turtle = """
    [] a sd:Service ; sd:endpoint <http://example.org/sparql> ;
      sd:supportedLanguage sd:SPARQL11Query ; sd:feature sd:UnionDefaultGraph ;
      sd:resultFormat f:SPARQL_Results_JSON ;
      sd:defaultDataset [ a sd:Dataset ;
        sd:defaultGraph [ void:triples 100 ] ;
        sd:namedGraph [ sd:name <http://g/2> ; sd:graph [ void:triples 20 ] ] ,
                      [ sd:name <http://g/1> ] ] .
    <http://example.org/data> a void:Dataset ; void:triples 120 ;
      void:sparqlEndpoint <http://example.org/sparql> .
    """
    found = read_description(_chunks(turtle), FaultLog(), endpoint=URL)
    assert found.is_service
    assert found.has_union
    assert found.graphs == ("http://g/1", "http://g/2")


def test_service_of_the_endpoint_counts_among_several() -> None:
    """If several services are described, then the requested one counts."""
    turtle = """
    <http://e/1> a sd:Service ; sd:endpoint <http://example.org/sparql> .
    <http://e/2> a sd:Service ; sd:endpoint <http://e/other> ;
      sd:feature sd:UnionDefaultGraph .
    """
    assert not read_description(_chunks(turtle), FaultLog(), endpoint=URL).has_union
    assert read_description(
        _chunks(turtle), FaultLog(), endpoint="http://e/3"
    ).has_union


def test_other_rdf_describes_no_service() -> None:
    """If a document is about other things, then nothing is described."""
    found = read_description(_chunks("<http://e/a> <http://e/p> 1 ."), FaultLog())
    assert not found.is_service


_VIRTUOSO = b"""<html><head><title>Virtuoso SPARQL Query Editor</title></head>
<form action="" method="get"><textarea name="query"></textarea></form>"""
_FORM = (
    b"<p>SPARQL</p><form action='/query?x=1'><textarea rows=3 name='query'></textarea>"
)
_TABLE = b'{"head": {"vars": ["s"]}, "results": {"bindings": []}}'


@pytest.mark.parametrize(
    ("status", "media_type", "head", "endpoint"),
    [
        (200, "text/html", _VIRTUOSO, URL),
        (200, "text/html", _FORM, "http://example.org/query?x=1"),
        (200, "application/sparql-results+json", _TABLE, URL),
        (400, "text/plain", b"Missing parameter: query", URL),
        (400, "text/plain", b"You should set the 'query' parameter", URL),
        (400, "text/plain", b"SPARQL: missing 'query' parameter", URL),
    ],
    ids=lambda x: str(x)[:20],
)
def test_answers_of_endpoints_are_recognized(
    status: int, media_type: str, head: bytes, endpoint: str
) -> None:
    """If a response is like those of endpoints, then it is one."""
    headers = {"content-type": f"{media_type}; charset=utf-8"}
    found = recognize(URL, status=status, headers=headers, head=head)
    assert found == endpoint


@pytest.mark.parametrize(
    ("status", "head"),
    [
        (200, b"<html>We have a SPARQL endpoint <form><input name=q></form>"),
        (
            200,
            b"<form action='http://other.org/sparql'>sparql<input name=query></form>",
        ),
        (200, b"<form><input name='query'> Search our site</form>"),
        (404, b"No such page"),
        (400, b"Bad request"),
        (500, b"Internal error"),
        (403, b"missing query"),
    ],
)
def test_other_answers_are_no_endpoints(status: int, head: bytes) -> None:
    """If nothing identifies an endpoint, then none is recognized."""
    headers = {"content-type": "text/html"}
    url = "http://example.org/search"
    assert recognize(url, status=status, headers=headers, head=head) == ""


def test_forms_of_other_sites_are_claims() -> None:
    """If a page's form goes to another site, then no endpoint is recognized."""
    head = b"<form action='http://other.org/sparql'>sparql<input name='query'></form>"
    headers = {"content-type": "text/html"}
    assert recognize(URL, status=200, headers=headers, head=head) == ""


# -- queries of users --------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# only\n\n", "own.rq:3: no SELECT"),
        ("PREFIX e: <http://e/>\nASK { ?s ?p ?o }", "own.rq:2: ASK returns"),
        ("\nINSERT DATA { }", "own.rq:2: INSERT"),
        ("SELECT ?s ?o\n{ ?s ?p ?o }", "own.rq:1: the query does not select .p"),
        ("SELECT * {\n ?s ?p ?o\n LIMIT {{page}} }", r"own.rq:3: \{\{page"),
        ("SELECT * {\n ?s ?p ?o", "own.rq:1: a brace is never closed"),
        ("SELECT * { ?s ?p ?o }\n}", "own.rq:2: unmatched closing brace"),
        ("SELECT * { ?s ?p ?o }\nOFFSET {{offset}}", "own.rq:2: .*needs a LIMIT"),
        ("CONSTRUCT WHERE { ?s ?p {{after}} }", "own.rq:1: .*needs a SELECT"),
        (
            "SELECT * { ?s ?p ?o. {{after}} }\nLIMIT 5 OFFSET {{offset}}",
            "own.rq:2: .*exclude",
        ),
    ],
)
def test_errors_of_own_queries_name_file_and_line(text: str, message: str) -> None:
    """If a query cannot be used, then the message has the place."""
    with pytest.raises(ConfigError, match=f"^{message}"):
        parse_user_query(text, name="own.rq")


def test_own_queries_are_filled() -> None:
    """If a query has placeholders, then each page fills them; strings stay."""
    text = (
        "define input:inference 'x' # SELECT }\n"
        'SELECT ?s ?p ("}" AS ?o) { ?s ?p ?x FILTER(STR(?s) > {{ after }}) } '
        "LIMIT {{limit}}"
    )
    query = parse_user_query(text, name="own.rq")
    assert (query.form, query.paging) == ("select", "after")
    filled = query.fill(limit=10, offset=0, after='a"b')
    assert 'FILTER(STR(?s) > "a\\"b")' in filled
    assert filled.endswith("LIMIT 10")


def test_query_without_placeholders_is_sent_once() -> None:
    """If a query has no placeholders, then it is not paged."""
    query = parse_user_query("CONSTRUCT WHERE { ?s ?p ?o }", name="own.rq")
    assert query.paging == "once"


def test_many_statements_of_a_description_are_bounded() -> None:
    """If a description has no end, then reading it has."""
    feature = b"<http://www.w3.org/ns/sparql-service-description#feature>"
    line = b"<http://e/a> " + feature + b" <http://e/%d> .\n"
    chunks = (b"".join(line % n for n in range(10_000)) for _ in range(1_000))
    log = FaultLog()
    assert not read_description(chunks, log).is_service
    assert log.all()[0].reason is Reason.TOO_MANY_ENTRIES
