"""The formats of exports, by file name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.rdf.serializing import SERIALIZATIONS

if TYPE_CHECKING:
    from pathlib import Path

HDT: Final = "hdt"
PARQUET: Final = "parquet"
PACKINGS: Final = ("gz", "zst")
JSONL: Final = "jsonl"  # items, see `rdf.framing`
FORMATS: Final = ("nq", "nt", "trig", "ttl", "jsonld", JSONL, HDT, PARQUET)
_TEXTS: Final = SERIALIZATIONS | {JSONL}
_ALL: Final = f"{', '.join(FORMATS)}; all but the last two also with .gz or .zst"


class FileFormat(NamedTuple):
    """Format of a file.

    Attributes:
        name: one of `FORMATS`.
        packing: one of `PACKINGS`, or empty.
    """

    name: str
    packing: str = ""

    @classmethod
    def parse(cls, text: str, where: str) -> FileFormat:
        """Return the format that an operator names, e.g. `nq.gz`.

        Raises:
            ConfigError: the name is unknown.
        """
        name, _, packing = text.lower().removeprefix(".").partition(".")
        if name not in FORMATS or packing not in ("", *PACKINGS):
            raise ConfigError(f"{where}: must be {_ALL}")
        if packing and name not in _TEXTS:
            raise ConfigError(f"{where}: .{name} is already compressed")
        return cls(name, packing)

    @classmethod
    def of_file(cls, path: Path, where: str) -> FileFormat:
        """Return the format of a file by its name.

        Raises:
            ConfigError: the name has no known ending.
        """
        suffixes = path.suffixes[-2:]
        if suffixes and suffixes[-1].lower()[1:] not in PACKINGS:
            suffixes = suffixes[-1:]
        if not suffixes:
            raise ConfigError(
                f"{where}: gives no format: end it in .nq.gz or the like, in / for a"
                " folder, or add --format"
            )
        return cls.parse("".join(suffixes), where)

    @property
    def is_text(self) -> bool:
        """Whether documents can be appended."""
        return self.name in _TEXTS

    @property
    def suffix(self) -> str:
        """End of the names of files, with its dot."""
        return f".{self.name}.{self.packing}".removesuffix(".")
