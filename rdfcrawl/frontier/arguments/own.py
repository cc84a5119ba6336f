"""Arguments that users add to a spider: fields of a dataclass, read from text by type.

Also converts values that a script passes instead of `-a` (lists, paths, numbers).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field
from enum import Enum
from functools import partial
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from rdfcrawl.core.errors import ConfigError

BOOLEANS: Final = {"0": False, "1": True, "false": False, "true": True}
Parser = Callable[[str], Any]
_COLLECTIONS: Final = (tuple, list, set, frozenset)
_UNIONS: Final = (Union, UnionType)
# A comma before a scheme would split the list.
_encode_commas = partial(re.compile(r",(?=\s*[A-Za-z][A-Za-z0-9+.-]*://)").sub, "%2C")


class _UnknownChoice(ValueError):
    """A text that is not allowed; the message lists the allowed ones."""


def text_of(value: object) -> str:
    """Return the `-a` text of a Python value.

    Lists and other iterables are joined by commas, sets in sorted order.

    Raises:
        ConfigError: the value is bytes or a mapping.

    >>> text_of(["http://a.example/", "http://b.example/"])
    'http://a.example/,http://b.example/'
    """
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, Enum):
        return text_of(value.value)
    if isinstance(value, bytes | Mapping):
        raise ConfigError(f"{type(value).__name__} is neither text nor a list")
    if not isinstance(value, Iterable):
        return str(value)
    texts = [_encode_commas(text_of(each)) for each in value]
    return ",".join(sorted(texts) if isinstance(value, set | frozenset) else texts)


def parse_own(name: str, field: Field[Any], type_: Any, text: str) -> Any:
    """Return the value of an argument that a user's class has added.

    Args:
        name: of the argument.
        field: of the dataclass; `metadata["parse"]` reads texts of other types.
        type_: its annotation, resolved.
        text: as given.

    Raises:
        ConfigError: the text is not valid; one line that names the allowed values.
    """
    if field.default is MISSING and field.default_factory is MISSING:
        raise ConfigError(f"argument {name}: its field needs a default")
    parse = field.metadata.get("parse") or _parser_of(name, type_)
    try:
        return parse(text)
    except _UnknownChoice as error:
        raise ConfigError(f"argument {name}={text}: must be {error}") from error
    except (ValueError, TypeError, ArithmeticError) as error:
        detail = f"must be {_described(type_)}: {error}"
        raise ConfigError(f"argument {name}={text}: {detail}") from error


def _parser_of(name: str, type_: Any) -> Parser:
    origin, inner = get_origin(type_), get_args(type_)
    if origin in _UNIONS:
        choices = [each for each in inner if each is not NoneType]
        if len(choices) == 1:
            return _parser_of(name, choices[0])
    elif origin is Literal:
        return partial(_choice, {str(each): each for each in inner})
    elif origin in _COLLECTIONS and inner:
        return partial(_collection, origin, _parser_of(name, inner[0]))
    elif type_ is bool:
        return lambda text: _choice(BOOLEANS, text.lower())
    elif isinstance(type_, type) and issubclass(type_, Enum):
        return partial(_choice, {str(each.value): each for each in type_})
    elif type_ in (str, int, float, Path):
        return type_  # type: ignore[no-any-return]
    raise ConfigError(
        f"argument {name}: no text is read as {_described(type_)}; give its field"
        " metadata={'parse': a function of the text}"
    )


def _choice(choices: Mapping[str, Any], text: str) -> Any:
    if text not in choices:
        raise _UnknownChoice(f"one of {', '.join(choices)}")
    return choices[text]


def _collection(make: Callable[[list[Any]], Any], parse: Parser, text: str) -> Any:
    return make([parse(each.strip()) for each in text.split(",") if each.strip()])


def _described(type_: Any) -> str:
    return type_.__name__ if isinstance(type_, type) else str(type_)
