"""Whose clock is wrong, by what hosts and Redis say."""

from __future__ import annotations

import asyncio
import time
from email.utils import formatdate

import pytest

from rdfcrawl.downloader.local_failures import ClockCheck, fault_of_clock

DAY = 86400.0


@pytest.mark.parametrize(
    ("of_hosts", "of_redis", "is_wrong"),
    [
        pytest.param([], None, False, id="no source"),
        pytest.param([], 0.5, False, id="Redis may be here"),
        pytest.param([], DAY, True, id="Redis alone"),
        pytest.param([DAY, DAY], 0.0, False, id="two hosts"),
        pytest.param([DAY] * 3, 0.0, True, id="three hosts"),
        pytest.param([-DAY] * 3 + [0.0] * 2, None, True, id="most hosts"),
        pytest.param([DAY] * 3 + [0.0] * 3, None, False, id="as many are right"),
        pytest.param([DAY, -DAY, 9 * DAY], None, False, id="they do not agree"),
        pytest.param([0.0], DAY, False, id="Redis is wrong"),
        pytest.param([DAY], DAY, True, id="Redis and a host"),
        pytest.param([3000.0] * 9, None, False, id="not by much"),
    ],
)
def test_clock_is_wrong_if_most_say_so(
    of_hosts: list[float], of_redis: float | None, is_wrong: bool
) -> None:
    """If most sources agree that a clock is wrong, it is."""
    assert bool(fault_of_clock(of_hosts, of_redis)) == is_wrong


async def _no_redis() -> float | None:
    return None


@pytest.mark.parametrize(
    ("age", "hosts", "is_wrong"),
    [
        ("", ["a.example", "b.example", "c.example"], True),
        ("7200", ["a.example", "b.example", "c.example"], False),  # from a cache
        ("x", ["a.example", "b.example", "c.example"], True),
        ("", ["a.example", "x.a.example", "b.example"], False),
    ],
)
def test_domains_are_asked_for_their_time(
    age: str, hosts: list[str], is_wrong: bool
) -> None:
    """If responses of three domains were sent long ago by our clock, it is wrong."""
    clock = ClockCheck(_no_redis)
    for host in hosts:
        headers = {"Date": formatdate(time.time() - 7200, usegmt=True), "Age": age}
        clock.note(f"http://{host}/d", headers)
        clock.note(f"http://{host}/d", {"Date": "yesterday"})
        clock.note(f"http://{host}/d", {})
    assert bool(asyncio.run(clock.fault())) == is_wrong
