"""Values that JSON-LD does not allow, at every keyword and container."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.jsonld_reading import read

if TYPE_CHECKING:
    from collections.abc import Callable

_NODE = {"@id": "http://e.org/in", "name": "x"}
_VOCAB = {"@vocab": "http://v.org/"}
# Each has a part that is no node.
_VALUES: tuple[Any, ...] = (
    *("text", 5, True, {"@value": "v"}, {"@list": ["a"]}, ["text"], [5]),
    *([_NODE, "text"], [_NODE, 7], [_NODE, {"@value": "v"}], [_NODE, {"@list": ["a"]}]),
)


def _document(value: Any, *, of: str, term: Any = None) -> dict[str, Any]:
    """Return a node with a property, and a value of a keyword or term."""
    context = {**_VOCAB, of: term} if term is not None else _VOCAB
    return {"@context": context, "@id": "http://e.org/s", "q": "kept", of: value}


_PLACES: dict[str, Callable[[Any], Any]] = {
    "included": lambda value: _document(value, of="@included"),
    "alias of included": lambda value: _document(value, of="i", term="@included"),
    "inner included": lambda value: _document(
        {"@id": "http://e.org/i", "p": 1, "@included": value}, of="@included"
    ),
    "graph": lambda value: _document(value, of="@graph"),
    "top": lambda value: [_document("p", of="p"), value],
    "reverse": lambda value: _document(value, of="@reverse"),
    "reverse map": lambda value: _document({"p": value}, of="@reverse"),
    "reverse term": lambda value: _document(
        value, of="p", term={"@reverse": "http://v.org/p"}
    ),
    "index": lambda value: _document([value, 1], of="@index"),
    "type": lambda value: _document([{"a": value}], of="@type"),
}


@pytest.mark.parametrize("place", _PLACES)
def test_values_in_place_of_nodes_are_counted(place: str) -> None:
    """If a value is where nodes must be, then a fault counts it, and others stay."""
    for value in _VALUES:
        statements, faults = read(_PLACES[place](value))
        assert b'"kept"' in statements, value
        assert faults, value
        if place in ("included", "graph") and _NODE in (value, *_listed(value)):
            assert b"/in> <http://v.org/name>" in statements, value


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


@pytest.mark.parametrize(
    "nested", [5, ["text"], [_NODE], {"@id": "http://e.org/other"}, [{"p": 1}, 5]]
)
def test_bad_nested_entry_leaves_the_others(nested: Any) -> None:
    """If an entry of `@nest` does not fit, then only that is lost, with a fault."""
    statements, faults = read(_document(nested, of="@nest"))
    assert b'"kept"' in statements
    assert faults


@pytest.mark.parametrize("value", [5, True, {"@value": "v"}, [_NODE, 7], [5]])
def test_literals_in_a_type_map_leave_the_document(value: Any) -> None:
    """If a type map has literals, then only they are lost, with a fault."""
    term = {"@id": "http://v.org/p", "@container": "@type"}
    statements, faults = read(_document({"T": value}, of="p", term=term))
    assert b'"kept"' in statements
    assert faults
