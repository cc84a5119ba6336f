"""The public RDF test suites of the W3C, run by a judge that is not ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.conformance_suites import Suites


@pytest.mark.parametrize(
    ("suite", "least", "total"), [("rdf11", 990, 992), ("rdf12", 248, 250)]
)
def test_w3c_suite_reaches_its_floor(
    suites: Suites, suite: str, least: int, total: int
) -> None:
    """If the judge runs the suite through `parse`, then the floor is reached."""
    n_passed, n_cases = suites.score(
        "rdf_tests.py",
        suites.checkout("rdf-tests"),
        *("--suite", suite, "--adapter", "tests.support.conformance_adapters:n_quads"),
    )
    assert n_cases == total
    assert n_passed >= least
