"""A SPARQL 1.1 service: protocol, results, service description.

The queries are evaluated by Oxigraph. Open choices of the recommendations are options:
size and formats of responses, and the response to a bare GET.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qs
from xml.sax.saxutils import escape, quoteattr

import pyoxigraph as ox

from tests.otherweb.site import NOT_FOUND, Answer, Request, Site
from tests.otherweb.statements import FORMATS, triples, write

if TYPE_CHECKING:
    from collections.abc import Iterable

TABLE_JSON = "application/sparql-results+json"
TABLE_XML = "application/sparql-results+xml"
TABLE_TSV = "text/tab-separated-values"
TABLE_CSV = "text/csv"


@dataclass(frozen=True, kw_only=True)
class Habits:
    """How a service uses its freedom.

    Attributes:
        path: where the service is.
        bare: response to a GET without a query: a description that names the endpoint,
            one that names none, or an error.
        tables: formats of solutions, the default first.
        graphs: formats of graphs, the default first.
        most_rows: of one response; 0 is no limit.
        beyond: treatment of a response with more rows.
        tells_cut: a cut response has a header that says so.
        union: the default graph is the union of the named ones.
        relabels: blank nodes have other labels in each response.
        methods: supported kinds of requests.
    """

    path: str = "/sparql"
    bare: Literal["named", "unnamed", "error"] = "unnamed"
    tables: tuple[str, ...] = (TABLE_JSON, TABLE_XML, TABLE_TSV, TABLE_CSV)
    graphs: tuple[str, ...] = ("text/turtle", "application/rdf+xml")
    most_rows: int = 0
    beyond: Literal["cut", "timeout"] = "cut"
    tells_cut: bool = True
    union: bool = False
    relabels: bool = False
    methods: tuple[str, ...] = ("GET", "POST")


@dataclass(frozen=True)
class _Asked:
    query: str
    default: list[str]
    named: list[str]


class SparqlService(Site):
    """One host with one service."""

    robots = "# nothing is forbidden here\nUser-agent: *\nDisallow:\n"

    def __init__(
        self, host: str, statements: Iterable[ox.Quad], habits: Habits
    ) -> None:
        super().__init__(host)
        self.habits = habits
        self.store = ox.Store()
        self.store.extend(statements)
        self.endpoint = self.url(habits.path)

    def published(self) -> set[ox.Triple]:
        """Return all published URLs, without the names of graphs."""
        return {quad.triple for quad in self.store}

    def answer(self, request: Request) -> Answer:
        """Respond as the SPARQL 1.1 Protocol demands, 2.1."""
        if request.path != self.habits.path:
            return NOT_FOUND
        if request.method not in self.habits.methods:
            allowed = ", ".join(self.habits.methods)
            return Answer(405, body=b"no such way", headers={"Allow": allowed})
        asked = _understand(request)
        if asked is None:
            return Answer(415, body=b"form or application/sparql-query, please")
        return self._ask(asked, request) if asked.query else self._bare(request)

    def _ask(self, asked: _Asked, request: Request) -> Answer:
        try:
            return self._evaluate(asked, request)
        except (SyntaxError, ValueError) as error:
            return Answer(400, body=f"Malformed query: {error}".encode())
        except RuntimeError as error:  # 2.1.6: refused, by a specific reason
            return Answer(500, body=f"Query was refused: {error}".encode())

    def _bare(self, request: Request) -> Answer:
        if self.habits.bare == "error" or request.method != "GET":
            return Answer(400, body=b"Bad request: no query")
        media_type = request.prefers(list(FORMATS)[:3]) or "text/turtle"
        return Answer(200, media_type, write(self.description(), media_type))

    def description(self) -> list[ox.Triple]:
        """Return the service description (SPARQL 1.1 Service Description, 2)."""
        if self.habits.bare == "error":
            return []
        endpoint = "sd:endpoint <> ;" if self.habits.bare == "named" else ""
        union = "sd:feature sd:UnionDefaultGraph ;" if self.habits.union else ""
        graphs = "".join(
            f"sd:namedGraph [ a sd:NamedGraph ; sd:name {graph} ] ;"
            for graph in self.store.named_graphs()
        )
        return triples(
            f"""[] a sd:Service ; {endpoint} {union}
            sd:supportedLanguage sd:SPARQL11Query ;
            sd:resultFormat <http://www.w3.org/ns/formats/Turtle> ;
            sd:defaultDataset [ a sd:Dataset ; {graphs}
              sd:defaultGraph [ a sd:Graph ] ] .""",
            base=self.endpoint,
        )

    def _evaluate(self, asked: _Asked, request: Request) -> Answer:
        nodes: dict[str, Any] = {}
        if asked.default or asked.named:  # the protocol's dataset, 2.1.4
            nodes["default_graph"] = [ox.NamedNode(iri) for iri in asked.default]
            nodes["named_graphs"] = [ox.NamedNode(iri) for iri in asked.named]
        elif self.habits.union:
            nodes["use_default_graph_as_union"] = True
        found = self.store.query(asked.query, base_iri=self.endpoint, **nodes)
        if isinstance(found, ox.QueryBoolean):
            return self._answer_table(request, [], bool(found))
        most = self.habits.most_rows
        rows: list[Any] = list(islice(found, most + 1) if most else found)
        headers = {}
        if most and len(rows) > most:
            if self.habits.beyond == "timeout":
                page = b"<html><body><h1>503</h1>Query timed out after 10 s</body>"
                return Answer(503, "text/html", page)
            rows = rows[:most]
            headers = {"X-SPARQL-MaxRows": str(most)} if self.habits.tells_cut else {}
        if isinstance(found, ox.QueryTriples):
            return self._answer_graph(request, rows, headers)
        names = [variable.value for variable in found.variables]
        table = [[row[name] for name in names] for row in rows]
        return self._answer_table(request, names, table, headers)

    def _answer_graph(
        self, request: Request, rows: list[ox.Triple], headers: dict[str, str]
    ) -> Answer:
        media_type = request.prefers(self.habits.graphs)
        if media_type is None:
            return Answer(
                406, body=b"graphs: " + ", ".join(self.habits.graphs).encode()
            )
        if self.habits.relabels:
            rows = [quad.triple for quad in _relabel(rows)]
        return Answer(200, media_type, write(dict.fromkeys(rows), media_type), headers)

    def _answer_table(
        self,
        request: Request,
        names: list[str],
        table: list[list[Any]] | bool,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        media_type = request.prefers(self.habits.tables)
        if media_type is None:
            return Answer(
                406, body=b"tables: " + ", ".join(self.habits.tables).encode()
            )
        if self.habits.relabels and not isinstance(table, bool):
            table = _relabel_table(table)
        write_table = {
            TABLE_JSON: _write_json,
            TABLE_XML: _write_xml,
            TABLE_TSV: _write_tsv,
            TABLE_CSV: _write_csv,
        }[media_type]
        body = write_table(names, table).encode()
        charset = "; charset=utf-8" if media_type.startswith("text/") else ""
        return Answer(200, media_type + charset, body, headers or {})


def _understand(request: Request) -> _Asked | None:
    """Return the query of a request by a way of the protocol, 2.1.1-3."""
    form = request.query
    if request.method == "POST":
        kind = request.headers.get("content-type", "").partition(";")[0].strip()
        if kind == "application/sparql-query":
            form = form | {"query": [request.body.decode()]}
        elif kind == "application/x-www-form-urlencoded":
            form = parse_qs(request.body.decode(), keep_blank_values=True)
        else:
            return None
    return _Asked(
        form.get("query", [""])[0],
        form.get("default-graph-uri", []),
        form.get("named-graph-uri", []),
    )


def _relabel(rows: list[ox.Triple]) -> ox.Dataset:
    """Give blank nodes other labels: they are local to a document."""
    labels: dict[str, ox.BlankNode] = {}

    def fresh(term: Any) -> Any:
        if not isinstance(term, ox.BlankNode):
            return term
        return labels.setdefault(term.value, ox.BlankNode())

    return ox.Dataset(
        ox.Quad(fresh(t.subject), t.predicate, fresh(t.object)) for t in rows
    )


def _relabel_table(table: list[list[Any]]) -> list[list[Any]]:
    labels: dict[str, ox.BlankNode] = {}
    for row in table:
        for i, term in enumerate(row):
            if isinstance(term, ox.BlankNode):
                fresh = ox.BlankNode(f"r{len(labels)}")
                row[i] = labels.setdefault(term.value, fresh)
    return table


def _write_json(names: list[str], table: list[list[Any]] | bool) -> str:
    """Write SPARQL 1.1 Query Results JSON."""
    if isinstance(table, bool):
        return json.dumps({"head": {}, "boolean": table})
    bindings = [
        {n: _json_term(t) for n, t in zip(names, row, strict=True) if t is not None}
        for row in table
    ]
    return json.dumps({"head": {"vars": names}, "results": {"bindings": bindings}})


def _json_term(term: Any) -> dict[str, str]:
    if isinstance(term, ox.NamedNode):
        return {"type": "uri", "value": term.value}
    if isinstance(term, ox.BlankNode):
        return {"type": "bnode", "value": term.value}
    found = {"type": "literal", "value": term.value}
    if term.language:
        found["xml:lang"] = term.language
    elif not term.datatype.value.endswith("#string"):
        found["datatype"] = term.datatype.value
    return found


def _write_xml(names: list[str], table: list[list[Any]] | bool) -> str:
    """Write SPARQL Query Results XML."""
    parts = [
        '<?xml version="1.0"?>\n',
        '<?xml-stylesheet type="text/xsl" href="/table.xsl"?>\n',
        '<sparql xmlns="http://www.w3.org/2005/sparql-results#">\n<head>',
        *(f"<variable name={quoteattr(name)}/>" for name in names),
        "</head>\n",
    ]
    if isinstance(table, bool):
        parts.append(f"<boolean>{str(table).lower()}</boolean>")
    else:
        parts.append("<results>\n")
        for row in table:
            parts.append("  <result>\n")
            parts += [
                f"    <binding name={quoteattr(name)}>{_xml_term(term)}</binding>\n"
                for name, term in zip(names, row, strict=True)
                if term is not None
            ]
            parts.append("  </result>\n")
        parts.append("</results>")
    return "".join([*parts, "</sparql>\n"])


def _xml_term(term: Any) -> str:
    if isinstance(term, ox.NamedNode):
        return f"<uri>{escape(term.value)}</uri>"
    if isinstance(term, ox.BlankNode):
        return f"<bnode>{term.value}</bnode>"
    text = escape(term.value, {"\r": "&#13;"})
    if term.language:
        return f"<literal xml:lang={quoteattr(term.language)}>{text}</literal>"
    if not term.datatype.value.endswith("#string"):
        kind = quoteattr(term.datatype.value)
        return f"<literal datatype={kind}>{text}</literal>"
    return f"<literal>{text}</literal>"


def _write_tsv(names: list[str], table: list[list[Any]] | bool) -> str:
    """Write SPARQL 1.1 Query Results TSV: terms as in Turtle."""
    if isinstance(table, bool):
        return str(table).lower()  # not in the recommendation; stores do it
    lines = ["\t".join(f"?{name}" for name in names)]
    lines += ["\t".join(_tsv_term(term) for term in row) for row in table]
    return "\n".join(lines) + "\n"


def _tsv_term(term: Any) -> str:
    if term is None:
        return ""
    if isinstance(term, ox.Literal) and term.datatype.value.endswith("#integer"):
        try:
            return str(int(term.value))  # the short form is allowed, 4.1
        except ValueError:
            pass
    return str(term).replace("\t", "\\t")


def _write_csv(names: list[str], table: list[list[Any]] | bool) -> str:
    """Write SPARQL 1.1 Query Results CSV, which loses the kinds of terms."""
    if isinstance(table, bool):
        return str(table).lower()

    def field(term: Any) -> str:
        text = "" if term is None else term.value
        return '"' + text.replace('"', '""') + '"'

    lines = [",".join(names), *(",".join(map(field, row)) for row in table)]
    return "\r\n".join(lines) + "\r\n"
