"""Statements whose literals look like markup, and how segments store them.

The writers here are of this test alone, and the stored text is parsed by two parsers
that are not ours: an error of our reader is not hidden by another.
"""

from __future__ import annotations

import io
import json
import random
import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape, quoteattr

import pyoxigraph
import rdflib
from rdflib.compare import isomorphic

from rdfcrawl.core.content import QuadChunk
from rdfcrawl.stores.nquads import NQuadsStore
from rdfcrawl.stores.reading import iter_quads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

URL: Final = "http://data.example/d"
RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
# Pieces that end or begin a term, a line, a comment or a tag in one syntax or another.
PIECES: Final = (
    *("_:b", "_:", "_:b0 .", " .", ".", " ", "  ", "\n", "\r\n", "\r", "\t", "a", "é"),
    *('"', '""', '"""', "'", "'''", "\\", '\\"', "\\n", "\\u0041", "\\U0001F4A9"),
    *("<", ">", "<b>", "</b>", "<http://e/g>", "<!--", "-->", "]]>", "<![CDATA["),
    *("</script>", "<<(", ")>>", " <<( ", "&amp;", "&", "&#60;", "&lt", "{", "}"),
    *("@en", '"@en .', "^^", "^^<http://e/t>", "#", "#\tdocument <http://e/x> 1\n"),
    *(
        "\u2028",
        "\u0085",
        "\u00a0",
        "\u200d",
        "\ufeff",
        "\ud7ff",
        "\ufffd",
        "\U0001f4a9",
    ),
    *("%20", "\x7f", "= =", "[]", "(", ")", ",", ";", "|", "`", "$1", "\\1", "?x"),
)
# Was once taken for a term, or may be.
ALWAYS: Final = (
    *("see _:b", "_:b", " _:b", "_:b ", "_:a _:b", "_:a <b", "_:a <http://e/g>"),
    *("_:b .\n", "_:b .", "x\n_:b <http://e/p> _:c .\n", "<http://e/g>", "a <<( _:b"),
    *('_:b" .', '"_:b', "\\", "\\\\", '\\"', "", " ", "\n", "\r", "\t"),
)
# XML has none of these, HTML replaces or keeps them.
CONTROLS: Final = ("\0", "\x01", "\x08", "\x0b", "\x0c", "\x1b", "\ufffe", "\uffff")
_IRIS: Final = (
    *("http://e/a", "http://e/_:b", "http://e/(_:b)?x=._:c", "http://e/#_:d"),
    *("http://e/'", "http://e/é", "urn:x:_:y", "http://e/%20%3E%0A", "http://e/a.;,"),
)
_PREDICATES: Final = ("http://e/p", "http://e/q_:b", "http://e/v#r")


@dataclass(frozen=True)
class Term:
    """An IRI, a blank node (`kind` is `blank`) or a literal."""

    kind: str
    value: str
    language: str = ""
    datatype: str = ""

    def to_rdflib(self) -> rdflib.term.Identifier:
        """Return the same term of rdflib."""
        if self.kind == "iri":
            return rdflib.URIRef(self.value)
        if self.kind == "blank":
            return rdflib.BNode(self.value)
        datatype = rdflib.URIRef(self.datatype) if self.datatype else None
        return rdflib.Literal(
            self.value, lang=self.language or None, datatype=datatype, normalize=False
        )


Statement = tuple[Term, Term, Term]


def nasty_text(rng: random.Random, pieces: tuple[str, ...]) -> str:
    """Return a text of a few pieces."""
    return "".join(rng.choices(pieces, k=rng.randint(1, 6)))


def nasty_statements(
    seed: int, *, n: int = 50, has_controls: bool = True, has_blanks: bool = True
) -> list[Statement]:
    """Return statements about IRIs and blank nodes that hang together."""
    rng = random.Random(seed)
    pieces = PIECES + CONTROLS if has_controls else PIECES

    def node() -> Term:
        if has_blanks and rng.random() < 0.4:
            return Term("blank", f"n{rng.randrange(6)}")
        return Term("iri", rng.choice(_IRIS))

    def value() -> Term:
        text = nasty_text(rng, pieces)
        match rng.randrange(3):
            case 0:
                return Term("literal", text, language=rng.choice(("en", "de-at")))
            case 1:
                return Term("literal", text, datatype="http://e/t#_:d")
        return Term("literal", text)

    always = [
        Term("literal", text, language=language, datatype=datatype)
        for text in ALWAYS
        for language, datatype in (("", ""), ("en", ""), ("", "http://e/t"))
    ]
    values = (value() if rng.random() < 0.8 else node() for _ in range(n))
    return [
        (node(), Term("iri", rng.choice(_PREDICATES)), each)
        for each in (*always, *values)
    ]


# -- storing, and reading again ----------------------------------------------------


async def stored(chunks: Iterable[bytes], folder: Path) -> bytes:
    """Return the statements that a reader of the segment gets."""
    store = NQuadsStore(folder, "w")
    await store.open()
    document = await store.begin(URL, 1)
    for chunk in chunks:
        await document.write(QuadChunk(chunk))
    await document.end()
    await store.close()
    return b"".join(iter_quads(folder))


