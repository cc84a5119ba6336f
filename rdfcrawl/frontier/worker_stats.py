"""What each worker tells the others of its statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

FAULT = "fault/"
STATUS = "document/status/"
TOLD = (
    "document/seen",
    "document/stored",
    "document/quads",
    "document/changed",
    "document/same",
    *(f"{STATUS}{status}" for status in ("unchanged", "deleted")),
    "link/offered",
    "http/bytes",
)


def figures_of(stats: Mapping[str, object]) -> dict[str, float]:
    """Return of a worker's statistics what others are told."""
    return {
        name: value
        for name, value in stats.items()
        if isinstance(value, int | float) and (name in TOLD or name.startswith(FAULT))
    }
