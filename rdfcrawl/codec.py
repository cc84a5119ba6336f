"""Frozen dataclasses as short texts in JSON, and back: for queues and tables in Redis.

A value is the array of its fields in their order, without fields at the end that have
their defaults. Where a field or a caller allows several classes, the array begins with
the `TAG` of the class. So a value has one text: equal values have equal texts. The type
annotations of the fields are the schema: `decode` refuses whatever does not fit them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, overload
from typing import get_type_hints as type_hints_of

from rdfcrawl.errors import Fault, Reason, SourceFault

T = TypeVar("T")
Convert = Callable[[Any], Any]

_to_text: Final = json.JSONEncoder(separators=(",", ":")).encode
_SHOWN_CHARS: Final = 80


@dataclass(frozen=True, slots=True)
class _Codec:
    """How values of one type become JSON and are read again; None: they are JSON."""

    to_json: Convert | None
    from_json: Convert


def encode(value: Any, schema: Any = None) -> str:
    """Return the text of a value: ASCII without control characters.

    `schema` is the type that `decode` is given, by default the class of the value.
    """
    of: Any = type(value) if schema is None else schema
    to_json = codec_of(of).to_json
    return _to_text(value if to_json is None else to_json(value))


@overload
def decode(text: str, schema: type[T]) -> T: ...
@overload
def decode(text: str, schema: UnionType) -> Any: ...
def decode(text: str, schema: Any) -> Any:
    """Return the value of a text that `encode` made.

    Raises:
        SourceFault: `BAD_RECORD`: the text is none that `encode` makes.
    """
    try:
        return codec_of(schema).from_json(json.loads(text))
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        name = getattr(schema, "__name__", "task")
        detail = f"no {name}: {text[:_SHOWN_CHARS]!r}"
        raise SourceFault(Reason.BAD_RECORD, detail[: Fault.MAX_DETAIL]) from error


@cache
def codec_of(schema: Any) -> _Codec:
    """Return the codec of a type annotation.

    Raises:
        TypeError: there is none for it: a mistake in the class that has the field.
    """
    origin, args = get_origin(schema), get_args(schema)
    if schema in _PLAIN:
        return _PLAIN[schema]
    if origin is Literal:
        return _Codec(None, _one_of(args))
    if origin is tuple:
        return _tuple(args)
    if origin in (Union, UnionType):
        return _union(args)
    if isinstance(schema, type) and issubclass(schema, Enum):
        return _Codec(None, _member_of(schema))
    if is_dataclass(schema) and isinstance(schema, type):
        return _dataclass(schema)
    raise TypeError(f"no codec for {schema}")


def _exactly(kind: type) -> Convert:
    def read(value: Any) -> Any:
        if type(value) is not kind:  # True is not a number
            raise TypeError(kind.__name__)
        return value

    return read


def _float(value: Any) -> float:
    if type(value) is not float or value - value != 0:  # infinite, or no number
        raise TypeError("float")
    return value


def _positive_zero(value: float) -> float:
    return value + 0.0  # also makes a float of an int: equal values, equal texts


_PLAIN: Final[dict[Any, _Codec]] = {
    str: _Codec(None, _exactly(str)),
    bool: _Codec(None, _exactly(bool)),
    int: _Codec(None, _exactly(int)),
    float: _Codec(_positive_zero, _float),
    NoneType: _Codec(None, _exactly(NoneType)),
}


def _one_of(allowed: tuple[object, ...]) -> Convert:
    def read(value: Any) -> Any:
        if type(value) is not str or value not in allowed:
            raise ValueError(f"none of {allowed}")
        return value

    return read


def _member_of(enum: type[Enum]) -> Convert:
    members = {member.value: member for member in enum}
    kind = type(next(iter(members)))

    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise TypeError(enum.__name__)
        return members[value]

    return read


def _tuple(args: tuple[Any, ...]) -> _Codec:
    if args[1:] == (...,):
        item = codec_of(args[0])
        write, read = item.to_json, item.from_json
        return _Codec(
            None if write is None else lambda values: [write(x) for x in values],
            lambda values: tuple([read(x) for x in _exactly(list)(values)]),
        )
    codecs = tuple(map(codec_of, args))
    is_json = all(codec.to_json is None for codec in codecs)

    def to_json(values: Any) -> Any:
        pairs = zip(values, codecs, strict=True)
        return [x if c.to_json is None else c.to_json(x) for x, c in pairs]

    def from_json(values: Any) -> Any:
        pairs = zip(_exactly(list)(values), codecs, strict=True)
        return tuple([codec.from_json(x) for x, codec in pairs])

    return _Codec(None if is_json else to_json, from_json)


def _union(args: tuple[Any, ...]) -> _Codec:
    """Return the codec of a union of dataclasses with tags, or of a type and None."""
    classes = [each for each in args if each is not NoneType]
    has_none = len(classes) < len(args)
    if len(classes) == 1 and not hasattr(classes[0], "TAG"):
        one = codec_of(classes[0])
        write, read = one.to_json, one.from_json
        return _Codec(
            write and (lambda x: None if x is None else write(x)),
            lambda x: None if x is None else read(x),
        )
    by_class: dict[Any, tuple[str, Any]] = {
        each: (each.TAG, codec_of(each).to_json) for each in classes
    }
    by_tag = {each.TAG: codec_of(each).from_json for each in classes}
    if len(by_tag) < len(classes):
        raise TypeError(f"a tag that two have: {args}")

    def to_json(value: Any) -> Any:
        if value is None and has_none:
            return None
        tag, write = by_class[type(value)]
        return [tag, *write(value)]

    def from_json(value: Any) -> Any:
        if value is None and has_none:
            return None
        if type(value) is not list:
            raise TypeError("tag")
        return by_tag[value[0]](value[1:])

    return _Codec(to_json, from_json)


def _only(name: str) -> Convert:
    return lambda value: (getattr(value, name),)


def _dataclass(schema: type) -> _Codec:
    hints = type_hints_of(schema)
    own = fields(schema)
    names = [each.name for each in own]
    codecs = [codec_of(hints[name]) for name in names]
    readers = [(name, x.from_json) for name, x in zip(names, codecs, strict=True)]
    fields_of = attrgetter(*names) if len(names) > 1 else _only(names[0])
    writers = [(n, x.to_json) for n, x in enumerate(codecs) if x.to_json is not None]
    defaults = [each.default for each in own]
    n_needed = max((n for n, x in enumerate(defaults, 1) if x is MISSING), default=0)

    def to_json(value: Any) -> list[Any]:
        found = list(fields_of(value))
        while len(found) > n_needed and found[-1] == defaults[len(found) - 1]:
            found.pop()
        for n, write in writers:
            if n < len(found):
                found[n] = write(found[n])
        return found

    def from_json(values: Any) -> Any:
        if type(values) is not list or not n_needed <= len(values) <= len(readers):
            raise TypeError(schema.__name__)
        pairs = zip(readers, values, strict=False)
        return schema(**{name: read(value) for (name, read), value in pairs})

    return _Codec(to_json, from_json)
