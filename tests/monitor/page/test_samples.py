"""The last minutes of a crawl: bounded, and never below zero."""

from __future__ import annotations

from rdfcrawl.monitor.page.samples import (
    NO_RATES,
    WINDOW_SECS,
    CounterRates,
    FigureSample,
    RecentSamples,
    series_of,
)


def sample(at_secs: float, n: int) -> FigureSample:
    """Return the figures of a moment: one number for all."""
    return FigureSample(
        at_secs=at_secs,
        n_documents=n,
        n_statements=2 * n,
        n_bytes=3 * n,
        n_left=n,
        n_hosts_at_work=n,
    )


def test_samples_of_a_quarter_of_an_hour_are_kept() -> None:
    """If a crawl is watched for an hour, then a few hundred samples are there."""
    samples = RecentSamples()
    for second in range(3600):
        rates = samples.add(sample(second, 10 * second))
    assert (rates.documents, rates.statements, rates.n_bytes) == (10, 20, 30)
    series = samples.series()
    assert 448 <= len(series.at_secs) <= 451
    assert series.at_secs[-1] - series.at_secs[0] <= WINDOW_SECS
    assert set(series.documents_per_sec) == {10}
    assert len(series.rows()) == 15


def test_first_sample_has_no_rate() -> None:
    """If a crawl is seen for the first time, then its past is no rate."""
    assert RecentSamples().add(sample(5, 10**9)) == NO_RATES


def test_figures_that_go_back_are_no_rate() -> None:
    """If workers die and their last figures with them, then rates are zero."""
    samples = RecentSamples()
    samples.add(sample(0, 1000))
    assert samples.add(sample(3, 900)) == NO_RATES


def test_clock_that_is_set_back_restarts_rates() -> None:
    """If time goes back, then earlier samples are forgotten."""
    samples = RecentSamples()
    for second in range(10):
        samples.add(sample(1000 + second, second))
    samples.add(sample(10, 50))
    assert samples.series().at_secs == [10]


def test_history_has_zeros_where_nothing_was_fetched() -> None:
    """If a crawl paused, then its line goes down to zero and not across."""
    series = series_of([(10, 5, 6, 7, 8), (13, 1, 2, 3, 4)], 120)
    assert series.at_secs == [1200, 1320, 1440, 1560]
    assert series.n_documents == (5, 0, 0, 1)
    assert series.n_faulty == (8, 0, 0, 4)
    assert series.rows()[0] == (1560, 1, 2, 3, 4)


def test_long_history_is_a_short_table() -> None:
    """If there are five hundred points, then the table has sums of them."""
    series = series_of([(n, 1, 1, 1, 1) for n in range(500)], 60)
    rows = series.rows()
    assert len(rows) <= 60
    assert sum(row[1] for row in rows) == 500
    assert rows[-1][0] == 0


def test_logs_show_the_time_before_the_page() -> None:
    """If a page is served late, then its lines begin with data of the logs."""
    samples = RecentSamples()
    for second in range(61):
        samples.add(sample(1002 + second, 10 * second))
    logged = series_of(
        [(198, 5, 10, 15, 0), (199, 50, 50, 50, 0), (200, 9, 9, 9, 0)], 5
    )
    series = samples.series().after(logged)
    # The interval of the first sample is left to the samples.
    assert series.at_secs[:4] == [995, 1000, 1002, 1004]
    assert series.documents_per_sec[:4] == [1, 10, None, 10]
    assert series.bytes_per_sec[:2] == [3, 10]
    assert series.n_left[:3] == [None, None, 0]
    assert [row[0] for row in series.rows()] == [1062, 1002]
    assert samples.series().after(series_of([], 5)) == samples.series()
    alone = RecentSamples().series().after(logged)
    assert alone.documents_per_sec == [1, 10, 1.8]


def test_workers_have_rates_of_their_own() -> None:
    """If workers come, go, and restart, then each has its own rate, at least 0."""
    rates = CounterRates()
    assert rates.add(0, {"a": 5}) == {}
    assert rates.add(2, {"a": 15, "b": 7}) == {"a": 5}
    assert rates.add(4, {"a": 1, "b": 8}) == {"a": 0, "b": 0.5}
    assert rates.add(60, {"b": 100}) == {}
    assert rates.add(62, {"b": 200}) == {"b": 50}
    assert rates.add(1, {"b": 300}) == {}
    rates = CounterRates()
    assert rates.add(3, {"b": 300}) == {}
