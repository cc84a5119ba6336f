"""`scrapy settings`, with the defaults of our settings."""

from __future__ import annotations

import argparse
from contextlib import suppress
from importlib import import_module
from importlib.resources import files
from pkgutil import walk_packages
from typing import TYPE_CHECKING

from scrapy.commands.settings import Command as ScrapySettingsCommand

import rdfcrawl
from rdfcrawl.core.options.table import OptionsTable, settings_of

if TYPE_CHECKING:
    from collections.abc import Iterator


class Command(ScrapySettingsCommand):
    """Print the value of a setting; if it is not set, its default."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Print the value."""
        names = (v for k, v in vars(opts).items() if k.startswith("get") and v)
        name = next(names, "")
        if self.settings is not None and self.settings.get(name) is None:
            self.settings.set(name, _defaults().get(name), "default")
        super().run(args, opts)


def _defaults() -> dict[str, object]:
    for module in walk_packages([str(files(rdfcrawl))], "rdfcrawl."):
        with suppress(ImportError):  # of an extra that is not installed
            import_module(module.name)
    return {
        setting.name: setting.default
        for table in _tables(OptionsTable)
        for _, setting in settings_of(table)
    }


def _tables(base: type[OptionsTable]) -> Iterator[type[OptionsTable]]:
    for table in base.__subclasses__():
        yield table
        yield from _tables(table)
