"""When a crawl may end: the estimate is a range, and says why there is none."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.monitor.page.estimate import (
    LEAST_SECS,
    EndEstimate,
    LongestHost,
    estimate_end,
)
from rdfcrawl.monitor.page.samples import FigureSample
from tests.support.examples import examples

RATES = st.floats(0.01, 10_000)
LENGTHS = st.integers(1, 10**9)


def sample(at_secs: float, n_documents: float, n_left: float) -> FigureSample:
    """Return the figures of a moment."""
    return FigureSample(
        at_secs=at_secs,
        n_documents=int(n_documents),
        n_statements=0,
        n_bytes=0,
        n_left=int(n_left),
        n_hosts_at_work=0,
    )


def steady(
    n_left: int, rate: float, found: float, *, secs: int = 900
) -> list[FigureSample]:
    """Return the samples of a crawl of one speed, with so many URIs at the end."""
    return [
        sample(t, rate * (t + secs), n_left - (rate - found) * t)
        for t in range(-secs, 1, 10)
    ]


SAMPLES = st.lists(
    st.tuples(st.floats(1, 60), st.integers(0, 10**6), st.integers(0, 10**9)),
    max_size=40,
)
HOSTS = st.none() | st.builds(
    LongestHost,
    name=st.text(max_size=300),
    n_queued=st.integers(0, 10**7),
    delay_secs=st.floats(0, 3600),
)


@settings(max_examples=examples(300))
@given(SAMPLES, HOSTS)
def test_any_samples_give_a_range(
    steps: list[tuple[float, int, int]], longest: LongestHost | None
) -> None:
    """If a crawl develops in any way, then the bounds are in order, or missing."""
    at_secs, n_documents, samples = 0.0, 0, []
    for secs, n, n_left in steps:
        at_secs, n_documents = at_secs + secs, n_documents + n
        samples.append(sample(at_secs, n_documents, n_left))
    found = estimate_end(samples, longest)
    assert found.why
    if found.most_secs is not None:
        assert found.least_secs is not None
        assert 0 <= found.least_secs <= found.most_secs
    elif found.least_secs is not None:
        assert found.least_secs > 0
    if longest is not None and found.least_secs:
        assert found.least_secs >= longest.secs


@settings(max_examples=examples(300))
@given(LENGTHS, RATES)
def test_steady_crawl_without_new_links_ends_when_it_says(
    n_left: int, rate: float
) -> None:
    """If nothing new is found, then the end is where the rate leads."""
    samples = steady(n_left, rate, 0.0)
    true_secs = n_left / rate
    found = estimate_end(samples)
    if found.most_secs is None:  # so slow that integers hide it, or too long
        assert rate < 0.01 or true_secs > 9 * 365 * 86_400
        return
    assert found.least_secs is not None
    least, most = found.least_secs, found.most_secs
    error = 2 / (rate * 440)  # a URI or two of those in half of the samples
    assert least * (1 - error) <= true_secs
    assert true_secs <= most * (1 + error)


@settings(max_examples=examples(300))
@given(st.integers(1000, 10**7), st.floats(1, 10_000), st.floats(0.1, 0.9))
def test_end_of_a_crawl_that_finds_less_is_in_the_range(
    n_left: int, rate: float, share: float
) -> None:
    """If links add a share of the processed URIs, then the end is within the range."""
    found = estimate_end(steady(n_left, rate, rate * share))
    assert found.least_secs is not None
    assert found.most_secs is not None
    true_secs = n_left / (rate * (1 - share))
    assert found.least_secs <= true_secs
    assert found.most_secs >= true_secs * 0.9 or rate * (1 - share) < 1


@settings(max_examples=examples(300))
@given(LENGTHS, st.floats(1, 1000), st.floats(1, 3))
def test_growing_queue_has_no_latest_end(
    n_left: int, rate: float, factor: float
) -> None:
    """If as many URIs are found as processed, then there is no latest end."""
    samples = steady(n_left + 10**7, rate, rate * factor)
    found = estimate_end(samples)
    assert found.most_secs is None
    assert found.least_secs is not None
    assert "does not get shorter" in found.why


def test_longest_host_bounds_the_end() -> None:
    """If one host has a long queue, then its delay decides."""
    samples = steady(1000, 100.0, 0.0)
    slow = LongestHost(name="slow.example", n_queued=600, delay_secs=10.0)
    found = estimate_end(samples, slow)
    assert found.least_secs == found.most_secs == 6000
    assert found.why == "slow.example has 600 URIs queued, with one request in 10 s"
    quick = LongestHost(name="quick.example", n_queued=2, delay_secs=1.0)
    assert estimate_end(samples, quick) == estimate_end(samples)


def test_end_of_the_crawl_is_shown() -> None:
    """If nothing is left, then the end has come, however little is known."""
    ended = EndEstimate(least_secs=0.0, most_secs=0.0, why="nothing is left")
    assert estimate_end([sample(0, 5, 0)]) == ended
    assert estimate_end(steady(0, 0.0, 0.0)) == ended


def test_missing_estimate_is_explained() -> None:
    """If a crawl was observed briefly, or stands still, then there is no estimate."""
    for samples in ([], [sample(0, 5, 9)], [sample(0, 5, 9), sample(19, 50, 5)]):
        found = estimate_end(samples)
        assert (found.least_secs, found.most_secs) == (None, None)
        assert found.why == "observation of the crawl has just begun"
    found = estimate_end([sample(0, 5, 9), sample(LEAST_SECS, 5, 9)])
    assert (found.least_secs, found.most_secs) == (None, None)
    assert found.why == "nothing was processed in the last minutes"
