"""`scrapy genspider`, with a template for a spider of RDF: `-t rdf`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scrapy.commands.genspider import Command as ScrapyGenspiderCommand

import rdfcrawl
from rdfcrawl.launch import load_addons

if TYPE_CHECKING:
    import argparse

TEMPLATES: Final = Path(rdfcrawl.__path__[0], "templates", "spiders")


class Command(ScrapyGenspiderCommand):
    """Write a spider from a template of Scrapy, of the project, or of ours."""

    _folder: Path | None = None

    @property
    def templates_dir(self) -> str:
        """Folder of the templates; ours if the requested one is there alone."""
        return str(self._folder or super().templates_dir)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Write the spider, or show the templates."""
        if self.settings is not None:
            load_addons(self.settings)
        name = f"{opts.dump or opts.template}.tmpl"
        if not Path(self.templates_dir, name).exists() and (TEMPLATES / name).exists():
            self._folder = TEMPLATES
        super().run(args, opts)
        if opts.list:
            for path in sorted(TEMPLATES.glob("*.tmpl")):
                sys.stdout.write(f"  {path.stem}\n")
