"""The docs on reading show what the corpus and the suites show."""

from __future__ import annotations

import re
from pathlib import Path

from tests.corpora.cases import FOLDER, load
from tests.support.earl import SUITES, reported

DOCS = Path(__file__).resolve().parents[2] / "docs" / "reference"
_find_suites = re.compile(
    r"^\| .* \| (\d+) \| (\d+) \| \[([\w-]+)\]\(earl/\3\.ttl\) \|$", re.MULTILINE
).findall


_find_rows = re.compile(r"^\| .* \| `(\w+)` \| (`\w+/.*`) \|$", re.MULTILINE).findall
_find_choices = re.compile(r"^\| `([\w-]+)` \|", re.MULTILINE).findall


def test_repairs_in_the_docs_are_cases() -> None:
    """If the docs name a case for a repair, then that case has the fault of the row."""
    cases = {case.name: case for case in load(FOLDER)}
    rows = _find_rows((DOCS / "repairs.md").read_text())
    named = [
        (fault, name) for fault, names in rows for name in names[1:-1].split("`, `")
    ]
    wrong = [row for row in named if row[0] not in cases[row[1]].faults]
    assert not wrong
    assert len(named) > len(rows) > 0


def test_choices_in_the_docs_are_those_of_cases() -> None:
    """If we differ from other readers on purpose, then the docs have the reason."""
    page = (DOCS / "repairs.md").read_text().partition("\n## Choices\n")[2]
    choices = {case.choice for case in load(FOLDER)} - {""}
    assert set(_find_choices(page)) == choices


def test_passed_tests_are_counted_in_the_docs() -> None:
    """If a suite has a report, then the docs have its figures."""
    rows = _find_suites((DOCS / "extraction.md").read_text())
    shown = {name: (int(passed), int(total)) for passed, total, name in rows}
    outcomes = {name: reported(name) for name in SUITES}
    assert shown == {
        name: (sum(each.values()), len(each)) for name, each in outcomes.items()
    }
