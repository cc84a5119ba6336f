"""Writers of descriptions, as publishers write them: nested, with prefixes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from xml.sax.saxutils import escape, quoteattr

from tests.bench.documents.resources import PREFIXES, Iri, Literal, Node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tests.bench.documents.resources import Value

_RDF: Final = PREFIXES["rdf"]
_NIL: Final = f"<{_RDF}nil>"
_TYPE: Final = f"<{_RDF}type>"


def write_turtle(nodes: Iterable[Node]) -> Iterator[str]:
    """Yield a document in Turtle: its prefixes, then each resource."""
    yield "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in PREFIXES.items())
    for node in nodes:
        yield f"\n<{node.iri}> {_turtle_inside(node, '    ')} .\n"


def _turtle_inside(node: Node, indent: str) -> str:
    pairs = (f"{name} {_turtle(value, indent)}" for name, value in node.properties)
    return f" ;\n{indent}".join((f"a {node.kind}", *pairs))


def _turtle(value: Value, indent: str) -> str:
    if isinstance(value, Iri):
        return f"<{value.value}>"
    if isinstance(value, Node):
        return f"[ {_turtle_inside(value, indent + '    ')} ]"
    if isinstance(value, tuple):
        return f"( {' '.join(_turtle(each, indent) for each in value)} )"
    if value.datatype in ("integer", "decimal", "boolean"):
        return value.value
    return _quoted(value, f"^^xsd:{value.datatype}")


def _quoted(literal: Literal, datatype: str) -> str:
    text = literal.value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    if literal.language:
        return f'"{text}"@{literal.language}'
    return f'"{text}"{datatype}' if literal.datatype else f'"{text}"'


def write_rdf_xml(nodes: Iterable[Node]) -> Iterator[str]:
    """Yield a document in RDF/XML, with a striped element for each node."""
    names = "".join(f'\n  xmlns:{name}="{iri}"' for name, iri in PREFIXES.items())
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<rdf:RDF{names}>\n'
    for node in nodes:
        yield _element(node, "  ")
    yield "</rdf:RDF>\n"


def _element(node: Node, indent: str) -> str:
    about = f" rdf:about={quoteattr(node.iri)}" if node.iri else ""
    inside = "".join(_property(*pair, indent + "  ") for pair in node.properties)
    return f"{indent}<{node.kind}{about}>\n{inside}{indent}</{node.kind}>\n"


def _property(name: str, value: Value, indent: str) -> str:
    if isinstance(value, Iri):
        return f"{indent}<{name} rdf:resource={quoteattr(value.value)}/>\n"
    if isinstance(value, Node):
        inside = _element(value, indent + "  ")
        return f"{indent}<{name}>\n{inside}{indent}</{name}>\n"
    if isinstance(value, tuple):
        inside = "".join(
            _element(each, indent + "  ")
            if isinstance(each, Node)
            else f"{indent}  <rdf:Description rdf:about={quoteattr(each.value)}/>\n"
            for each in value
        )
        opened = f'{name} rdf:parseType="Collection"'
        return f"{indent}<{opened}>\n{inside}{indent}</{name}>\n"
    attribute = f' xml:lang="{value.language}"' if value.language else ""
    if value.datatype:
        attribute = f' rdf:datatype="{PREFIXES["xsd"]}{value.datatype}"'
    return f"{indent}<{name}{attribute}>{escape(value.value)}</{name}>\n"


def write_json_ld(nodes: Iterable[Node]) -> Iterator[str]:
    """Yield a document in JSON-LD, with a context of its own."""
    graph = [{"@id": node.iri, **_members(node)} for node in nodes]
    yield json.dumps(
        {"@context": PREFIXES, "@graph": graph}, ensure_ascii=False, indent=1
    )


def _members(node: Node) -> dict[str, Any]:
    members: dict[str, Any] = {"@type": node.kind}
    for name, value in node.properties:
        members.setdefault(name, []).append(_json(value))
    return {
        name: value[0] if isinstance(value, list) and len(value) == 1 else value
        for name, value in members.items()
    }


def _json(value: Value) -> Any:
    if isinstance(value, Iri):
        return {"@id": value.value}
    if isinstance(value, Node):
        return _members(value)
    if isinstance(value, tuple):
        return {"@list": [_json(each) for each in value]}
    if value.datatype:
        return {"@value": value.value, "@type": f"xsd:{value.datatype}"}
    if value.language:
        return {"@value": value.value, "@language": value.language}
    return value.value


def write_n_triples(nodes: Iterable[Node]) -> Iterator[str]:
    """Yield the statements of each resource as lines."""
    return _Lines().write(nodes, lambda _: "")


def write_n_quads(
    nodes: Iterable[Node], graph_of: Callable[[str], str]
) -> Iterator[str]:
    """Yield the same as quads, whose graph is that of the IRI of the resource."""
    return _Lines().write(nodes, lambda iri: f"<{graph_of(iri)}> ")


class _Lines:
    """Statements as lines, with names for blank nodes."""

    def __init__(self) -> None:
        self._n_blank = 0

    def write(
        self, nodes: Iterable[Node], end_of: Callable[[str], str]
    ) -> Iterator[str]:
        for node in nodes:
            lines: list[str] = []
            self._describe(f"<{node.iri}>", node, lines)
            end = f" {end_of(node.iri)}.\n"
            yield end.join(lines) + end

    def _describe(self, name: str, node: Node, lines: list[str]) -> None:
        lines.append(f"{name} {_TYPE} {_full(node.kind)}")
        for prop, value in node.properties:
            lines.append(f"{name} {_full(prop)} {self._term(value, lines)}")

    def _term(self, value: Value, lines: list[str]) -> str:
        if isinstance(value, Iri):
            return f"<{value.value}>"
        if isinstance(value, Node):
            name = self._blank()
            self._describe(name, value, lines)
            return name
        if isinstance(value, tuple):
            return self._list(value, lines)
        return _quoted(value, f"^^<{PREFIXES['xsd']}{value.datatype}>")

    def _list(self, values: tuple[Iri | Node, ...], lines: list[str]) -> str:
        rest = _NIL
        for value in reversed(values):
            name = self._blank()
            lines.append(f"{name} <{_RDF}first> {self._term(value, lines)}")
            lines.append(f"{name} <{_RDF}rest> {rest}")
            rest = name
        return rest

    def _blank(self) -> str:
        self._n_blank += 1
        return f"_:b{self._n_blank}"


_FULL: dict[str, str] = {}


def _full(name: str) -> str:
    if name not in _FULL:
        prefix, _, local = name.partition(":")
        _FULL[name] = f"<{PREFIXES[prefix]}{local}>"
    return _FULL[name]
