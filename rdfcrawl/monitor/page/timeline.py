"""Requests to one host compared with its delay, as a picture and as text."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from rdfcrawl.core.messages import counted
from rdfcrawl.monitor.page.texts import duration_text

MAX_DRAWN: Final = 60
"""Limit of requests in a picture."""
_WIDTH: Final = 960.0
_BASE: Final = 150.0  # position of the axis of gaps
_HEIGHT: Final = 110.0  # of the highest gap above it


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineMark:
    """One request in the picture.

    Attributes:
        x: start.
        width: duration.
        gap_y: time since the start of the previous one; None for the first.
        is_early: the gap is shorter than the present delay.
        is_bad: it had a fault.
        title: all that as text.
    """

    x: float
    width: float
    gap_y: float | None
    is_early: bool
    is_bad: bool
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTimeline:
    """The picture, with its text alternative.

    Attributes:
        marks: oldest first.
        delay_y: position of the line of the delay; None if there is none.
        delay_ms: the present delay.
        first_ms: start of the first request, Unix time.
        last_ms: end of the last one.
        highest_ms: gap at the upper end.
        text: text alternative.
    """

    marks: tuple[TimelineMark, ...]
    delay_y: float | None
    delay_ms: int | None
    first_ms: int
    last_ms: int
    highest_ms: int
    text: str


def draw_timeline(
    requests: Sequence[tuple[int, int, bool]], delay_ms: int | None
) -> HostTimeline | None:
    """Return the picture of some requests; None if there are none.

    Args:
        requests: start (Unix time), duration (both in ms), and whether it had a fault;
            in any order.
        delay_ms: present delay of the host; None if it is not known.
    """
    chosen = sorted(requests)[-MAX_DRAWN:]
    if not chosen:
        return None
    first = chosen[0][0]
    last = max(begin + took for begin, took, _ in chosen)
    starts = [begin for begin, _, _ in chosen]
    gaps = [b - a for a, b in itertools.pairwise(starts)]
    # Gaps of hours would flatten all others: they are drawn at the upper end.
    typical = sorted(gaps)[len(gaps) // 4] if gaps else 0
    highest = max(1, min(max(gaps, default=1), round(4 * max(typical, delay_ms or 0))))
    highest = max(highest, round(1.25 * (delay_ms or 0)))
    scale = _WIDTH / max(1, last - first)
    marks = tuple(
        TimelineMark(
            x=round((begin - first) * scale, 1),
            width=round(max(1.5, took * scale), 1),
            gap_y=None if gap is None else _gap_y(gap, highest),
            is_early=gap is not None and gap < (delay_ms or 0),
            is_bad=is_bad,
            title=_title(begin - first, took, gap, is_bad=is_bad),
        )
        for (begin, took, is_bad), gap in zip(chosen, [None, *gaps], strict=True)
    )
    return HostTimeline(
        marks=marks,
        delay_y=_gap_y(delay_ms, highest) if delay_ms else None,
        delay_ms=delay_ms,
        first_ms=first,
        last_ms=last,
        highest_ms=highest,
        text=_text(chosen, gaps, delay_ms),
    )


def _gap_y(gap_ms: float, highest_ms: int) -> float:
    return round(_BASE - _HEIGHT * min(1.0, gap_ms / highest_ms), 1)


def _title(after_ms: int, took_ms: int, gap_ms: int | None, *, is_bad: bool) -> str:
    gap = "" if gap_ms is None else f", {_secs(gap_ms)} after the previous one"
    fault = ", with a fault" if is_bad else ""
    return f"at {_secs(after_ms)}: took {_secs(took_ms)}{gap}{fault}"


def _text(
    chosen: Sequence[tuple[int, int, bool]], gaps: Sequence[int], delay_ms: int | None
) -> str:
    n_bad = sum(is_bad for _, _, is_bad in chosen)
    took = [took for _, took, _ in chosen]
    latest, times = counted(len(chosen), "request"), f"{_secs(median(took))} each"
    at_most = f"{_secs(max(took))} at most; {n_bad:,} had a fault."
    parts = [f"The latest {latest} took {times} (median), and {at_most}"]
    if gaps:
        parts.append(
            f"From one start to the next: at least {_secs(min(gaps))},"
            f" median {_secs(median(gaps))}."
        )
    if gaps and delay_ms:
        n_early = sum(gap < delay_ms for gap in gaps)
        parts.append(
            f"The present delay is {_secs(delay_ms)}; shorter, under an earlier delay:"
            f" {n_early:,} of {counted(len(gaps), 'gap')}."
            if n_early
            else f"The present delay is {_secs(delay_ms)}, and no gap was shorter."
        )
    return " ".join(parts)


def _secs(ms: float) -> str:
    return f"{ms:,.0f} ms" if ms < 1000 else duration_text(ms / 1000)
