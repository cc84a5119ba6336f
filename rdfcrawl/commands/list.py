"""`scrapy list`, with the spiders of add-ons."""

from __future__ import annotations

import argparse

from scrapy.commands.list import Command as ScrapyListCommand

from rdfcrawl.launch.crawls import load_addons


class Command(ScrapyListCommand):
    """List the spiders that `scrapy crawl` finds."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """List the spiders."""
        if self.settings is not None:
            load_addons(self.settings)
        super().run(args, opts)
