"""Estimate when a crawl ends: a range, from its queue, its rate and its longest host.

The method. With `n` URIs left, `r` of them processed a second, and `n` falling by `d` a
second, which is less than `r` because links add new ones:

* the end comes no sooner than in `n / r`, as if no new URI was found, nor sooner than
  the longest host allows, which gets one request per delay;
* it comes in `n / d`, if new URIs are found at the present rate; never, if `n` does not
  fall.

Both are taken over the last minutes and over their halves: the quickest of the three
gives the lower bound, the slowest the upper one. The upper one is not strict: a link
may lead to a large site at any time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.counting import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfcrawl.monitor.page.samples import FigureSample

LEAST_SECS: Final = 20.0  # of samples, before an estimate
_MOST_SECS: Final = 10 * 365 * 86_400.0  # longer estimates are not shown


@dataclass(frozen=True, slots=True, kw_only=True)
class LongestHost:
    """The host that takes longest to finish its queue.

    Attributes:
        name: its politeness key.
        n_queued: URIs that wait.
        delay_secs: least time between two requests.
    """

    name: str
    n_queued: int
    delay_secs: float

    @property
    def secs(self) -> float:
        """Least time for all of its URIs."""
        return self.n_queued * self.delay_secs


@dataclass(frozen=True, slots=True, kw_only=True)
class EndEstimate:
    """When a crawl may end.

    Attributes:
        least_secs: the end comes no sooner; None if unknown.
        most_secs: the end comes about then at the latest, if the crawl continues at its
            present rate; None if unknown.
        why: origin of the range, or why there is none.
    """

    least_secs: float | None
    most_secs: float | None
    why: str


NOT_KNOWN: Final = EndEstimate(
    least_secs=None, most_secs=None, why="the frontier was not read yet"
)


def estimate_end(
    samples: Sequence[FigureSample], longest: LongestHost | None = None
) -> EndEstimate:
    """Estimate when a crawl ends, from the samples of its last minutes.

    Args:
        samples: the earliest first.
        longest: the longest host, if known.
    """
    if samples and not samples[-1].n_left:
        return EndEstimate(least_secs=0.0, most_secs=0.0, why="nothing is left")
    if not samples or _span(samples) < LEAST_SECS:
        why = "observation of the crawl has just begun"
        return _at_least(_host_secs(longest), why)
    parts = _parts(samples)
    n_left = samples[-1].n_left
    rate = max(_rate(part) for part in parts)
    if rate <= 0:
        why = "nothing was processed in the last minutes"
        return _at_least(_host_secs(longest), why)
    by_rate, by_host = n_left / rate, _host_secs(longest) or 0.0
    least = max(by_rate, by_host)
    fall = min(_fall(part) for part in parts)
    if fall > 0 and n_left / fall > _MOST_SECS:
        return _at_least(
            least, "at the present rate, it would take more than ten years"
        )
    if fall <= 0:
        found = max(0.0, rate - fall)
        why = (
            f"the queue does not get shorter: {rate:,.1f} URIs a second are processed,"
            f" and up to {found:,.1f} are found"
        )
        return _at_least(least, why)
    most = max(least, n_left / fall)
    return EndEstimate(least_secs=least, most_secs=most, why=_reason(longest, by_rate))


def _at_least(secs: float | None, why: str) -> EndEstimate:
    return EndEstimate(least_secs=secs, most_secs=None, why=why)


def _host_secs(longest: LongestHost | None) -> float | None:
    return longest.secs if longest and longest.secs > 0 else None


def _reason(longest: LongestHost | None, by_rate: float) -> str:
    if longest is not None and longest.secs > by_rate:
        return (
            f"{longest.name[:100]} has {counted(longest.n_queued, 'URI')} queued, with"
            f" one request in {longest.delay_secs:g} s"
        )
    return "the queue, and how fast it got shorter in the last minutes"


def _parts(samples: Sequence[FigureSample]) -> list[Sequence[FigureSample]]:
    """Return the samples, and their halves by time."""
    middle = (samples[0].at_secs + samples[-1].at_secs) / 2
    cut = sum(each.at_secs <= middle for each in samples)
    halves = [samples[:cut], samples[cut - 1 :]]
    return [samples, *(part for part in halves if len(part) > 1)]


def _span(samples: Sequence[FigureSample]) -> float:
    return samples[-1].at_secs - samples[0].at_secs


def _rate(samples: Sequence[FigureSample]) -> float:
    return (samples[-1].n_documents - samples[0].n_documents) / _span(samples)


def _fall(samples: Sequence[FigureSample]) -> float:
    return (samples[0].n_left - samples[-1].n_left) / _span(samples)
