"""Whether a source has really lost what it gives no more."""

from __future__ import annotations

from typing import Final

_MAX_LOSS: Final = 0.5  # share of the last good number
_SMALL: Final = 20  # of fewer items, any part may be lost
_SAME: Final = 0.1  # by which two numbers may differ


def is_plausible(n_now: int, n_before: int, n_doubted: int | None = None) -> bool:
    """Return whether a source may have shrunk to a number of items.

    A store that is being loaded gives nothing, or a part, without an error. Its last
    good copy stays until a later run finds about the same number again.

    Args:
        n_now: items of this run.
        n_before: items of the last run that was believed.
        n_doubted: items of the previous run, if that was not believed.

    >>> is_plausible(0, 400), is_plausible(390, 400), is_plausible(0, 400, 0)
    (False, True, True)
    """
    if n_now >= n_before * (1 - _MAX_LOSS):
        return True
    if n_now and n_before <= _SMALL:
        return True
    return n_doubted is not None and abs(n_now - n_doubted) <= _SAME * n_doubted
