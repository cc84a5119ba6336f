"""The probability that a copy is stale, by hand and in a simulation."""

from __future__ import annotations

from email.utils import formatdate
from math import exp

import pytest

from rdfcrawl.analysis.measures.uri_facts import (
    LastmodClaim,
    UriFacts,
    UriFetch,
    UriListing,
)
from rdfcrawl.analysis.refresh.optimal import worth_of
from rdfcrawl.analysis.refresh.policy import DAY_MS
from rdfcrawl.analysis.refresh.posterior import (
    RATES,
    ChangeSignal,
    SiteModel,
    fetch_worth,
    learn,
    stale_probability,
)
from rdfcrawl.analysis.refresh.trust import UNDATED, LastmodTrust, SiteTrust
from tests.support.changing_pages import ChangingSite

N_DAILY = 12  # of `RATES`
GOOD = LastmodTrust(0.9, 0.9, detection=0.8, false_rate=0.1 / DAY_MS)


def page(
    contents: str, *claims: int, modified_day: float | None = None, changefreq: str = ""
) -> UriFacts:
    """Return a page fetched daily with these contents, and the days of its claims."""
    modified = (
        ""
        if modified_day is None
        else formatdate(modified_day * DAY_MS / 1000, usegmt=True)
    )
    dates = [LastmodClaim(read_ms=0, lastmod_ms=-1)]
    dates += [LastmodClaim(read_ms=x * DAY_MS, lastmod_ms=x * DAY_MS) for x in claims]
    return UriFacts(
        domain="a.example",
        url="u",
        dated_by="map.xml",
        claims=tuple(dates) if claims else (),
        listings=(UriListing(sitemap="s", first_ms=0, changefreq=changefreq),),
        fetches=tuple(
            UriFetch(started_ms=n * DAY_MS, content_hash=x, last_modified=modified)
            for n, x in enumerate(contents)
        ),
    )


def of_rates(*numbers: int, trust: LastmodTrust = UNDATED) -> SiteModel:
    """Return a site whose pages have some of the rates, each the same share."""
    prior = [float(n in numbers) / len(numbers) for n in range(len(RATES))]
    return SiteModel(SiteTrust(trust, {}), prior)


def test_known_rate_and_noisy_signals_by_hand() -> None:
    """If all pages change daily, then a copy of two days is as stale as by the formula.

    Silence of a sitemap that claims 0.8 of the changes makes it fresher, and a claim
    staler; a fetch is worth no more than a day of freshness.
    """
    daily, days = of_rates(N_DAILY), 3 * DAY_MS
    assert stale_probability(page("AA"), daily, days) == pytest.approx(1 - exp(-2))
    assert fetch_worth(page("AA"), daily, days) == pytest.approx(
        worth_of(1 / DAY_MS, 2 * DAY_MS)
    )
    led = of_rates(N_DAILY, trust=GOOD)
    silent, claimed = (page("AA", 1), page("AA", 1, 2))
    assert stale_probability(silent, led, days) == pytest.approx(1 - exp(-0.4))
    found = stale_probability(claimed, led, days)
    assert found == pytest.approx(1 - exp(-0.4) / 9)
    worths = [fetch_worth(x, led, days) for x in (silent, claimed)]
    assert 0 < worths[0] < worths[1] < DAY_MS
    feed = [ChangeSignal(2 * DAY_MS, "feed"), ChangeSignal(2 * DAY_MS)]
    assert stale_probability(silent, led, days, feed) == pytest.approx(
        1 - exp(-0.4) / 81
    )
    past = [ChangeSignal(0), ChangeSignal(9 * DAY_MS)]
    assert stale_probability(claimed, led, days, past) == pytest.approx(1 - exp(-0.4))


def test_history_decides_between_rates() -> None:
    """If pages change daily or hardly ever, then what was seen says which it is.

    `Last-Modified`, `changefreq` and the silence of a sitemap count, too.
    """
    model, now_ms = of_rates(0, N_DAILY), 5 * DAY_MS

    def daily_share(facts: UriFacts, site: SiteModel = model) -> float:
        rates = dict(site.rates(facts, now_ms))
        assert sum(rates.values()) == pytest.approx(1, abs=1e-3)
        return rates.get(RATES[N_DAILY], 0.0)

    assert daily_share(page("A")) == 0.5
    assert daily_share(page("AB")) > 0.99
    assert daily_share(page("AAA")) == pytest.approx(1 / (1 + exp(2)), abs=1e-3)
    early = daily_share(page("AB", modified_day=0.001))
    assert early < daily_share(page("AB", modified_day=0.9))
    assert daily_share(page("A", changefreq="yearly")) < 0.1
    led = of_rates(0, N_DAILY, trust=GOOD)
    assert daily_share(page("A", 0), led) == pytest.approx(1 / (1 + exp(4)), abs=1e-3)


def test_new_page_begins_as_the_pages_of_its_site() -> None:
    """If a site has pages that change and others that do not, a new page is between.

    The probabilities of copies that are fetched at once are right on average.
    """
    site = ChangingSite([0.5] * 30 + [0.0] * 70, seed=1)
    for day in range(8):
        site.pass_day()
        if day % 2:
            site.fetch(page.url for page in site.pages)
    model = learn(site.known(), site.day * DAY_MS)
    new = page("A")
    assert stale_probability(new, model, 5 * DAY_MS) == pytest.approx(0.29, abs=0.05)
    site.pass_day()
    found = [stale_probability(x, model, site.day * DAY_MS) for x in site.known()]
    assert sum(found) == pytest.approx(30 * (1 - exp(-0.5)), abs=2)
