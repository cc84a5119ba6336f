"""Encode frozen dataclasses as short JSON, for queues and tables in Redis.

A value is the array of its fields in order, without trailing fields that have their
defaults. The `TAG` of the class, if any, comes first. Equal values have equal texts.
The type annotations of the fields are the schema: `decode` refuses other texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from math import isfinite
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, overload
from typing import get_type_hints as type_hints_of

from rdfcrawl.core.errors import Reason, SourceFault

T = TypeVar("T")
Read = Callable[[Any], Any]

_SHOWN_CHARS: Final = 80


def encode(value: Any) -> str:
    """Return the text of a value: ASCII without control characters."""
    return _to_text(value)


@overload
def decode(text: str, schema: type[T]) -> T: ...
@overload
def decode(text: str, schema: UnionType) -> Any: ...
def decode(text: str, schema: Any) -> Any:
    """Return the value of a text that `encode` returned.

    Raises:
        SourceFault: `BAD_RECORD`: `encode` never returns this text.
        TypeError: a field has a type without a JSON form: a bug in its class.
    """
    read = _reader_of(schema)
    try:
        return read(json.loads(text))
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        name = getattr(schema, "__name__", "task")
        detail = f"no {name}: {text[:_SHOWN_CHARS]!r}"
        raise SourceFault(Reason.BAD_RECORD, detail) from error


@cache
def _layout_of(schema: Any) -> tuple[list[str], list[Any]]:
    """Return the names of the encoded fields of a class, and their defaults."""
    tag = [("TAG", MISSING)] if hasattr(schema, "TAG") else []
    written: list[Any] = [*tag, *((each.name, each.default) for each in fields(schema))]
    return [name for name, _ in written], [default for _, default in written]


def _to_array(value: Any) -> list[Any]:
    names, defaults = _layout_of(value.__class__)
    found = [getattr(value, name) for name in names]
    while found and found[-1] == defaults[len(found) - 1]:
        found.pop()
    return found


_to_text: Final = json.JSONEncoder(separators=(",", ":"), default=_to_array).encode


@cache
def _reader_of(schema: Any) -> Read:
    """Return a function that makes a value of a type from JSON, or refuses it."""
    origin, args = get_origin(schema), get_args(schema)
    if schema in (str, bool, int, float, NoneType):
        return _finite if schema is float else _exactly(schema)
    if origin is Literal:
        return _member_of({each: each for each in args})
    if origin is tuple:
        return _tuple(args)
    if origin in (Union, UnionType):
        return _union(args)
    if isinstance(schema, type) and issubclass(schema, Enum):
        return _member_of({member.value: member for member in schema})
    if isinstance(schema, type) and is_dataclass(schema):
        return _dataclass(schema)
    raise TypeError(f"no texts for {schema}")


def _exactly(kind: type) -> Read:
    def read(value: Any) -> Any:
        if type(value) is not kind:  # True is not a number
            raise TypeError(kind.__name__)
        return value

    return read


_list: Final = _exactly(list)
_float: Final = _exactly(float)


def _finite(value: Any) -> Any:
    if not isfinite(_float(value)):  # NaN is not equal to itself
        raise ValueError("finite")
    return value


def _member_of(members: Mapping[Any, Any]) -> Read:
    plain = _exactly(type(next(iter(members))))
    return lambda value: members[plain(value)]


def _tuple(args: tuple[Any, ...]) -> Read:
    if args[1:] == (...,):
        item = _reader_of(args[0])
        return lambda values: tuple([item(x) for x in _list(values)])
    items = tuple(map(_reader_of, args))
    return lambda values: tuple(
        [read(x) for read, x in zip(items, _list(values), strict=True)]
    )


def _union(args: tuple[Any, ...]) -> Read:
    """Return a reader for one of several tagged classes, or for an optional type."""
    classes = [each for each in args if each is not NoneType]
    has_none = len(classes) < len(args)
    by_tag = {getattr(each, "TAG", ""): _reader_of(each) for each in classes}
    if len(by_tag) < len(classes):
        raise TypeError(f"two classes have the same tag: {args}")
    one = by_tag.popitem()[1] if len(classes) == 1 else None

    def read(value: Any) -> Any:
        if value is None and has_none:
            return None
        return one(value) if one else by_tag[_list(value)[0]](value)

    return read


def _dataclass(schema: type) -> Read:
    hints = type_hints_of(schema)
    readers = [(each.name, _reader_of(hints[each.name])) for each in fields(schema)]
    head = [schema.TAG] if hasattr(schema, "TAG") else []
    n_head = len(head)

    def read(values: Any) -> Any:
        own = _list(values)[n_head:]
        if values[:n_head] != head or len(own) > len(readers):
            raise TypeError(schema.__name__)
        pairs = zip(readers, own, strict=False)
        return schema(**{name: read(value) for (name, read), value in pairs})

    return read
