"""The public RDF test suites of the W3C, run by a judge that is not ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.earl import assert_reported

if TYPE_CHECKING:
    from tests.support.conformance_suites import Suites


@pytest.mark.in_turn(2, rooms=("rdf",))
@pytest.mark.parametrize(
    ("suite", "least", "total"), [("rdf11", 992, 992), ("rdf12", 250, 250)]
)
def test_w3c_suite_reaches_its_floor(
    suites: Suites, suite: str, least: int, total: int
) -> None:
    """If the judge runs the suite, then each outcome is that of the report."""
    assert_reported(suites, suite, least=least, total=total)
