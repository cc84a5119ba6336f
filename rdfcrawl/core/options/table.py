"""Declare settings as fields of frozen dataclasses, one table for each purpose.

    @dataclass(frozen=True, slots=True, kw_only=True)
    class PaceOptions(OptionsTable):
        factor: float = number("DELAY_FACTOR", 0.0, 0, 100)
        '''how many times as long as its last response a host is left alone'''

`from_settings` reads a table, and a wrong value is a `ConfigError`: the check is the
reading. Defaults of Scrapy's settings are in `defaults`. The text below a field is its
description in `docs/reference/settings.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, cast
from weakref import WeakKeyDictionary

from rdfcrawl.core.options import values

if TYPE_CHECKING:
    from enum import StrEnum

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

_SETTING: Final = "setting"
_PART: Final = "part"
_crawlers: WeakKeyDictionary[Crawler, dict[type, Any]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Attributes:
        name: in the settings of Scrapy.
        default: the value without a setting.
        parse: takes the name and the set value; returns the value, or raises
            `ConfigError`.
        allowed: values for the reference page, if they are a range or a choice.
    """

    name: str
    default: Any
    parse: Callable[[str, Any], Any]
    allowed: str = ""

    def unread(self, value: Any) -> Any:
        """Return the value of a field without settings."""
        return self.parse(self.name, self.default) if value is MISSING else value


class OptionsTable:
    """Base of frozen dataclasses whose fields are settings."""

    __slots__ = ()

    @classmethod
    def from_settings(cls, settings: BaseSettings, **given: Any) -> Self:
        """Return the table with the values of settings.

        Args:
            settings: of a crawl or a command.
            given: values of fields that are no settings, or that are known already.

        Raises:
            ConfigError: a value is wrong; one line that names the setting.
        """
        return cls(**cls.read(settings, **given))

    @classmethod
    def one(cls, settings: BaseSettings, name: str) -> Any:
        """Return the value of one field, for commands that need no other."""
        others = {each.name: None for each in fields(cast("Any", cls))}
        del others[name]
        return cls.read(settings, **others)[name]

    @classmethod
    def read(cls, settings: BaseSettings, **given: Any) -> dict[str, Any]:
        """Return the values of all fields that are settings or given.

        Components of users find the defaults in the settings, too.
        """
        for each in fields(cast("Any", cls)):
            if each.name in given:
                continue
            if setting := each.metadata.get(_SETTING):
                value = settings[setting.name]  # None if it is not set
                if value is None and setting.default is not None:
                    value = setting.default
                    if not settings.frozen:
                        settings.set(setting.name, value, "addon")
                given[each.name] = setting.parse(setting.name, value)
            elif _PART in each.metadata:
                given[each.name] = each.metadata[_PART].from_settings(settings)
        return given


T = TypeVar("T", bound=OptionsTable)


def settings_of(table: type[OptionsTable]) -> Iterator[tuple[str, Setting]]:
    """Yield the settings of a table, each with the name of its field."""
    for each in fields(cast("Any", table)):
        if _SETTING in each.metadata:
            yield each.name, each.metadata[_SETTING]


def options_of(crawler: Crawler, table: type[T]) -> T:
    """Return the options of a crawler, which are read once."""
    known = _crawlers.setdefault(crawler, {})
    if table not in known:
        known[table] = table.from_settings(crawler.settings)
    return cast("T", known[table])


def part(table: type[OptionsTable]) -> Any:
    """Declare a field that is a table."""
    return field(default_factory=table, metadata={_PART: table})


def parsed(
    name: str,
    default: Any,
    parse: Callable[[str, Any], Any],
    *,
    allowed: str = "",
    unread: Any = MISSING,
) -> Any:
    """Declare a setting that a function of its name and its value reads.

    Args:
        name: of the setting.
        default: see `Setting`.
        parse: see `Setting`.
        allowed: see `Setting`.
        unread: value of the field in a table that is constructed without settings, if
            it is not the default of the setting.
    """
    setting = Setting(name, default, parse, allowed)
    return field(
        default_factory=partial(setting.unread, unread), metadata={_SETTING: setting}
    )


def number(
    name: str,
    default: float,
    least: float,
    most: float = values.MAX_INT,
    *,
    is_whole: bool = False,
    unread: Any = MISSING,
) -> Any:
    """Declare a number from `least` to `most`; see `parsed` for the other arguments."""
    parse = partial(values.as_number, least=least, most=most, is_whole=is_whole)
    allowed = f"from {least}" if most == values.MAX_INT else f"{least} to {most}"
    return parsed(name, default, parse, allowed=allowed, unread=unread)


integer: Final = partial(number, is_whole=True)
"""Declare an integer; the arguments are those of `number`."""


def millisecs(name: str, default: int, least: int, most: int) -> Any:
    """Declare an integer in seconds; the value is in milliseconds."""

    def parse(name: str, value: Any) -> int:
        return 1000 * int(values.as_number(name, value, least, most, is_whole=True))

    return parsed(name, default, parse, allowed=f"{least} to {most}")


def switch(name: str, default: bool, **more: Any) -> Any:
    """Declare a setting that is True or False."""
    return parsed(name, default, values.boolean, **more)


def one_of(name: str, default: str, kind: type[StrEnum], **more: Any) -> Any:
    """Declare a choice among the members of an enumeration."""
    parse, allowed = partial(values.member, kind=kind), values.choices(kind)
    return parsed(name, default, parse, allowed=allowed, **more)


def text(name: str, default: str | None, **more: Any) -> Any:
    """Declare a text; nothing is None."""
    return parsed(name, default, lambda _, value: str(value) if value else None, **more)


def path(name: str, default: str | None, **more: Any) -> Any:
    """Declare a file or a folder; nothing is None."""
    return parsed(
        name, default, lambda _, value: values.path(value) if value else None, **more
    )


def mapping(name: str, default: dict[str, Any], **more: Any) -> Any:
    """Declare a dictionary."""
    return parsed(name, default, values.dictionary, **more)


def texts(name: str, default: Sequence[str], **more: Any) -> Any:
    """Declare a list of texts, as a tuple."""
    return parsed(name, default, lambda _, value: values.texts(value), **more)
