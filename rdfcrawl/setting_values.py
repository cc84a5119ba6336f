"""Numbers, switches and choices in the settings, checked.

Where nothing is set, they are our defaults.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar, cast

from scrapy.utils.misc import load_object

from rdfcrawl import defaults
from rdfcrawl.errors import ConfigError

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

E = TypeVar("E", bound=StrEnum)

_MAX_INT = 2**53


def value_of(settings: BaseSettings, name: str) -> Any:
    """Return a setting, or our default if nobody has set it, not even Scrapy."""
    return settings[name] if name in settings else getattr(defaults, name, None)


def number(
    settings: BaseSettings, name: str, least: float, most: float = _MAX_INT
) -> float:
    """Return a number from the settings.

    Raises:
        ConfigError: it is none, or out of range.
    """
    value = value_of(settings, name)
    try:
        result = float(value)
    except (TypeError, ValueError):
        raise ConfigError(f"{name}={value!r}: want a number") from None
    if not least <= result <= most:
        raise ConfigError(f"{name}={value}: want {least:g} to {most:g}")
    return result


def integer(settings: BaseSettings, name: str, least: int, most: int = _MAX_INT) -> int:
    """Return a whole number from the settings.

    Raises:
        ConfigError: it is none, or out of range.
    """
    result = number(settings, name, least, most)
    if result != int(result):
        raise ConfigError(f"{name}={result}: want a whole number")
    return int(result)


def is_on(settings: BaseSettings, name: str) -> bool:
    """Return whether a setting is True.

    Raises:
        ConfigError: it is neither True nor False.
    """
    try:
        return settings.getbool(name, default=bool(getattr(defaults, name, False)))
    except ValueError:
        value = settings.get(name)
        raise ConfigError(f"{name}={value!r}: want True or False") from None


def one_of(settings: BaseSettings, name: str, kind: type[E]) -> E:
    """Return the member of an enumeration that a setting names.

    Raises:
        ConfigError: it names none.
    """
    value = value_of(settings, name)
    try:
        return kind(str(value))
    except ValueError:
        raise ConfigError(f"{name}={value!r}: want one of {', '.join(kind)}") from None


def load_setting(name: str, key: str, path: object) -> Any:
    """Return the class that an entry of a setting stands for.

    Args:
        name: of the setting, a dictionary.
        key: of the entry.
        path: dotted, or the class itself.

    Raises:
        ConfigError: it cannot be imported.
    """
    try:
        return load_object(cast("str", path))
    except (AttributeError, ImportError, NameError, SyntaxError, TypeError,
            ValueError) as error:  # fmt: skip
        raise ConfigError(f"{name}: {key!r}: {error}") from error
