"""Any task of a record, for tests that hold of all."""

from __future__ import annotations

from dataclasses import fields
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from rdfcrawl.core.tasks import Task

_FULL = st.text(max_size=20) | st.sampled_from(["\ud800", "é", "\0", '"\\', "\x7f"])
_SIMPLE: dict[Any, st.SearchStrategy[Any]] = {
    str: _FULL,
    int: st.integers(),
    float: st.floats(allow_nan=False, allow_infinity=False),
}


def tasks() -> st.SearchStrategy[Task]:
    """Return any task."""
    return values(Task)


def values(schema: Any) -> st.SearchStrategy[Any]:
    """Return any value of a type that the codec knows."""
    if schema in _SIMPLE:
        return _SIMPLE[schema]
    args = get_args(schema)
    if get_origin(schema) is tuple and args[1:] == (...,):
        return st.lists(values(args[0]), max_size=3).map(tuple)
    if get_origin(schema) is tuple:
        return st.tuples(*map(values, args))
    if get_origin(schema) in (Union, UnionType):
        return st.one_of(list(map(values, args)))
    if hasattr(schema, "__dataclass_fields__"):
        hints = get_type_hints(schema)
        members = {x.name: values(hints[x.name]) for x in fields(schema)}
        return st.builds(schema, **members)
    found: st.SearchStrategy[Any] = st.from_type(schema)
    return found
