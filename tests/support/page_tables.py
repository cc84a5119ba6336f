"""The tables of the documentation."""

from __future__ import annotations

import re

from tests.support.pages import ROOT

code_in = re.compile(r"`([^`]+)`").findall


def section(text: str, heading: str) -> str:
    """Return the text after a heading, up to the next of its level."""
    return text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def rows(text: str, first: str) -> list[dict[str, str]]:
    """Return the rows of all tables whose first column is called `first`."""
    found: list[dict[str, str]] = []
    header: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip()[1:-1].split("|")]
        if not line.startswith("|"):
            header = []
        elif not header:
            header = cells
        elif header[0] == first and set(line) - set("|- "):
            found.append(dict(zip(header, cells, strict=True)))
    return found


def names(text: str, first: str) -> set[str]:
    """Return the code spans in the first columns of these tables."""
    return {name for row in rows(text, first) for name in code_in(row[first])}


def project_commands() -> list[str]:
    """Return the names of our commands."""
    paths = (ROOT / "rdfcrawl" / "commands").glob("[!_]*.py")
    return sorted(path.stem for path in paths)
