"""The public RDFa test suite, run by a judge that is not ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.conformance_suites import Suites

HOSTS = "html4,html5,html5-invalid,svg,xhtml1,xhtml5,xhtml5-invalid,xml"


@pytest.mark.parametrize(
    ("hosts", "adapter", "least", "total"),
    [
        (HOSTS, "rdfa", 905, 905),
        ("html4,html5,xhtml1,xhtml5", "rdfa_as_html", 697, 697),
    ],
    ids=["all", "served-as-html"],
)
def test_rdfa_suite_reaches_its_floor(
    suites: Suites, hosts: str, adapter: str, least: int, total: int
) -> None:
    """If the judge runs the suite through `extract_rdfa`, then the floor is reached."""
    n_passed, n_cases = suites.score(
        "rdfa_suite.py",
        suites.checkout("rdfa"),
        *("--versions", "rdfa1.1", "--hosts", hosts),
        *("--adapter", f"tests.support.conformance_adapters:{adapter}"),
    )
    assert n_cases == total
    assert n_passed >= least
