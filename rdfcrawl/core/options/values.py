"""Values of settings: numbers, switches, choices, lists and classes.

A wrong value is a `ConfigError`: one line that names the setting.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from importlib import import_module
from inspect import getattr_static, isasyncgenfunction, iscoroutinefunction, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options import defaults

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

E = TypeVar("E", bound=StrEnum)

MAX_INT: Final = 2**53
_BOOLEANS: Final = {"True": 1, "true": 1, "False": 0, "false": 0}
_WITH_LOGINS = frozenset({"STORES"})  # not to be shown


def as_number(
    name: str,
    value: Any,
    least: float,
    most: float = MAX_INT,
    *,
    is_whole: bool = False,
) -> Any:
    """Return a number, or an integer."""
    try:
        result = float(value)
    except (TypeError, ValueError):
        raise ConfigError(f"{name}={value!r}: must be a number") from None
    if not least <= result <= most:
        raise ConfigError(f"{name}={value}: must be {least:g} to {most:g}")
    if is_whole and result != int(result):
        raise ConfigError(f"{name}={result}: must be an integer")
    return int(result) if is_whole else result


def boolean(name: str, value: Any) -> bool:
    """Return True or False, from text too."""
    known = _BOOLEANS.get(value) if isinstance(value, str) else value
    try:
        return bool(int(value if known is None else known))
    except (TypeError, ValueError):
        raise ConfigError(f"{name}={value!r}: must be True or False") from None


def member(name: str, value: Any, kind: type[E]) -> E:
    """Return the member of an enumeration."""
    try:
        return kind(str(value))
    except ValueError:
        raise ConfigError(
            f"{name}={value!r}: must be one of {', '.join(kind)}"
        ) from None


def choices(names: Iterable[str]) -> str:
    """Return the names of choices for the reference page."""
    return ", ".join(map("`{}`".format, names))


def dictionary(name: str, value: Any) -> dict[str, Any]:
    """Return a dictionary, from JSON too."""
    try:
        return dict(json.loads(value) if isinstance(value, str) else value or {})
    except (TypeError, ValueError):
        shown = "" if name in _WITH_LOGINS else f"={value!r}"
        raise ConfigError(
            f"{name}{shown}: must be a dictionary, on the command line as JSON:"
            f" -s {name}='{{\"key\": {{}}}}'"
        ) from None


def texts(value: Any) -> tuple[str, ...]:
    """Return a list of texts, from text with commas too."""
    entries = value.split(",") if isinstance(value, str) else value or ()
    return tuple(filter(None, map(str.strip, map(str, entries))))


def header_value(name: str, value: Any) -> str:
    """Return a text that may be the value of a header."""
    text = str(value or "")
    if not text.strip() or not text.isprintable():
        raise ConfigError(f"{name}={text!r}: must be one line of text")
    return text


def path(value: Any) -> Path:
    """Return the absolute path of a file or folder."""
    return Path(str(value)).expanduser().absolute()


def is_on(settings: BaseSettings, name: str) -> bool:
    """Return whether a setting of Scrapy is True."""
    return boolean(name, settings.get(name, getattr(defaults, name, False)))


def iter_classes(
    name: str, paths: Mapping[str, object]
) -> Iterator[tuple[str, str, Any]]:
    """Yield the entries of a setting with classes: key, place for messages, class.

    As in Scrapy's settings, None as class removes an entry.

    Raises:
        ConfigError: a class cannot be imported.
    """
    for key, found in paths.items():
        if found is not None:
            yield key, f"{name}: {key!r}: {found}", load_setting(name, key, found)


def load_setting(name: str, key: str, path: object) -> Any:
    """Return the class of an entry of a setting, given as a path or a class."""
    try:
        return load_object(path)
    except (AttributeError, ImportError, NameError, SyntaxError, TypeError,
            ValueError) as error:  # fmt: skip
        raise ConfigError(f"{name}: {key!r}: {error}") from error


def load_object(path: object) -> Any:
    """Return the object of a dotted path, or the object itself.

    Like the function of Scrapy, which followers would have to import for it.
    """
    if not isinstance(path, str):
        if callable(path):
            return path
        raise TypeError(f"must be a class or its path, not {path!r}")
    module, _, name = path.rpartition(".")
    if not module:
        raise ValueError(f"{path!r} is not a full path")
    found = import_module(module)
    if not hasattr(found, name):
        raise NameError(f"module {module!r} has no {name!r}")
    return getattr(found, name)


def build_setting(where: str, found: type, crawler: Crawler, *args: object) -> Any:
    """Return an instance of a user's class, by its `from_crawler` if there is one."""
    from scrapy.utils.misc import build_from_crawler  # noqa: PLC0415 (as above)

    try:
        return build_from_crawler(found, crawler, *args)
    except (OSError, TypeError, ValueError) as error:
        raise ConfigError(f"{where}: {found.__qualname__}: {error}") from error


def check_method(
    where: str,
    found: object,
    method: str,
    n_arguments: int,
    *,
    kind: Literal["def", "async def", "generator"] = "def",
) -> None:
    """Check that a user's class has a method that can be called as required.

    Args:
        where: the setting with the class, for the message.
        found: the class.
        method: its name.
        n_arguments: number of its arguments, without `self`.
        kind: of function; a generator is an asynchronous one.
    """
    function = getattr(found, method, None)
    if not callable(function):
        raise ConfigError(f"{where} has no method `{method}`")
    is_coroutine, yields = iscoroutinefunction(function), isasyncgenfunction(function)
    if kind == "async def" and not is_coroutine:
        raise ConfigError(f"{where}: `{method}` is not an `async def`")
    if kind == "generator" and is_coroutine:
        raise ConfigError(f"{where}: `{method}` does not yield")
    if kind == "def" and (is_coroutine or yields):
        raise ConfigError(f"{where}: `{method}` must not be async")
    is_bound = isinstance(getattr_static(found, method), staticmethod | classmethod)
    n_given = n_arguments + (not is_bound)
    _check_call(f"{where}: `{method}`", function, n_arguments, n_given)


def check_class(where: str, found: object, n_arguments: int) -> None:
    """Check that a user's class can be made with so many arguments."""
    if not isinstance(found, type):
        raise ConfigError(f"{where} is not a class")
    _check_call(where, found, n_arguments, n_arguments)


def _check_call(where: str, function: Any, n_arguments: int, n_given: int) -> None:
    try:
        signature(function).bind(*range(n_given))
    except TypeError as error:
        number = f"{n_arguments} argument{'s' * (n_arguments != 1)}"
        raise ConfigError(f"{where} is called with {number}: {error}") from None
    except ValueError:  # of a class that is not written in Python
        pass


def is_a(component: Any, wanted: str) -> bool:
    """Return whether a class, or the path of one, is another or a subclass of it."""
    if component == wanted:
        return True
    found = load_object(component)
    # Not `issubclass`: to Scrapy any class with the methods of a scheduler is one.
    return isinstance(found, type) and load_object(wanted) in found.__mro__
