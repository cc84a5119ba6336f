"""Graph names of blocks of lines: the fast and the exact way give the same result."""

from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.core.errors import FaultLog
from rdfcrawl.rdf.checking import TripleLines, canonical
from rdfcrawl.rdf.graphs import GraphNames, Trust

URL = "http://a.example/d"
_nasty = st.text(alphabet='<>_:"\\ .@^\n\r\tab\u2028\x85é', max_size=12)
_nodes = st.sampled_from(
    [ox.NamedNode("http://a.example/s"), ox.NamedNode("urn:x"), ox.BlankNode("b")]
)
_literals = st.one_of(
    st.builds(ox.Literal, _nasty),
    _nasty.map(lambda text: ox.Literal(text, language="en")),
    _nasty.map(lambda text: ox.Literal(text, datatype=ox.NamedNode("urn:t"))),
)
_graphs = st.sampled_from([ox.DefaultGraph(), ox.NamedNode("http://b.example/g")])
_quads = st.builds(
    ox.Quad,
    _nodes,
    st.just(ox.NamedNode("urn:p")),
    st.one_of(_nodes, _literals),
    _graphs,
)


@given(st.lists(_quads, max_size=4))
def test_every_statement_is_in_the_graph_of_the_document(quads: list[ox.Quad]) -> None:
    """If lines have no graph, or a foreign one, then all are in the document's."""
    lines = ox.serialize(quads, format=ox.RdfFormat.N_QUADS) or b""
    names = GraphNames(
        URL, url=URL, trust="same-origin", has_graphs=True, log=FaultLog()
    )
    placed = list(ox.parse(names.place(lines)[0], format=ox.RdfFormat.N_QUADS))
    graph = ox.NamedNode(URL)
    assert [q.triple for q in placed] == [q.triple for q in quads]
    assert all(quad.graph_name == graph for quad in placed)


@given(st.lists(_quads, max_size=4))
def test_lines_without_graphs_are_known(quads: list[ox.Quad]) -> None:
    """If no line names a graph, then their check knows it; they are placed alike."""
    lines = ox.serialize(quads, format=ox.RdfFormat.N_QUADS) or b""
    checked = canonical(lines, has_graphs=True)
    if checked is None:
        return
    has_none = all(quad.graph_name == ox.DefaultGraph() for quad in quads)
    assert isinstance(checked, TripleLines) == has_none
    if has_none:
        one, other = (
            GraphNames(URL, url=URL, trust="named", has_graphs=True, log=FaultLog())
            for _ in range(2)
        )
        assert one.place(checked, none_named=True) == other.place(checked)


_named: st.SearchStrategy[ox.NamedNode | ox.BlankNode] = st.sampled_from(
    [
        *map(ox.NamedNode, ("http://a.example/g", "http://A.example:80/h", URL)),
        *map(ox.NamedNode, ("http://b.example/g", "http://a.example.org/", "urn:x")),
        ox.NamedNode("urn:rdfcrawl:provenance"),
        ox.BlankNode("g"),
    ]
)


_trusts: st.SearchStrategy[Trust] = st.one_of(
    st.sampled_from(("same-origin", "named", "all")), st.just(("http://b.",))
)


@given(st.lists(_quads, min_size=1, max_size=6), st.data())
def test_statements_that_all_name_a_graph_are_placed_as_each(
    quads: list[ox.Quad], data: st.DataObject
) -> None:
    """If all lines name a graph, then each is in the same graph as a line alone."""
    named = [
        ox.Quad(quad.subject, quad.predicate, quad.object, data.draw(_named))
        for quad in quads
    ]
    lines = ox.serialize(named, format=ox.RdfFormat.N_QUADS) or b""
    trust = data.draw(_trusts)
    logs = [FaultLog(), FaultLog()]
    all_names, each_name = (
        GraphNames(URL, url=URL, trust=trust, has_graphs=True, log=log) for log in logs
    )
    at_once = all_names.place(lines, all_named=True)
    plain = b"<urn:s> <urn:p> <urn:o> .\n"
    one_by_one = each_name.place(lines + plain)[0].splitlines(keepends=True)[:-1]
    assert at_once == (b"".join(one_by_one), len(named), False)
    assert logs[0].all() == logs[1].all()


@pytest.mark.parametrize(
    "line",
    [
        b'<urn:s> <urn:p> "x <http://b.example/g>" .\n',
        b'<urn:s> <urn:p> "x" <http://b.example/g> .\n',
        b"<urn:s> <urn:p> <urn:o> <http://b.example/g> .\n",
        b"<urn:s> <urn:p> <<( <urn:s> <urn:p> <urn:o> )>> .\n",
    ],
)
def test_one_line_with_a_graph_among_lines_without(line: bytes) -> None:
    """If one line of many has a graph, or looks so, then each is judged by itself."""
    plain = b"<urn:s> <urn:p> <urn:o> .\n"
    names = GraphNames(
        URL, url=URL, trust="same-origin", has_graphs=True, log=FaultLog()
    )
    placed, n_lines, _ = names.place(plain + line + plain)
    assert n_lines == 3
    ends = [text.endswith(b" <http://a.example/d> .") for text in placed.splitlines()]
    assert ends == [True, True, True]
