"""`scrapy settings`, with the defaults of our settings."""

from __future__ import annotations

import argparse
from contextlib import suppress
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING

from scrapy.commands.settings import Command as ScrapySettingsCommand

import rdfcrawl
from rdfcrawl.core.options.table import OptionsTable, settings_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from importlib.resources.abc import Traversable


class Command(ScrapySettingsCommand):
    """Print the value of a setting; if it is not set, its default."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Print the value."""
        names = (v for k, v in vars(opts).items() if k.startswith("get") and v)
        name = next(names, "")
        if name and self.settings is not None and self.settings.get(name) is None:
            self.settings.set(name, _default(name), "default")
        super().run(args, opts)


def _default(name: str) -> object:
    """Return the default of one of our settings; None for others."""
    texts = f'"{name}"', "(OptionsTable)"
    for module in _modules(files(rdfcrawl), "rdfcrawl", texts):
        with suppress(ImportError):  # of an extra that is not installed
            import_module(module)
    found = (x for table in _tables(OptionsTable) for _, x in settings_of(table))
    return next((each.default for each in found if each.name == name), None)


def _modules(folder: Traversable, package: str, texts: Sequence[str]) -> Iterator[str]:
    """Yield the modules of a package that contain some texts, without importing any."""
    for each in folder.iterdir():
        name = f"{package}.{each.name.removesuffix('.py')}"
        if each.is_dir():
            yield from _modules(each, name, texts)
        elif each.name.endswith(".py"):
            source = each.read_text("utf-8")
            if all(text in source for text in texts):
                yield name


def _tables(base: type[OptionsTable]) -> Iterator[type[OptionsTable]]:
    for table in base.__subclasses__():
        yield table
        yield from _tables(table)