def assert_same(n_quads: bytes, statements: Iterable[Statement], *, graph: str) -> None:
    """Compare the content of a segment with the input, by two other parsers."""
    want = rdflib.Graph()
    for statement in statements:
        want.add(tuple(term.to_rdflib() for term in statement))  # type: ignore[arg-type]
    for parse in (by_rdflib, by_pyoxigraph):
        got, graphs = parse(n_quads)
        assert graphs <= {graph}
        assert isomorphic(got, want), _difference(got, want)


def _difference(got: rdflib.Graph, want: rdflib.Graph) -> str:
    texts = [
        {tuple("_" if isinstance(x, rdflib.BNode) else x.n3() for x in t) for t in g}
        for g in (got, want)
    ]
    return f"only got: {texts[0] - texts[1]}\nonly wanted: {texts[1] - texts[0]}"


def by_rdflib(n_quads: bytes) -> tuple[rdflib.Graph, set[str]]:
    """Return the statements and the names of their graphs."""
    rdflib.NORMALIZE_LITERALS = False
    dataset = rdflib.Dataset(default_union=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of itself
        dataset.parse(io.BytesIO(n_quads), format="nquads")
    graph, names = rdflib.Graph(), set()
    for subject, predicate, value, name in dataset.quads():
        graph.add((subject, predicate, value))
        names.add(str(name))
    return graph, names


def by_pyoxigraph(n_quads: bytes) -> tuple[rdflib.Graph, set[str]]:
    """Return the same, by another parser."""
    graph, names = rdflib.Graph(), set()
    for quad in pyoxigraph.parse(n_quads, pyoxigraph.RdfFormat.N_QUADS):
        terms = (quad.subject, quad.predicate, quad.object)
        graph.add(tuple(_of_pyoxigraph(term).to_rdflib() for term in terms))  # type: ignore[arg-type]
        names.add(getattr(quad.graph_name, "value", ""))
    return graph, names


def _of_pyoxigraph(term: object) -> Term:
    if isinstance(term, pyoxigraph.NamedNode):
        return Term("iri", term.value)
    if isinstance(term, pyoxigraph.BlankNode):
        return Term("blank", term.value)
    assert isinstance(term, pyoxigraph.Literal)
    if term.language:
        return Term("literal", term.value, language=term.language)
    datatype = term.datatype.value
    plain = datatype == "http://www.w3.org/2001/XMLSchema#string"
    return Term("literal", term.value, datatype="" if plain else datatype)


# -- the formats -------------------------------------------------------------------


def _quoted(text: str, rng: random.Random, styles: tuple[str, ...]) -> str:
    """Return a string of Turtle, with as few escapes as may be or all."""
    style = rng.choice(styles)
    if len(style) == 3:
        text = text.replace("\\", "\\\\").replace("\r", "\\r")
        return style + text.replace(style[0], "\\" + style[0]) + style
    escapes = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", style: "\\" + style}
    if rng.random() < 0.3:
        escapes |= {x: f"\\U{ord(x):08X}" for x in text if ord(x) > 126 or x in "<_:"}
    return style + "".join(escapes.get(x, x) for x in text) + style


def _turtle_term(term: Term, rng: random.Random, styles: tuple[str, ...]) -> str:
    if term.kind == "iri":
        return f"<{term.value}>"
    if term.kind == "blank":
        return f"_:{term.value}"
    text = _quoted(term.value, rng, styles)
    if term.language:
        return f"{text}@{term.language}"
    return f"{text}^^<{term.datatype}>" if term.datatype else text


def _lines(statements: list[Statement], styles: tuple[str, ...], tail: str) -> bytes:
    rng = random.Random(len(statements))
    return "".join(
        " ".join(_turtle_term(term, rng, styles) for term in statement) + tail
        for statement in statements
    ).encode()


_LONG = ('"', "'", '"""', "'''")


def _n_triples(statements: list[Statement]) -> bytes:
    return _lines(statements, ('"',), " .\n")


def _n_quads(statements: list[Statement]) -> bytes:
    return _lines(statements, ('"',), f" <{URL}> .\n")


def _turtle(statements: list[Statement]) -> bytes:
    return _lines(statements, _LONG, " .\n")


def _trig(statements: list[Statement]) -> bytes:
    return f"<{URL}> {{\n".encode() + _lines(statements, _LONG, " .\n") + b"}\n"


def _n3(statements: list[Statement]) -> bytes:
    return _lines(statements, ('"', '"""'), " .\n")


def _markup(text: str) -> str:
    # Ends of lines are normalized, in attributes to blanks.
    return escape(text, {"\r": "&#13;", "\u0085": "&#133;"})


def _attribute(text: str) -> str:
    return quoteattr(text, {"\r": "&#13;", "\n": "&#10;", "\t": "&#9;"})


def _rdf_xml(statements: list[Statement]) -> bytes:
    parts = [f'<rdf:RDF xmlns:rdf="{RDF}">']
    for subject, predicate, value in statements:
        name = "nodeID" if subject.kind == "blank" else "about"
        parts.append(f"<rdf:Description rdf:{name}={_attribute(subject.value)}>")
        namespace, local = re.fullmatch(r"(.*[^a-z])([a-z]+)", predicate.value).groups()  # type: ignore[union-attr]
        head = f"<n:{local} xmlns:n={_attribute(namespace)}"
        if value.kind == "literal":
            if value.language:
                head += f' xml:lang="{value.language}"'
            if value.datatype:
                head += f" rdf:datatype={_attribute(value.datatype)}"
            parts.append(f"{head}>{_markup(value.value)}</n:{local}>")
        else:
            name = "nodeID" if value.kind == "blank" else "resource"
            parts.append(f"{head} rdf:{name}={_attribute(value.value)}/>")
        parts.append("</rdf:Description>")
    return ("\n".join(parts) + "</rdf:RDF>").encode()


def _trix(statements: list[Statement]) -> bytes:
    def term(of: Term) -> str:
        if of.kind != "literal":
            name = "uri" if of.kind == "iri" else "id"
            return f"<{name}>{_markup(of.value)}</{name}>"
        if of.datatype:
            datatype = _attribute(of.datatype)
            return (
                f"<typedLiteral datatype={datatype}>{_markup(of.value)}</typedLiteral>"
            )
        language = f' xml:lang="{of.language}"' if of.language else ""
        return f"<plainLiteral{language}>{_markup(of.value)}</plainLiteral>"

    triples = "".join(
        f"<triple>{''.join(map(term, statement))}</triple>" for statement in statements
    )
    namespace = "http://www.w3.org/2004/03/trix/trix-1/"
    return f'<TriX xmlns="{namespace}"><graph>{triples}</graph></TriX>'.encode()


def json_ld(statements: list[Statement]) -> list[dict[str, object]]:
    """Return the statements as expanded JSON-LD."""

    def name(of: Term) -> str:
        return f"_:{of.value}" if of.kind == "blank" else of.value

    def value(of: Term) -> dict[str, str]:
        if of.kind != "literal":
            return {"@id": name(of)}
        if of.language:
            return {"@value": of.value, "@language": of.language}
        extra = {"@type": of.datatype} if of.datatype else {}
        return {"@value": of.value, **extra}

    return [{"@id": name(s), p.value: [value(o)]} for s, p, o in statements]


def _json_ld(statements: list[Statement]) -> bytes:
    return json.dumps(
        json_ld(statements), ensure_ascii=bool(len(statements) % 2)
    ).encode()


def _rdf_json(statements: list[Statement]) -> bytes:
    found: dict[str, dict[str, list[dict[str, str]]]] = {}
    for subject, predicate, value in statements:
        name = f"_:{subject.value}" if subject.kind == "blank" else subject.value
        is_node = value.kind != "literal"
        entry = {
            "type": {"iri": "uri", "blank": "bnode"}.get(value.kind, "literal"),
            "value": f"_:{value.value}" if value.kind == "blank" else value.value,
        }
        if not is_node and value.language:
            entry["lang"] = value.language
        if not is_node and value.datatype:
            entry["datatype"] = value.datatype
        found.setdefault(name, {}).setdefault(predicate.value, []).append(entry)
    return json.dumps(found).encode()


def _hextuples(statements: list[Statement]) -> bytes:
    def line(subject: Term, predicate: Term, value: Term) -> str:
        name = f"_:{subject.value}" if subject.kind == "blank" else subject.value
        is_blank = value.kind == "blank"
        kinds = {"iri": "globalId", "blank": "localId"}
        plain = RDF + "langString" if value.language else value.datatype
        datatype = kinds.get(value.kind, plain)
        text = f"_:{value.value}" if is_blank else value.value
        fields = [name, predicate.value, text, datatype, value.language, ""]
        return json.dumps(fields, ensure_ascii=False)

    # A line separator within a line is none of JSON's ends of lines.
    return "".join(line(*each) + "\n" for each in statements).encode()


# Format by name: media type, and writer; those of XML have no controls.
WRITERS: Final[dict[str, tuple[str, Callable[[list[Statement]], bytes]]]] = {
    "N-Triples": ("application/n-triples", _n_triples),
    "N-Quads": ("application/n-quads", _n_quads),
    "Turtle": ("text/turtle", _turtle),
    "TriG": ("application/trig", _trig),
    "N3": ("text/n3", _n3),
    "RDF/XML": ("application/rdf+xml", _rdf_xml),
    "TriX": ("application/trix", _trix),
    "JSON-LD": ("application/ld+json", _json_ld),
    "RDF/JSON": ("application/rdf+json", _rdf_json),
    "HexTuples": ("application/hex+x-ndjson", _hextuples),
}
XML_FORMATS: Final = frozenset({"RDF/XML", "TriX"})
