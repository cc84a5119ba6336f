"""The docs on reading show what the corpus and the suites show."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.earl import SUITES, reported

DOCS = Path(__file__).resolve().parents[2] / "docs" / "reference"
_find_suites = re.compile(
    r"^\| .* \| (\d+) \| (\d+) \| \[([\w-]+)\]\(earl/\3\.ttl\) \|$", re.MULTILINE
).findall


def test_passed_tests_are_counted_in_the_docs() -> None:
    """If a suite has a report, then the docs have its figures."""
    rows = _find_suites((DOCS / "extraction.md").read_text())
    shown = {name: (int(passed), int(total)) for passed, total, name in rows}
    outcomes = {name: reported(name) for name in SUITES}
    assert shown == {
        name: (sum(each.values()), len(each)) for name, each in outcomes.items()
    }
