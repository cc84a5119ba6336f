"""`scrapy settings`, with the defaults of our settings."""

from __future__ import annotations

import argparse

from scrapy.commands.settings import Command as ScrapySettingsCommand

from rdfcrawl.core.options.scrapy_settings import declared_settings


class Command(ScrapySettingsCommand):
    """Print the value of a setting; if it is not set, its default."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Print the value."""
        names = (v for k, v in vars(opts).items() if k.startswith("get") and v)
        name = next(names, "")
        if name and self.settings is not None and self.settings.get(name) is None:
            setting = declared_settings().get(name)
            self.settings.set(name, setting and setting.default, "default")
        super().run(args, opts)
