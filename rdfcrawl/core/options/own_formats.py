"""The settings for users' classes that read documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rdfcrawl.core.options.table import OptionsTable, mapping


@dataclass(frozen=True, slots=True)
class OwnFormats(OptionsTable):
    """Users' classes that read documents."""

    extractors: Mapping[str, object] = mapping("EXTRACTORS", {})
    """[extractors of your own](../how-to/own-extractors.md): dotted paths of classes by
    media types or file extensions, or by names of your own for those that read pages"""
    harvesters: Mapping[str, object] = mapping("HARVESTERS", {})
    """[harvesters of your own](../how-to/own-harvesters.md): dotted paths of classes by
    media types, by kinds of sources that they replace, or by names of your own"""

    @property
    def media_types(self) -> tuple[str, ...]:
        """The media types that they read."""
        return tuple(name for name in self._names() if "/" in name)

    @property
    def extensions(self) -> tuple[str, ...]:
        """The extensions of file names that they read, each with its dot."""
        return tuple(name for name in self._names() if name.startswith("."))

    def _names(self) -> list[str]:
        theirs = {**self.extractors, **self.harvesters}
        return [name for name, path in theirs.items() if path is not None]
