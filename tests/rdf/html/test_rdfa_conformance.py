"""The public RDFa test suite, run by a judge that is not ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.earl import assert_reported

if TYPE_CHECKING:
    from tests.support.conformance_suites import Suites


@pytest.mark.in_turn(2, rooms=("rdf",))
def test_rdfa_suite_is_passed(suites: Suites) -> None:
    """If the judge runs the suite, then each outcome is that of the report."""
    assert_reported(suites, "rdfa", least=905, total=905)


@pytest.mark.in_turn(2)
def test_rdfa_suite_is_passed_in_pages_served_as_html(suites: Suites) -> None:
    """If each page is served as HTML, then the suite of its hosts passes, too."""
    passed = suites.score(
        "rdfa_suite.py",
        suites.checkout("rdfa"),
        *("--versions", "rdfa1.1", "--hosts", "html4,html5,xhtml1,xhtml5"),
        *("--adapter", "tests.support.conformance_adapters:rdfa_as_html"),
    )
    assert passed == (697, 697)
