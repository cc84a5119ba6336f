"""Format values as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from rdfcrawl.core.messages import counted

_NONE: Final = "-"


def number_text(value: float | None) -> str:
    """Return a number with commas; a dash if there is none.

    >>> number_text(12345), number_text(0.25), number_text(None)
    ('12,345', '0.25', '-')
    """
    if value is None:
        return _NONE
    return f"{value:,}" if value == int(value) else f"{value:,.2f}"


def rate_text(value: float | None) -> str:
    """Return a rate, with a fraction if small.

    >>> rate_text(1234.56), rate_text(2), rate_text(None)
    ('1,235', '2.0', '-')
    """
    if value is None:
        return _NONE
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def bytes_text(n_bytes: float | None) -> str:
    """Return a length in units of 1,000.

    >>> bytes_text(12), bytes_text(1_500), bytes_text(2_000_000)
    ('12 B', '1.5 kB', '2.0 MB')
    """
    if n_bytes is None:
        return _NONE
    if n_bytes < 1000:
        return f"{n_bytes:,.0f} B"
    for unit in ("kB", "MB", "GB"):
        n_bytes /= 1000
        if n_bytes < 1000:
            return f"{n_bytes:,.1f} {unit}"
    return f"{n_bytes / 1000:,.1f} TB"


def duration_text(secs: float | None) -> str:
    """Return a duration in one or two units.

    >>> duration_text(0.25), duration_text(75), duration_text(90_000)
    ('0.2 s', '1 min 15 s', '1 d 1 h')
    """
    if secs is None:
        return _NONE
    if secs < 60:
        return f"{secs:.1f} s" if secs < 10 else f"{secs:.0f} s"
    if secs < 3600:
        return f"{int(secs // 60)} min {int(secs % 60)} s"
    if secs < 86_400:
        return f"{int(secs // 3600)} h {int(secs % 3600 // 60)} min"
    return f"{int(secs // 86_400):,} d {int(secs % 86_400 // 3600)} h"


def time_text(ms: int) -> str:
    """Return a Unix time in UTC; a dash for 0."""
    if not ms:
        return _NONE
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def clock_text(ms: int) -> str:
    """Return the time of day of a Unix time, in UTC.

    >>> clock_text(1_000)
    '00:00:01'
    """
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%H:%M:%S")


# Characters that change the direction or position of the text around them, or are
# invisible (Unicode TR 36): they would hide the real text.
HIDDEN: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e"
    r"\u2060-\u206f\ufeff\ufff9-\ufffb]"
)


def visible(text: str) -> str:
    r"""Return a text with escapes for all characters that change its display.

    In Turtle and N-Quads they stand for the same characters.

    >>> visible("a\u202eb")
    'a\\u202Eb'
    """
    return HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04X}", text)


def shown_text(text: str, most: int = 300) -> str:
    """Return a text from the web for display: visible, and not too long.

    >>> shown_text("abcdef", 4)
    'abcd... (6 characters)'
    """
    if len(text) > most:
        return f"{visible(text[:most])}... ({counted(len(text), 'character')})"
    return visible(text)


def width_text(secs: float) -> str:
    """Return the interval of one point of a line.

    >>> width_text(10), width_text(120)
    ('10 s', '2 min')
    """
    return f"{secs:,.0f} s" if secs < 60 else f"{secs / 60:,.0f} min"


def summary_text(values: Sequence[float | None], kind: str) -> str:
    """Summarize a line in a sentence; unknown values are ignored.

    >>> summary_text([1, 5, 2], "number")
    'Last 2; between 1 and 5.'
    """
    known = [each for each in values if each is not None]
    if not known:
        return "No data yet."
    text = FILTERS[kind]
    return f"Last {text(known[-1])}; between {text(min(known))} and {text(max(known))}."


FILTERS: Final[dict[str, Callable[..., str]]] = {
    "number": number_text,
    "counted": counted,
    "rate": rate_text,
    "bytes": bytes_text,
    "duration": duration_text,
    "time": time_text,
    "clock": clock_text,
    "summary": summary_text,
    "width": width_text,
    "shown": shown_text,
    "visible": visible,
}
