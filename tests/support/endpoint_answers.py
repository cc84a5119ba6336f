"""Responses of endpoints to a GET without a query, and similar ones of others.

The texts are those of the stores' sources, documentation and issue threads.
"""

from __future__ import annotations

from typing import NamedTuple

SD = "http://www.w3.org/ns/sparql-service-description#"
PREFIXES = f"""@prefix sd: <{SD}> .
@prefix dcat: <http://www.w3.org/ns/dcat#> .
@prefix void: <http://rdfs.org/ns/void#> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix f: <http://www.w3.org/ns/formats/> .
"""
_RDF_XML = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
    f' xmlns:sd="{SD}">%s</rdf:RDF>'
)
_JSON_TABLE = '{"head":{"vars":["s"]},"results":{"bindings":[]}'
_XML_TABLE = (
    '<?xml version="1.0"?>\n<sparql xmlns="http://www.w3.org/2005/sparql-results#">'
    "<head><variable name='s'/></head><results/></sparql>"
)
_HTML = "<!DOCTYPE html><html><head><title>{}</title></head><body>{}</body></html>"


class Scripted(NamedTuple):
    """An answer.

    Attributes:
        path: it is the answer of; with a query string if there is one.
        media_type: of it.
        body: of it; `{url}` stands for its URL, `{other}` for another site.
        status: of it.
        endpoint: path of the endpoint that it shows; `path` if empty.
    """

    path: str
    media_type: str
    body: str
    status: int = 200
    endpoint: str = ""


def _turtle(path: str, text: str) -> Scripted:
    return Scripted(path, "text/turtle", PREFIXES + text)


def _page(path: str, body: str, title: str = "SPARQL", endpoint: str = "") -> Scripted:
    return Scripted(path, "text/html", _HTML.format(title, body), endpoint=endpoint)


def _plain(path: str, status: int, body: str) -> Scripted:
    return Scripted(path, "text/plain;charset=UTF-8", body, status)


def _json(path: str, status: int, body: str) -> Scripted:
    return Scripted(path, "application/json", body, status)


DESCRIPTIONS = (
    _turtle("/d/1/sparql", "[] a sd:Service ; sd:supportedLanguage sd:SPARQL11Query ."),
    _turtle("/d/2/query", "<> a sd:Service ; sd:resultFormat f:SPARQL_Results_JSON ."),
    _turtle("/d/3/q", "<#me> a sd:Service ; sd:feature sd:UnionDefaultGraph ."),
    _turtle("/d/4/q", "[] sd:supportedLanguage sd:SPARQL10Query ."),  # without a type
    _turtle("/d/5/q", "[] a sd:Service ; sd:defaultDataset [ a sd:Dataset ] ."),
    _turtle("/d/6/q", "[] a sd:Service ; sd:endpoint <> ."),  # Oxigraph
    _turtle("/d/7/q", "<> a sd:Service ; sd:url <> ."),  # drafts of the vocabulary
    # Virtuoso where no host was configured, and stores behind a proxy.
    _turtle(
        "/d/8/sparql",
        "<http://localuriqaserver/sparql> a sd:Service ;"
        " sd:endpoint <http://localuriqaserver/sparql> ; sd:feature sd:DereferencesURIs"
        " ; sd:supportedLanguage sd:SPARQL10Query ;"
        " sd:url <http://localuriqaserver/sparql> .",
    ),
    _turtle("/d/9/q", "[] a sd:Service ; sd:endpoint <http://fuseki:3030/ds/sparql> ."),
    # One for queries, one for updates.
    _turtle(
        "/d/10/q",
        "[] a sd:Service ; sd:supportedLanguage sd:SPARQL11Query ."
        " [] a sd:Service ; sd:supportedLanguage sd:SPARQL11Update .",
    ),
    Scripted(
        "/d/11/q",
        "application/rdf+xml",
        _RDF_XML % f"<sd:Service><sd:supportedLanguage rdf:resource='{SD}SPARQL11Query'"
        "/></sd:Service>",
    ),
    Scripted(
        "/d/12/q",
        "application/ld+json",
        f'{{"@type":"{SD}Service","{SD}supportedLanguage":'
        f'{{"@id":"{SD}SPARQL11Query"}}}}',
    ),
    Scripted(
        "/d/13/q",
        "application/n-triples",
        f"_:s <{SD}supportedLanguage> <{SD}SPARQL11Query> .\n",
    ),
    Scripted(
        "/d/14/q",
        "application/trig",
        f"GRAPH <{{url}}> {{ _:s <{SD}supportedLanguage> <{SD}SPARQL11Query> }}",
    ),
    Scripted(
        "/d/15/q",
        "text/html",
        _HTML.format(
            "Query",
            f'<div prefix="sd: {SD}" typeof="sd:Service"><a rel="sd:supportedLanguage"'
            f' href="{SD}SPARQL11Query">SPARQL 1.1</a></div>',
        ),
    ),
    _turtle("/d/16/q.php", "[] a sd:Service ; sd:supportedLanguage sd:SPARQL11Query ."),
    _turtle("/d/17/q/", "</d/17/q> a sd:Service ; sd:feature sd:EmptyGraphs ."),
)

