"""The summary of many domains that accompanies figures 3 to 5."""

from __future__ import annotations

import pytest

from rdfcrawl.analysis.measures.coverage import (
    CoverageSummary,
    DomainCoverage,
    StateSizes,
)


def summary(*domains: tuple[int, int, int, int]) -> CoverageSummary:
    """Return the summary of domains of ten unique URLs each, and ten indexed.

    Of each domain: URLs seen, unique ones, those listed, and indexed ones listed.
    """
    found = CoverageSummary()
    for seen, unique, listed, indexed in domains:
        both = StateSizes(seen=seen, unique=unique, indexed=unique)
        part = StateSizes(unique=listed, indexed=indexed)
        found.add(DomainCoverage("d.example", both=both, listed=part))
    return found


def test_shares_by_hand() -> None:
    """If domains are counted by hand, then the shares are the same."""
    found = summary((10, 10, 10, 10), (10, 10, 6, 7), (20, 10, 5, 6), (9, 0, 0, 0))
    assert found.half_share.value == 2 / 3
    assert found.most_share.value == 1 / 3
    assert found.above_share.value == 2 / 3


def test_correlation_of_size_and_coverage() -> None:
    """If coverage falls by the same for each tenfold size, then r is -1."""
    found = summary((10, 10, 9, 0), (100, 10, 6, 0), (1000, 10, 3, 0))
    assert found.size_correlation == pytest.approx(-1)


@pytest.mark.parametrize("sizes", [(), (10,), (10, 10)])
def test_correlation_of_too_few_is_undefined(sizes: tuple[int, ...]) -> None:
    """If there are too few domains or all are equal, then r has no value."""
    found = summary(*((size, 10, 5, 5) for size in sizes))
    assert found.size_correlation is None


def test_no_domain_has_no_shares() -> None:
    """If there are no domains, then no share has a value."""
    found = summary()
    assert found.half_share.value is None
    assert found.above_share.value is None
