"""How long something is away in crawls that bear it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.settings_page import declared

PATIENT: dict[str, Any] = {
    "HOST_PATIENCE_SECS": 60,
    "HOST_LAST_WAIT_SECS": 60,
    "RETRY_TIMES": 2,
}
QUAD = b"<> <urn:x:p> <urn:x:o> ."
PAGES = [f"/{n}" for n in range(60)]


@dataclass(frozen=True)
class Away:
    """How long something is away, and the settings of the crawl that survives it."""

    secs: float
    settings: dict[str, Any]


# Sixty times the first wait, like five minutes for the usual one; and a minute with the
# default settings.
_AWAY = [
    pytest.param(Away(3.0, PATIENT), id="short"),
    pytest.param(
        Away(
            60.0,
            {
                "HOST_BACKOFF_SECS": declared()["HOST_BACKOFF_SECS"].default,
                "HOST_PATIENCE_SECS": declared()["HOST_PATIENCE_SECS"].default,
                "HOST_LAST_WAIT_SECS": declared()["HOST_LAST_WAIT_SECS"].default,
            },
        ),
        id="minute",
        marks=pytest.mark.soak,
    ),
]


@pytest.fixture(params=_AWAY)
def away(request: pytest.FixtureRequest) -> Away:
    """Return a short time, or a minute in long runs."""
    found: Away = request.param
    return found
