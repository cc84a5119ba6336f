"""The entry that all readers of archives yield."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rdfcrawl.unpack.meter import PackingLayer


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveEntry:
    """A file in an archive, while it passes by.

    Attributes:
        name: as the archive has it; data, never a path.
        layer: counts what it is decoded from and to.
        pieces: starts to read it, counted by a layer; may be called again, with
            another one, if `is_reopenable`.
    """

    name: str
    layer: PackingLayer
    pieces: Callable[[PackingLayer], Iterator[bytes]]
    is_reopenable: bool = False
