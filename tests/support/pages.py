"""The pages of the documentation, and their markup."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = tuple(
    sorted(
        (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")),
        key=lambda page: (page.parent != ROOT or page.stem != "README", page),
    )
)
FENCES = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def page_path(name: str) -> Path:
    """Return the path of a page below `docs/`, by its file name."""
    (path,) = (ROOT / "docs").rglob(name)
    return path


def read_page(name: str) -> str:
    """Return the text of a page below `docs/`, by its file name."""
    return page_path(name).read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    """Return the fenced blocks of a language."""
    return [found[2] for found in FENCES.finditer(text) if found[1] == language]


def commands_in(text: str) -> list[list[str]]:
    """Return the commands of rdfcrawl that a page shows to be typed, as words."""
    lines = "".join(blocks(text, "sh")).replace("\\\n", " ").splitlines()
    typed = (shlex.split(line, comments=True) for line in lines)
    names = {"rdfcrawl", "scrapy"}
    return [words for words in typed if words and Path(words[0]).name in names]
