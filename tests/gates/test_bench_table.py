"""The table of `make bench` in the documentation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.bench.budgets import BUDGETS, line
from tests.bench.table import checksum, read_table, table_text, write_table

if TYPE_CHECKING:
    from pathlib import Path

_ORIGIN = re.compile(
    r"Commit [0-9a-f]{12}(?: with changes)?, \d{4}-\d\d-\d\d: \d+ cores of .+,"
    r" \w+ [\d.]+, Python [\d.]+, Scrapy [\d.]+, pyoxigraph [\d.]+; .+\."
)


def test_the_page_has_the_table_as_it_was_measured() -> None:
    """If a figure of the table is changed by hand, then its checksum shows it."""
    kept, text = read_table()
    assert kept == checksum(text), "run make bench: it writes the table"


def test_the_table_has_each_line_with_its_budget() -> None:
    """If a line or a budget is changed, then the table is measured again."""
    _, text = read_table()
    origin, _, *rows = text.partition("|---|---|---|---|---|\n")
    assert _ORIGIN.match(origin)
    cells = [row.split(" | ") for row in rows[0].splitlines()]
    assert [row[0].removeprefix("| ") for row in cells] == [*BUDGETS]
    for row, name in zip(cells, BUDGETS, strict=True):
        budget = row[-1].removesuffix(" |").removesuffix("|").rstrip()
        assert budget.removesuffix(": **missed**") == line(name, 1.0).budget, name


def test_a_table_is_written_between_its_marks(tmp_path: Path) -> None:
    """If a table is written, then the rest of the page stays as it is."""
    page = tmp_path / "page.md"
    marks = "<!-- the table of make bench: none -->\n\n\n\n<!-- end of the table -->"
    page.write_text(f"before\n\n{marks}\n\nafter\n")
    text = table_text([line("one host", 1.25, "0.2 ms", "0.16 ms")])
    write_table(text, page)
    assert read_table(page) == (checksum(text), text)
    assert page.read_text().startswith("before\n\n<!--")
    assert page.read_text().endswith("-->\n\nafter\n")
    row = "| one host | 0.2 ms | 0.16 ms | 1.25 x aiohttp loop |  |"
    assert row in page.read_text().splitlines()
