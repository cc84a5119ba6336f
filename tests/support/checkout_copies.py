"""A copy of the checkout to build packages from, and documents for every reader."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, Final

from tests.support.command_forks import ROOT
from tests.support.long_statements import WRITERS

if TYPE_CHECKING:
    from pathlib import Path

VERSION: Final = "7.7.7"  # no checkout has it: shows which code a crawl ran
_NEEDED: Final = ("setup.py", "pyproject.toml", "scrapy.cfg", "README.md", "LICENSE")
RULES: Final = """
prefixes:
  ex: http://e.example/
rules:
  scraped:
    match: "127.*/scraped.html"
    subject: "{url}#it"
    properties:
      ex:name: h1.scraped
"""


def copy_checkout(folder: Path) -> None:
    """Copy the sources of a package, with another version."""
    pycache = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "rdfcrawl", folder / "rdfcrawl", ignore=pycache)
    for name in _NEEDED:
        shutil.copy(ROOT / name, folder)
    line = rf'__version__ = "{VERSION}"'
    replace(
        folder / "rdfcrawl" / "core" / "__init__.py", r'(?m)^__version__ = ".*"$', line
    )


def replace(path: Path, pattern: str, text: str) -> None:
    """Replace the one place of a file that matches."""
    changed, n = re.subn(pattern, text, path.read_text())
    assert n == 1
    path.write_text(changed)


def package_files(checkout: Path) -> set[str]:
    """Return the files of the package in a checkout."""
    return {
        str(path.relative_to(checkout))
        for path in (checkout / "rdfcrawl").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def documents() -> dict[str, tuple[str, bytes]]:
    """Return a document for each reader, by path: media type and body.

    Each has statements only if its reader works. For the last one, see `RULES`.
    """
    found = {
        f"/one.{name}": (media_type, write([("http://e.example/s", "text")] * 3))
        for name, (media_type, write) in WRITERS.items()
    }
    context = b'{"@context": "https://schema.org", "@type": "Thing", "name": "a"}'
    found["/context.jsonld"] = "application/ld+json", context
    found["/scraped.html"] = "text/html", b'<h1 class="scraped">a</h1>'
    return found
