"""One step of reading a WARC file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class WarcTask:
    """A part of a WARC file.

    Attributes:
        offset: of its first byte in the file.
        doublings: number of times its length is doubled, since a shorter part did not
            contain a complete record.
        seeks: its first byte may be within a record.
    """

    TAG: ClassVar = "warc"

    offset: int = 0
    doublings: int = 0
    seeks: bool = False
