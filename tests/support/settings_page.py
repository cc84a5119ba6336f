"""Writes the tables of docs/reference/settings.md from the declarations of settings.

`python -m tests.support.settings_page` does it. The page has the order of the rows: a
new setting comes behind the one that is declared before it, and may be moved. A default
that is not code, but a description, is kept.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scrapy.settings import default_settings

from rdfcrawl import settings as our_settings
from rdfcrawl.core.options.table import OptionsTable, settings_of
from tests.support.pages import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator


PAGE: Final = ROOT / "docs" / "reference" / "settings.md"
# Rows that are written by hand: scrapy-redis reads these settings.
BY_HAND: Final = frozenset(
    {
        *("REDIS_URL", "REDIS_HOST", "REDIS_PORT", "REDIS_DB", "REDIS_ENCODING"),
        "REDIS_PARAMS",
    }
)
_VALUES: Final = ("rdfcrawl/core/options/defaults.py", "rdfcrawl/settings.py")
_INTERNAL: Final = frozenset({"CRAWL_RUN"})  # from `scrapy workers` to its workers
_UNITS: Final = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))
_TIMES: Final = (("d", 86_400), ("h", 3600))
_PARENT: Final = re.compile(r"class \w+\(OptionsTable\)").search
_row_of = re.compile(r"\| `([A-Z_]+)` \|").match


@dataclass(frozen=True)
class DeclaredSetting:
    """Declaration of a setting in the code: default, range and description."""

    name: str
    default: object
    allowed: str
    text: str

    def row(self, header: list[str], before: list[str]) -> str:
        """Return the row of a table; `before` are the cells that the page has."""
        default = _shown(self.name, self.default)
        cells = {
            "setting": f"`{self.name}`",
            "default": default and f"`{default}`",
            "range": self.allowed,
        }
        if before and not before[1].startswith("`"):
            cells["default"] = before[1]
        row = "| " + " | ".join(cells.get(x, self.text) for x in header) + " |"
        return row.replace("|  |", "| |")


def declared() -> dict[str, DeclaredSetting]:
    """Return all settings by name, in the order of their declarations."""
    found = {each.name: each for each in _iter_tables() if each.text}
    for name in _VALUES:
        for target, text in described_in(ast.parse((ROOT / name).read_text()).body):
            if text:
                default = getattr(our_settings, target)
                found[target] = DeclaredSetting(target, default, "", text)
    return found


def in_tables() -> set[str]:
    """Return the names of the settings that tables declare."""
    return {each.name for each in _iter_tables()}


def described_in(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Yield the names that code assigns to, each with the text below it."""
    for statement, below in zip(body, [*body[1:], None], strict=True):
        match statement:
            case ast.Assign([ast.Name(name)]) | ast.AnnAssign(ast.Name(name)):
                text = ""
                if isinstance(below, ast.Expr) and isinstance(
                    below.value, ast.Constant
                ):
                    text = " ".join(str(below.value.value).split())
                yield name, text


def drawn(page: str) -> str:
    """Return the page with the rows that the declarations have."""
    settings, lines = declared(), page.splitlines()
    names = {m[1] for line in lines if (m := _row_of(line))}
    order = list(settings)
    for name in order:  # new ones
        if name not in names:
            before = order[order.index(name) - 1]
            at = next(n for n, line in enumerate(lines) if f"| `{before}` |" in line)
            lines.insert(at + 1, f"| `{name}` | `` |")
    rows: list[str] = []
    header: list[str] = []
    for line in lines:
        cells = [cell.strip() for cell in line[1:-1].split("|")]
        if not line.startswith("|"):
            header = []
        header = header or (cells if line.startswith("| setting |") else [])
        name = m[1] if (m := _row_of(line)) else ""
        if not header or not name or name in BY_HAND:
            rows.append(line)
        elif name in settings:
            rows.append(settings[name].row(header, cells))
    return "\n".join(rows) + "\n"


@cache
def _iter_tables() -> tuple[DeclaredSetting, ...]:
    """Return the settings of all tables; Scrapy's and internal ones may lack a text."""
    found: dict[str, DeclaredSetting] = {}
    for path in sorted((ROOT / "rdfcrawl").rglob("*.py")):
        if not _PARENT(path.read_text(encoding="utf-8")):
            continue
        for each in _in_tables(path):
            if each.name in found:
                raise AssertionError(f"{path}: {each.name} is declared twice")
            if not (each.text or each.name in {*vars(default_settings), *_INTERNAL}):
                raise AssertionError(f"{path}: {each.name} has no text below it")
            found[each.name] = each
    return tuple(found.values())


def _in_tables(path: Path) -> Iterator[DeclaredSetting]:
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.ClassDef):
            continue
        table: Any = getattr(import_module(module), node.name)
        if not issubclass(table, OptionsTable) or table is OptionsTable:
            continue
        texts = dict(described_in(node.body))
        for field, setting in settings_of(table):
            default, allowed = setting.default, setting.allowed
            yield DeclaredSetting(setting.name, default, allowed, texts[field])


def _shown(name: str, value: Any) -> str:
    """Return a default as the page has it: sizes and long times with units."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    is_size = "BYTES" in name or name.endswith("MAXSIZE")
    is_time = name.endswith("_SECS")
    for unit, n in (*(_UNITS if is_size else ()), *(_TIMES if is_time else ())):
        if value >= n and value % n == 0 and (is_time or value >= 64 * 2**10):
            return f"{int(value // n)} {unit}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def main() -> None:
    """Write the tables."""
    PAGE.write_text(drawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