TABLES = (
    Scripted("/t/1/q", "application/sparql-results+json", _JSON_TABLE),
    Scripted("/t/2/q", "application/sparql-results+xml", _XML_TABLE),
    Scripted("/t/3/q", "application/json", _JSON_TABLE),
    Scripted("/t/4/q", "application/xml", _XML_TABLE),
    Scripted("/t/5/q", "text/tab-separated-values", "?s\t?p\n<urn:x:s>\t<urn:x:p>\n"),
    Scripted("/t/6/q", "application/sparql-results+json", '{"head":{},"boolean":true}'),
    Scripted(
        "/t/7/q?query=SELECT+*+%7B+?s+?p+?o+%7D&format=csv",
        "text/csv",
        "s,p,o\nurn:x:s,urn:x:p,1\n",
        endpoint="/t/7/q",
    ),
    Scripted(
        "/t/8/q?repository=a&query=ASK+%7B%7D&default-graph-uri=urn:x:g",
        "application/sparql-results+xml",
        _XML_TABLE,
        endpoint="/t/8/q?repository=a",
    ),
)

PAGES = (
    _page(
        "/p/1/sparql",
        '<form action="" method="get"><textarea name="query"></textarea></form>',
        "OpenLink Virtuoso SPARQL Query Editor",
    ),
    _page(
        "/p/2/test/",  # 4store
        '<form action="../sparql/" method="post"><textarea name="query" cols="80">\n'
        "PREFIX rdf: <urn:x:>\nSELECT * WHERE {\n ?s ?p ?o\n} LIMIT 10\n</textarea>"
        '<input type="text" name="soft-limit"></form>',
        "SPARQL httpd test query",
        endpoint="/p/2/sparql/",
    ),
    _page(
        "/p/3/",
        "<form action='/p/3/query?x=1'><textarea rows=3 name='query'></textarea>",
        endpoint="/p/3/query?x=1",
    ),
    _page(
        "/p/4/editor",
        '<div id="yasgui"></div><script>new Yasgui(document.body,'
        '{requestConfig: {endpoint: "/p/4/sparql"}})</script>',
        endpoint="/p/4/sparql",
    ),
)

ERRORS = (
    _plain("/e/fuseki/sparql", 404, "Service Description: /e/fuseki/sparql\n"),
    _plain(
        "/e/fuseki1/sparql",
        404,
        "Error 404: Service Description: /e/fuseki1/sparql\n\n"
        "Fuseki - version 1.1.0 (Build date: 2014-07-26T18:10:29+0100)\n",
    ),
    _plain("/e/fuseki2/query", 400, "SPARQL Query: No 'query=' parameter\n"),
    Scripted(
        "/e/d2r/sparql",
        "text/html",
        "<h2>HTTP ERROR 400</h2><p>Problem accessing /sparql. Reason:"
        "<pre>    No query string</pre></p>",
        400,
    ),
    _plain(
        "/e/virtuoso/sparql",
        400,
        "Virtuoso 22023 Error The request does not contain text of SPARQL query",
    ),
    _plain("/e/rdf4j/repositories/a", 400, "Missing parameter: query"),
    _plain("/e/graphdb/repositories/b/", 400, "Missing parameter: query\n"),
    _plain("/e/oxigraph/query", 400, "You should set the 'query' parameter"),
    _json(
        "/e/stardog/db/query",
        400,
        '{"message":"No query was given","code":"0D0DU2"}',
    ),
    _json(
        "/e/qlever/api/olympics",
        400,
        '{"exception":"Request did not have a query","query":"","resultsize":0,'
        '"status":"ERROR","time":{"computeResult":0,"total":0}}',
    ),
    _plain("/e/allegrograph/repositories/people", 400, "MISSING PARAMETERS: query"),
    _json(
        "/e/marklogic/v1/graphs/sparql",
        400,
        '{"errorResponse":{"statusCode":400,"status":"Bad Request","messageCode":'
        '"REST-REQUIREDPARAM","message":"REST-REQUIREDPARAM: (err:FOER0000) Required'
        ' parameter: query"}}',
    ),
    _json(
        "/e/neptune/sparql",
        400,
        '{"requestId":"a0","code":"MissingParameterException","detailedMessage":'
        '"SPARQL query or update is missing"}',
    ),
    _plain("/e/anzo/sparql/graphmart/x", 400, "The parameter 'query' is required."),
    Scripted(
        "/e/4store/sparql/", "text/html", "<h1>500 SPARQL protocol error</h1>", 500
    ),
    _plain("/e/other/data", 400, "SPARQL endpoint: missing 'query' parameter"),
    _plain(
        "/e/types/q",
        406,
        "Supported: application/sparql-results+json, application/sparql-results+xml",
    ),
)

