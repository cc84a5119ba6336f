"""Check the options of an export, and the formats of its files."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.rdf.serializing import SERIALIZATIONS

if TYPE_CHECKING:
    from rdfcrawl.rdf.items.building import ItemRule
    from rdfcrawl.stores.export.selection import DocumentSelection

HDT: Final = "hdt"
PARQUET: Final = "parquet"
PACKINGS: Final = ("gz", "zst")
CSV: Final = "csv"
LINES: Final = frozenset({"jl", "jsonl"})  # the same
ITEMS: Final = LINES | {CSV, "json"}  # formats of items, see `rdf.items`
FORMATS: Final = (
    *("nq", "nt", "trig", "ttl", "rdf", "jsonld", "jl", "jsonl", "json", CSV),
    *(HDT, PARQUET),
)
_TEXTS: Final = SERIALIZATIONS | LINES
TRIPLE_TERMS: Final = ("reify", "omit")
_ALL: Final = f"{', '.join(FORMATS)}; all but the last two also with .gz or .zst"
_MOST_SHARDS: Final = 10_000


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
        if packing and name in (HDT, PARQUET):
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
    def is_of_items(self) -> bool:
        """Whether the content is items, not statements."""
        return self.name in ITEMS

    @property
    def suffix(self) -> str:
        """End of the names of files, with its dot."""
        return f".{self.name}.{self.packing}".removesuffix(".")


MIB: Final = 2**20
SHARD_BYTES: Final = 256 * MIB
MEMORY_BYTES: Final = 256 * MIB
_LEAST_MEMORY: Final = 16 * MIB
_UNITS: Final = {"": 1, "K": 2**10, "M": MIB, "G": 2**30, "T": 2**40}
_size = re.compile(r"([0-9]{1,15})([KMGT]?)(?:i?B)?", re.IGNORECASE).fullmatch


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardRule:
    """How documents are distributed over the files of a folder.

    Attributes:
        n_bytes: a new file begins when the last one has this size.
        n_files: number of files, of about the same size; 0: unlimited.
        is_by_host: one file for each host.
    """

    n_bytes: int = SHARD_BYTES
    n_files: int = 0
    is_by_host: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportPlan:
    """Checked options of an export.

    Attributes:
        target: file or folder; None is standard output.
        shards: of a folder; None if the target is a file.
        format: of all files.
        selection: of documents.
        items: the wanted items, for a format of items; None otherwise.
        memory_bytes: for sorting HDT.
        scratch: folder of temporary files; None for that of the system.
        rdf: how statements become RDF 1.1, a value of `TRIPLE_TERMS`; None: as stored.
    """

    target: Path | None
    shards: ShardRule | None
    format: FileFormat
    selection: DocumentSelection
    items: ItemRule | None = None
    memory_bytes: int = MEMORY_BYTES
    scratch: Path | None = None
    rdf: str | None = None

    @classmethod
    def of(
        cls,
        target: str,
        *,
        format_name: str | None = None,
        shard_rule: ShardRule | None = None,
        selection: DocumentSelection,
        items: ItemRule | None = None,
        memory_bytes: int = MEMORY_BYTES,
        scratch: str | None = None,
        rdf: str | None = None,
    ) -> ExportPlan:
        """Return the plan for a target, whose name may give the format.

        Raises:
            ConfigError: options contradict each other, or a folder is missing.
        """
        where = f"--to {target}"
        path = None if target == "-" else Path(target).expanduser().absolute()
        is_folder = path is not None and (target.endswith(os.sep) or path.is_dir())
        if is_folder:
            shard_rule = shard_rule or ShardRule()
        elif shard_rule is not None:
            raise ConfigError(
                f"{where}: several files need a folder: end its name with {os.sep}"
            )
        given = _format_of(path, where, format_name, is_folder=is_folder)
        if memory_bytes < _LEAST_MEMORY:
            raise ConfigError(f"--memory: must be at least {_LEAST_MEMORY // MIB}M")
        if items is not None and not given.is_of_items:
            raise ConfigError(
                "--class, --nested, --lists, --full and --across are about items: name"
                " a file in .jl, .json or .csv, or give --format jl"
            )
        folder = _checked_folder(path, where)
        return cls(
            target=path,
            shards=shard_rule,
            format=given,
            selection=selection,
            items=items,
            memory_bytes=memory_bytes,
            scratch=_checked_scratch(scratch) if scratch else folder,
            rdf=rdf,
        )


def _format_of(
    path: Path | None, where: str, name: str | None, *, is_folder: bool
) -> FileFormat:
    """Return the format of a name, else of a file, else N-Quads for a folder."""
    if name is not None:
        return FileFormat.parse(name, f"--format {name}")
    if path is None:
        raise ConfigError(f"{where}: needs --format")
    return FileFormat("nq", "gz") if is_folder else FileFormat.of_file(path, where)


def _checked_folder(path: Path | None, where: str) -> Path | None:
    """Return the folder that the target is in; None for standard output."""
    if path is None:
        return None
    if path.exists() and not (path.is_dir() or path.is_file()):
        raise ConfigError(f"{where}: is neither a file nor a folder")
    if not path.parent.is_dir():
        raise ConfigError(f"{where}: the folder {path.parent} does not exist")
    if path.is_dir() and any(path.iterdir()):
        raise ConfigError(f"{where}: the folder is not empty")
    if not os.access(path.parent, os.W_OK):
        raise ConfigError(f"{where}: the folder {path.parent} is not writable")
    return path.parent


def _checked_scratch(given: str) -> Path:
    path = Path(given).expanduser().absolute()
    if not path.is_dir() or not os.access(path, os.W_OK):
        raise ConfigError(f"--scratch {given}: must be a writable folder")
    return path


def parse_bytes(text: str, where: str) -> int:
    """Return a size in bytes; the text may have a unit, such as 256M.

    Raises:
        ConfigError: the text is not a size.

    >>> parse_bytes("1.5G", "--memory")
    Traceback (most recent call last):
    rdfcrawl.core.errors.ConfigError: --memory 1.5G: must be a size such as 64M or 2G
    >>> parse_bytes("2k", "--memory")
    2048
    """
    found = _size(text.strip())
    if found is None or not int(found[1]):
        raise ConfigError(f"{where} {text}: must be a size such as 64M or 2G")
    return int(found[1]) * _UNITS[found[2].upper()]


def parse_rdf(version: str | None, triple_terms: str | None) -> str | None:
    """Return the rule of `--rdf` and `--triple-terms` for `ExportPlan`.

    Raises:
        ConfigError: a value is unknown, or the second option stands alone.
    """
    if version not in (None, "1.1", "1.2"):
        raise ConfigError(f"--rdf {version}: must be 1.1 or 1.2")
    if triple_terms is not None and version != "1.1":
        raise ConfigError(f"--triple-terms {triple_terms}: needs --rdf 1.1")
    if triple_terms not in (None, *TRIPLE_TERMS):
        raise ConfigError(f"--triple-terms {triple_terms}: must be reify or omit")
    return (triple_terms or TRIPLE_TERMS[0]) if version == "1.1" else None


def parse_shards(
    size: str | None, number: int | None, *, by_host: bool
) -> ShardRule | None:
    """Return the rule of `--shard-size`, `--shards` or `--by-host`.

    Raises:
        ConfigError: there are several of them, or one is out of range.
    """
    if (size is not None) + (number is not None) + by_host > 1:
        raise ConfigError("give only one of --shard-size, --shards and --by-host")
    if size is not None:
        return ShardRule(n_bytes=parse_bytes(size, "--shard-size"))
    if number is not None:
        if not 1 <= number <= _MOST_SHARDS:
            raise ConfigError(f"--shards {number}: must be 1 to {_MOST_SHARDS}")
        return ShardRule(n_files=number)
    return ShardRule(is_by_host=True) if by_host else None
