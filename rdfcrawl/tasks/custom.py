"""One step of a harvester of the user's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class CustomTask:
    """One request of a source that a harvester of the user's reads."""

    TAG: ClassVar = "custom"

    harvester: str  # its name in the setting `HARVESTERS`
    # which step of the harvest, in words of its own: ASCII without control characters
    payload: str = ""