# Not an endpoint.
OTHERS = (
    _turtle("/o/1/services.ttl", "[] a sd:Service ; sd:supportedLanguage sd:X ."),
    _turtle(
        "/o/2/data",
        "[] a sd:Service ; sd:supportedLanguage sd:A ."
        " [] a sd:Service ; sd:supportedLanguage sd:B .",
    ),
    _turtle(
        "/o/3/update",
        "[] a sd:Service ; sd:endpoint <> ; sd:supportedLanguage sd:SPARQL11Update .",
    ),
    _turtle(
        "/o/4/catalogue",
        "<#d> dcat:accessService [ a sd:Service ;"
        " sd:supportedLanguage sd:SPARQL11Query ] .",
    ),
    _turtle("/o/5/about", "<#me> foaf:name 'x' ; foaf:interest sd:Service ."),
    _turtle("/o/6/about", "<http://a.example/sparql> a sd:Service ; sd:feature sd:X ."),
    _turtle("/.well-known/o/7", "[] a sd:Service ; sd:supportedLanguage sd:A ."),
    _turtle("/o/8/q?query=DESCRIBE+%3Curn:x:a%3E", "[] a sd:Service ; sd:feature 1 ."),
    Scripted("/o/9/agg01.srx", "application/sparql-results+xml", _XML_TABLE),
    Scripted("/o/10/agg01.json", "application/json", _JSON_TABLE),
    Scripted("/o/11/table", "text/csv", "s,p,o\n1,2,3\n"),
    Scripted("/o/12/table", "text/tab-separated-values", "s\tp\n1\t2\n"),
    Scripted("/o/13/search?query=shoes", "text/csv", "name,price\na,1\n"),
    Scripted("/o/14/feed", "application/json", '{"head":{"a":1},"items":[]}'),
    _page("/o/15/", "We have a SPARQL endpoint at <a href='{other}'>x</a>."),
    _page("/o/16/", "<form action='{other}'>SPARQL <textarea name=query></textarea>"),
    _page("/o/17/", "All on SPARQL. <form action='/o/17/find'><input name='query'>"),
    _page("/o/18/", "<form><input name='query'> Search our site</form>", "Shop"),
    _page("/o/19/", '<script>Yasgui({endpoint: "{other}"})</script> SPARQL'),
    _page(
        "/o/20/portal",
        f'<div prefix="sd: {SD} dcat: http://www.w3.org/ns/dcat#" typeof="sd:Service">'
        '<a property="dcat:endpointURL" href="{other}">SPARQL</a></div>',
    ),
    _json("/o/21/query", 400, '{"error":"Missing required parameter: query"}'),
    _plain("/o/22/search", 400, "Missing parameter: query"),
    _plain("/o/23/search", 400, "You should set the 'query' parameter"),
    _json("/o/24/search", 400, '{"error":"No query string"}'),
    _json(
        "/o/25/graphql",
        400,
        '{"errors":[{"message":"Must provide query string."}]}',
    ),
    _json(
        "/o/26/aws",
        400,
        '{"code":"MissingParameterException","detailedMessage":"query is missing"}',
    ),
    _plain("/o/27/search", 400, "Missing query. See our docs on SPARQL."),
    _plain("/o/28/sparql", 404, "No such page"),
    _plain("/o/29/sparql", 403, "missing query"),
    _plain("/o/30/x", 404, "Not found. Service Description: see /help"),
    _plain("/o/31/sparql", 500, "Internal error"),
    _plain("/o/32/x", 406, "Supported: text/html, application/json"),
)
