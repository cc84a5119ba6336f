"""When to publish new statements to readers, and the options for it."""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

RENEW_SECS: Final = 30.0
"""Default time after which readers see new statements."""

_SHARE: Final = 4  # renewing takes at most a fifth of the time


class Renewals:
    """Clock for publishing: limits its share of the time, however long it takes.

    Args:
        renew_secs: least time between two renewals.
    """

    def __init__(self, renew_secs: float) -> None:
        self._renew_secs = renew_secs
        self._due = 0.0

    def begin(self) -> None:
        """Start the clock."""
        self._due = time.monotonic() + self._renew_secs

    @property
    def is_due(self) -> bool:
        """Whether it is time to renew."""
        return time.monotonic() >= self._due

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Measure one renewal, and delay the next by a multiple of its duration."""
        began = time.monotonic()
        try:
            yield
        finally:
            now = time.monotonic()
            self._due = now + max(self._renew_secs, _SHARE * (now - began))


def path_of(uri: str) -> Path:
    """Return the path of a URI, absolute.

    Raises:
        ConfigError: there is none.
    """
    scheme, _, rest = uri.partition(":")
    path = rest.removeprefix("//").rstrip("/")
    if not path:
        raise ConfigError(f"must be {scheme}:PATH")
    return Path(path).expanduser().absolute()


def checked_options(
    options: Mapping[str, object], choices: Mapping[str, Sequence[object]]
) -> dict[str, object]:
    """Return the options of a store that is renewed.

    Args:
        options: as given.
        choices: values of each option other than `renew_secs`.

    Raises:
        ConfigError: an option or a value is unknown.
    """
    for name, value in options.items():
        if name == "renew_secs":
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or not 0 <= float(str(value)) <= _MAX_SECS:
                raise ConfigError(f"renew_secs={value!r}: must be 0 to {_MAX_SECS}")
        elif name not in choices:
            known = ", ".join(sorted([*choices, "renew_secs"]))
            raise ConfigError(f"has no option {name!r}, only {known}")
        elif value not in choices[name]:
            shown = ", ".join(map(str, choices[name]))
            raise ConfigError(f"{name}={value!r}: must be one of {shown}")
    return dict(options)


_MAX_SECS: Final = 86_400
