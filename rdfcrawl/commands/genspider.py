"""`scrapy genspider`, with a template for a spider of RDF: `-t rdf`."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from scrapy.commands.genspider import Command as ScrapyGenspiderCommand

from rdfcrawl.launch.crawls import load_addons

TEMPLATES: Final = files("rdfcrawl.launch.templates.spiders")


class Command(ScrapyGenspiderCommand):
    """Write a spider from a template of Scrapy, of the project, or of ours."""

    _folder: Path | None = None

    @property
    def templates_dir(self) -> str:
        """Folder of the templates; ours if only it has the requested one."""
        return str(self._folder or super().templates_dir)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Write the spider, or show the templates."""
        if self.settings is not None:
            load_addons(self.settings)
        name = f"{opts.dump or opts.template}.tmpl"
        with ExitStack() as stack:
            template = TEMPLATES / name
            if not Path(self.templates_dir, name).exists() and template.is_file():
                # Scrapy reads a folder, and ours may be in an archive.
                self._folder = Path(stack.enter_context(TemporaryDirectory()))
                (self._folder / name).write_text(template.read_text())
            super().run(args, opts)
        if opts.list:
            for path in sorted(each.name for each in TEMPLATES.iterdir()):
                if path.endswith(".tmpl"):
                    sys.stdout.write(f"  {path.removesuffix('.tmpl')}\n")
