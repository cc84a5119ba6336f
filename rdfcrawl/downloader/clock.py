"""Compare the clock of this machine with those of hosts and Redis.

If the local clock is wrong, valid certificates look expired or not yet valid. The
`Date` headers of hosts show whether it is.

Source: RFC 9110 6.6.1 (Date); RFC 9111 5.1 (Age).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from rdfcrawl.downloader.retry_policy import parse_http_date
from rdfcrawl.frontier.request_turns import steady_time
from rdfcrawl.uri import host_of
from rdfcrawl.uri.politeness import registered_domain

_OFF_SECS: Final = 3600.0  # smaller differences do not explain a refused certificate
_LEAST_HOSTS: Final = 3  # that must agree, unless Redis confirms them
_MOST_DATES: Final = 256
# lifetime of a date, so that wrong dates of hosts have a limited effect
_VALID_SECS: Final = 3600.0
_MAX_CHARS: Final = 64


class ClockCheck:
    """Dates of hosts and Redis, compared with the local clock.

    Args:
        redis_secs: returns the time of Redis; None if it does not respond.
    """

    def __init__(self, redis_secs: Callable[[], Awaitable[float | None]]) -> None:
        self._redis_secs = redis_secs
        self._dates: deque[tuple[str, str, str, float]] = deque(maxlen=_MOST_DATES)

    def note(self, url: str, headers: Mapping[str, str]) -> None:
        """Store the `Date` of a response, to be parsed on demand."""
        date = headers.get("Date")
        if date is not None:
            age = headers.get("Age", "")
            self._dates.append((url, date[:_MAX_CHARS], age, steady_time()))

    async def fault(self) -> str:
        """Describe the error of the clock; empty if none is known."""
        redis_secs = await self._redis_secs()
        now = time.time()
        of_redis = None if redis_secs is None else now - redis_secs
        return fault_of_clock(self._of_hosts(now), of_redis)

    def _of_hosts(self, now: float) -> list[float]:
        """Return how far the clock is ahead of each domain, by its latest date."""
        steady = steady_time()
        found = {}
        for url, date, age, at in self._dates:
            passed = steady - at
            if passed > _VALID_SECS:
                continue
            theirs = _secs_of(date, age)
            if theirs is not None:
                found[registered_domain(host_of(url))] = now - theirs - passed
        return list(found.values())


def fault_of_clock(of_hosts: Sequence[float], of_redis: float | None) -> str:
    """Describe the error of a clock; empty if none is known.

    Agreement with Redis proves nothing: it may be on the same machine.

    Args:
        of_hosts: seconds ahead of hosts of different domains.
        of_redis: seconds ahead of Redis; None if unknown.

    >>> fault_of_clock([7200.0, 7201.0, 7199.0, 0.5], None)
    'it is 2.0 hours ahead'
    >>> fault_of_clock([7200.0, 0.0], 0.0)
    ''
    """
    says_redis = of_redis is not None and abs(of_redis) > _OFF_SECS
    votes = list(of_hosts)
    if of_redis is not None and says_redis:
        votes.append(of_redis)
    off = sorted(secs for secs in votes if abs(secs) > _OFF_SECS)
    if not off:
        return ""
    middle = off[len(off) // 2]
    n_agreeing = sum(abs(secs - middle) <= _OFF_SECS for secs in off)
    if 2 * n_agreeing <= len(votes) or (n_agreeing < _LEAST_HOSTS and not says_redis):
        return ""
    where = "ahead" if middle > 0 else "behind"
    return f"it is {abs(middle) / 3600:.1f} hours {where}"


def _secs_of(date: str, age: str) -> float | None:
    """Return the time when a response was generated, before any caches."""
    moment = parse_http_date(date)
    if moment is None:
        return None
    age = age.strip()
    is_number = age.isascii() and age.isdigit() and len(age) < 10
    return moment.timestamp() + (int(age) if is_number else 0)
