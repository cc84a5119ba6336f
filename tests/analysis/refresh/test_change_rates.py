"""Estimates of how often pages change."""

from __future__ import annotations

from math import inf, log

import pytest

from rdfcrawl.analysis.measures.uri_facts import UriFacts, UriFetch, UriListing
from rdfcrawl.analysis.refresh.optimal import (
    UNSTATED_RATE,
    estimate_rate,
    rate_of,
    stated_rate,
)
from rdfcrawl.analysis.refresh.policy import DAY_MS, HOUR_MS
from tests.support.changing_pages import ChangingSite


def page(contents: str, *changefreqs: str) -> UriFacts:
    """Return a page fetched daily, with these contents, and what sitemaps state."""
    return UriFacts(
        domain="a.example",
        url="u",
        fetches=tuple(
            UriFetch(started_ms=n * DAY_MS, content_hash=x)
            for n, x in enumerate(contents)
        ),
        listings=tuple(
            UriListing(sitemap=str(n), first_ms=0, changefreq=x)
            for n, x in enumerate(changefreqs)
        ),
    )


def test_estimator_by_hand() -> None:
    """If 6 of 10 fetches saw a change, then the rate is -ln(4.5 / 10.5) for each."""
    assert estimate_rate(10, 6, 2.0) == pytest.approx(-log(4.5 / 10.5) / 2)
    assert estimate_rate(10, 0, 1.0) == 0
    assert estimate_rate(0, 0, 1.0) == 0
    assert estimate_rate(10, 10, 1.0) == pytest.approx(log(21))


@pytest.mark.parametrize("given", [(5, 6, 1.0), (5, -1, 1.0), (5, 1, 0.0)])
def test_impossible_counts_are_refused(given: tuple[int, int, float]) -> None:
    """If more changes than fetches are given, or no interval, then that is refused."""
    with pytest.raises(ValueError, match=r"changes? in"):
        estimate_rate(*given)


def test_estimate_comes_near_the_rate() -> None:
    """If pages change 0.2 times a day and are fetched daily, then that is found."""
    site = ChangingSite([0.2] * 200)
    site.run(_All(), n_epochs=40, budget=200)
    rates = [rate_of(each.facts()) * DAY_MS for each in site.pages]
    assert sum(rates) / len(rates) == pytest.approx(0.2, abs=0.02)


class _All:
    """Policy that fetches every page."""

    def choose(self, open_pages, epoch):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        return [each.url for each in open_pages()][: epoch.n_fetches]


@pytest.mark.parametrize(
    ("changefreqs", "rate"),
    [
        ((), UNSTATED_RATE),
        (("daily",), 1 / DAY_MS),
        (("yearly", "", "weekly"), 1 / (7 * DAY_MS)),
        (("never",), 0.0),
        (("always",), inf),
        (("fortnightly",), UNSTATED_RATE),
    ],
)
def test_changefreq_is_the_prior(changefreqs: tuple[str, ...], rate: float) -> None:
    """If nothing was seen of a page, then `changefreq` says how often it changes."""
    assert stated_rate(page("A", *changefreqs)) == rate
    assert rate_of(page("A", *changefreqs)) == min(rate, 1 / HOUR_MS)


def test_unchanged_page_keeps_a_rate_that_falls() -> None:
    """If a page never changes, then its rate falls, and stays above 0."""
    rates = [rate_of(page("A" * n, "weekly")) for n in (2, 5, 50)]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] > 0


def test_observation_outweighs_what_is_stated() -> None:
    """If a page changes each day, then it does not matter that it never should."""
    assert rate_of(page("ABCDEFGHIJ", "never")) > 1 / DAY_MS
    assert rate_of(page("A" * 100, "always")) < 0.05 / DAY_MS
