"""Writes the tables of docs/reference/spiders.md from the declarations of arguments.

`python -m tests.support.arguments_page` does it. The page has the order of the rows and
the defaults; a new argument comes behind the one that is declared before it. Move its
row to the table of its spider, if it has one of its own.
"""

from __future__ import annotations

import ast
import inspect
from typing import Final

from rdfcrawl.frontier.arguments import crawl
from tests.support.pages import ROOT
from tests.support.settings_page import described_in

PAGE: Final = ROOT / "docs" / "reference" / "spiders.md"


def declared() -> dict[str, str]:
    """Return the descriptions of all arguments, in the order of their declarations."""
    (definition,) = ast.parse(inspect.getsource(crawl.CrawlArguments)).body
    if not isinstance(definition, ast.ClassDef):
        raise TypeError(definition)
    texts = dict(described_in(definition.body))
    return {name: texts[name] for name in crawl.ARGUMENTS}


def drawn(page: str) -> str:
    """Return the page with the rows that the declarations have."""
    texts, rows, names = declared(), [], [*crawl.ARGUMENTS]
    known = {name for name in names if f"\n| `{name}` | " in page}
    has_arguments = False
    for line in page.splitlines():
        has_arguments = line.startswith("|") and (
            has_arguments or line.startswith("| argument |")
        )
        cells = [cell.strip() for cell in line[1:-1].split("|")]
        name = cells[0].strip("`")
        if not has_arguments or name in {"argument", "---"}:
            rows.append(line)
        elif name in texts:
            rows.append(_row(name, cells[1], texts[name]))
            for new in names[names.index(name) + 1 :]:
                if new in known:
                    break
                rows.append(_row(new, _default(new), texts[new]))
    return "\n".join(rows) + "\n"


def _default(name: str) -> str:
    """Return the text of a simple default; `none` for no value and for objects."""
    value = getattr(crawl.CrawlArguments(), name)
    if isinstance(value, int):  # also of switches
        return f"`{int(value)}`"
    return f"`{value}`" if isinstance(value, str) and value else "none"


def _row(name: str, default: str, text: str) -> str:
    return f"| `{name}` | {default} | {text} |".replace("|  |", "| |")


def main() -> None:
    """Write the tables."""
    PAGE.write_text(drawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
