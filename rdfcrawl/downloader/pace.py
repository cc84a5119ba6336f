"""Adapt the delay of a host: longer after slow or failed responses.

It never falls below the delay of the settings and robots.txt. A host without a delay,
such as one of the operator's, keeps none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rdfcrawl.core.options.table import OptionsTable, number

_CLOSE: Final = 1.05  # relative difference that is ignored


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceOptions(OptionsTable):
    """How the delay of a host follows its responses."""

    factor: float = number("DELAY_FACTOR", 0.0, 0, 100)
    """multiple of the last response time for which a host rests at least;
    see [pace](../explanation/politeness.md#rules-for-all-requests). 0:
    disabled"""
    max_secs: float = number("DELAY_MAX_SECS", 30.0, 0, 3600)
    """longest delay of that kind, and of hosts that fail, whose delay doubles with each
    failure"""


def next_delay(
    delay_secs: float,
    *,
    least_secs: float,
    response_secs: float,
    has_failed: bool,
    options: PaceOptions,
) -> float:
    """Return the delay after a response; 0 stays 0.

    A failure doubles the delay; each later response halves the difference.

    Args:
        delay_secs: present delay.
        least_secs: delay of settings and robots.txt.
        response_secs: from the request to the end of the response.
        has_failed: the server failed, or did not respond in time.
        options: of the crawl.

    >>> options, delay, delays = PaceOptions(max_secs=3), 1.0, []
    >>> for has_failed in (True, True, False, False, False):
    ...     delay = next_delay(delay, least_secs=1, response_secs=0,
    ...         has_failed=has_failed, options=options)
    ...     delays.append(delay)
    >>> delays
    [2.0, 3, 2.0, 1.5, 1.25]
    """
    wanted = max(least_secs, min(options.max_secs, options.factor * response_secs))
    if delay_secs <= 0:
        return 0.0
    if has_failed:
        return max(wanted, delay_secs, min(options.max_secs, 2 * delay_secs))
    if delay_secs <= wanted * _CLOSE:
        return wanted
    return (delay_secs + wanted) / 2
