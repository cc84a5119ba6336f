"""Requests against a delay, as a picture."""

from __future__ import annotations

import pytest

from rdfcrawl.monitor.page.timeline import MAX_DRAWN, draw_timeline


def test_gaps_stand_against_the_delay() -> None:
    """If a request came sooner than the delay allows, then it is marked."""
    line = draw_timeline([(3500, 20, True), (1000, 100, False), (2000, 9, False)], 1200)
    assert line is not None
    assert line.delay_y is not None
    assert next(mark.gap_y for mark in line.marks) is None
    early, late = line.marks[1:]
    assert early.is_early
    assert early.gap_y is not None
    assert early.gap_y > line.delay_y  # further down
    assert late.gap_y is not None
    assert not late.is_early
    assert late.gap_y < line.delay_y
    assert [mark.is_bad for mark in line.marks] == [False, False, True]
    assert line.marks[0].x == 0
    assert "The latest 3 requests took 20 ms each (median)" in line.text
    assert "delay: 1 of 2 gaps" in line.text
    assert "1.0 s after the previous one" in early.title


@pytest.mark.parametrize("delay_ms", [None, 0, 50])
def test_delays_that_were_kept(delay_ms: int | None) -> None:
    """If no gap was shorter than the delay, or there is none, then no mark says so."""
    requests = [(1000 * n, 3, False) for n in range(2 * MAX_DRAWN)]
    line = draw_timeline(requests, delay_ms)
    assert line is not None
    assert len(line.marks) == MAX_DRAWN
    assert line.first_ms == 1000 * MAX_DRAWN
    assert not any(mark.is_early for mark in line.marks)
    assert (line.delay_y is None) is not bool(delay_ms)
    assert ("no gap was shorter" in line.text) is bool(delay_ms)


def test_few_requests_are_drawn() -> None:
    """If there is one request, or several together, then the picture has its bounds."""
    assert draw_timeline([], 1000) is None
    for requests in ([(5, 0, False)], [(5, 0, False)] * 3, [(5, 10**9, True)]):
        line = draw_timeline(requests, 1000)
        assert line is not None
        assert all(0 <= mark.x + mark.width <= 965 for mark in line.marks)
        assert all(mark.gap_y is None or mark.gap_y <= 150 for mark in line.marks)


def test_long_pause_flattens_nothing() -> None:
    """If one pause was very long, then the delay is still seen."""
    line = draw_timeline([(0, 1, False), (1000, 1, False), (10**8, 1, False)], 900)
    assert line is not None
    assert line.delay_y is not None
    assert line.delay_y < 149
